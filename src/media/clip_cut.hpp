// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "files/output_file.hpp"
#include "media/av_input.hpp"

namespace vcap {

/// Cuts parts out of a stored video without decoding: packets are copied, from a keyframe on. Only
/// the pictures are copied, no sound. Thread safety: thread-safe.
class ClipCutter {
 public:
  /// Null if the file cannot be opened as a video, tells no times, cannot be read at any position,
  /// or has a format that neither MP4 nor Matroska holds. Looks at its first packets.
  static std::unique_ptr<const ClipCutter> of(const std::filesystem::path& file);

  /// Of the clips: ".mp4" or ".mkv".
  std::string extension() const;

  /// Writes the pictures from the last keyframe at or before `from` to `to`; times are as those of
  /// frames of the source. If a picture depends on a later one, that one is in the clip, too.
  /// Returns the time of the first picture. Does not commit the file. Throws SourceError if the
  /// video cannot be read any more, OutputError (output_write) also if it has no picture there.
  std::chrono::nanoseconds cut(std::chrono::nanoseconds from, std::chrono::nanoseconds to,
                               OutputFile& file) const;

 private:
  ClipCutter(AvAddress address, const char* container);

  const AvAddress address_;
  const char* const container_;  ///< libavformat's name of the muxer
};

/// Whether the file is a video that has a packet of pictures, also if its writer was killed.
/// Thread-safe.
bool has_pictures(const std::filesystem::path& file);

}  // namespace vcap
