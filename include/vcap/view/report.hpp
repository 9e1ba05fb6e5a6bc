// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/records/event_record.hpp"
#include "vcap/records/frame_record.hpp"
#include "vcap/view/run_description.hpp"

namespace vcap {

/// What a report shows besides the records. Thread safety: value.
struct ReportOptions {
  std::string title = "vcap report";
  std::size_t most_streams = 50;  ///< that are shown in full; the table has all of them
  std::size_t most_tracks = 100;  ///< of a stream that are shown, the longest
  /// The folders of the events' snapshots and clips, as seen from the report, to link to. Empty:
  /// no links.
  std::string event_snapshots{};
  std::string event_clips{};
};

/// Collects what the records and events of any number of streams say, and writes it as one HTML
/// file.
///
/// The file needs no network and no other file, has no scripts, and prints. It has for each stream:
/// frames, drops with their reasons, errors with the first frames of each, objects over time, a
/// heat map, events with their counts and dwell times, tracks as a timeline, dwell times by name,
/// attributes, changed options, replaced capsules; and what ran, if set_run() says so. Names and
/// messages show as text, whatever markup they contain.
///
/// Memory is bounded for each stream, whatever the number of records: time is divided into at most
/// 512 parts, and of names, attributes, messages, events and tracks only so many are kept apart. If
/// there are more, the report says so. Thread safety: thread-compatible.
class VCAP_EXPORT Report {
 public:
  explicit Report(ReportOptions options = {});
  ~Report();
  Report(Report&&) noexcept;
  Report& operator=(Report&&) noexcept;

  /// Records of a stream in their order; streams may alternate. If a frame has pixels, its tracks
  /// get their thumbnails from it, at most two a frame.
  void add(const FrameRecord& record);
  /// Begins and ends of events in the order of their journal, before or after the records.
  void add(const EventRecord& record);
  /// Says what ran; replaces what was said before.
  void set_run(RunDescription run);

  /// The number of records so far.
  std::size_t records() const noexcept;
  /// The streams so far, in alphabetical order.
  std::vector<std::string> streams() const;

  /// Sets the video that the stream's records were made from, or the annotated clip of that run.
  /// Times link into it, and tracks get thumbnails from it; both find a frame by its pts. `link`:
  /// the clip as seen from the report, a URL of http(s) or a path; empty: `clip`. An empty `clip`
  /// with a link: times link into it, and the clip is not read. Throws InvalidArgument if there is
  /// no such stream.
  void set_clip(const std::string& stream, const std::string& clip, const std::string& link = {});

  /// The file's text. Reads the clips, and throws SourceError if one cannot be read.
  std::string html() const;
  /// Writes html(). The file appears when it is complete. Throws OutputError.
  void write(const std::string& path) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
