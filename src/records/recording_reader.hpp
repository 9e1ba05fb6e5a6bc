// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "media/lossless_pictures.hpp"
#include "records/recording_line.hpp"
#include "vcap/base/export.hpp"
#include "vcap/records/recording.hpp"

namespace vcap {

/// Reads the frames of a stream of a recording, in their order. Thread safety: thread-compatible.
class VCAP_EXPORT RecordingReader {
 public:
  /// `folder`: of the recording. `stand_ins`: as parse_recording_line(). Throws SourceError
  /// (source_open).
  RecordingReader(const std::string& folder, const RecordedStream& stream,
                  std::set<std::string> stand_ins);

  /// The next frame; `nullopt` at the end. If the run was killed, the last whole line is the last
  /// one. Throws SourceError (source_read) for a damaged line, which it names.
  std::optional<RecordingLine> read();
  /// The picture of a frame. Throws SourceError (source_read).
  cv::Mat picture(const RecordingLine& line);

 private:
  [[noreturn]] void fail(const std::string& why) const;

  const std::string frames_path_;
  const std::set<std::string> stand_ins_;
  std::ifstream frames_;
  std::ifstream pictures_;
  std::optional<LosslessDecoder> decoder_;
  std::string line_;
  std::size_t number_ = 0;
  std::vector<char> bytes_;
};

}  // namespace vcap
