// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/av_decoder.hpp"
#include "runtime/stored_frames.hpp"

namespace vcap {

/// A stored video's pictures and their times. Thread safety: thread-compatible.
class VideoFrames final : public StoredFrames {
 public:
  /// Throws SourceError.
  VideoFrames(std::unique_ptr<AvInput> input, HardwareDecoding hardware);

  SourceInfo info() const override { return decoder_->info(); }
  bool seek(std::chrono::nanoseconds time) override;
  bool next() override;
  std::chrono::nanoseconds time() const override { return *time_; }
  bool follows_damage() const override { return decoder_->follows_damage(); }
  cv::Mat picture() override { return decoder_->picture(); }

 private:
  void reopen();
  bool go_to(std::chrono::nanoseconds time);
  std::chrono::nanoseconds time_of_picture() const;
  void at_end();

  DecoderThreads threads_;
  std::unique_ptr<AvDecoder> decoder_;
  std::chrono::nanoseconds frame_duration_;
  std::optional<std::chrono::nanoseconds> time_;  ///< of the present picture; nothing before one
  bool is_fresh_ = true;                          ///< nothing has been read since the opening
  std::optional<std::int64_t> count_ = 0;         ///< of pictures from the beginning
  bool warned_ = false;
};

}  // namespace vcap
