// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "vcap/base/export.hpp"
#include "vcap/records/event_record.hpp"
#include "vcap/records/sink.hpp"
#include "vcap/view/report.hpp"

namespace vcap {

/// Makes a report of the streams that write to it, while they run.
///
/// The file is called PATH.part and is empty until close(), which writes the report of all records
/// so far. Without close(), no file is left; a killed process may leave the empty one. Memory is
/// bounded as that of Report, whatever a run's length. Thumbnails of tracks come from the frames.
/// Thread safety: thread-safe.
class VCAP_EXPORT ReportSink final : public Sink {
 public:
  /// Throws OutputError if the file cannot be made, or another sink or process writes to it.
  explicit ReportSink(const std::string& path, ReportOptions options = {});
  ~ReportSink() override;

  void write(const FrameRecord& record) override;
  /// True: for thumbnails.
  bool needs_pixels() const override;
  /// Writes the report. Later records are ignored. Throws OutputError.
  void close() override;

  /// As the functions of Report. After close(), they do nothing.
  void add(const EventRecord& record);
  void set_run(RunDescription run);
  /// Times of the stream link into this clip, a URL of http(s) or a path as seen from the report.
  /// Does nothing if the stream has no records.
  void set_link(const std::string& stream, const std::string& link);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
