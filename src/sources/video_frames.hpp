// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "media/av_decoder.hpp"
#include "media/video_index.hpp"
#include "sources/broken_log.hpp"
#include "sources/stored_frames.hpp"

namespace vcap {

/// A stored video's pictures and their times. Thread safety: thread-compatible.
class VideoFrames final : public StoredFrames {
 public:
  /// Throws SourceError.
  VideoFrames(std::unique_ptr<AvInput> input, HardwareDecoding hardware, int decoder_threads,
              std::shared_ptr<const VideoIndex> index = nullptr);

  SourceInfo info() const override { return decoder_->info(); }
  bool seek(std::chrono::nanoseconds time) override;
  bool next() override;
  std::chrono::nanoseconds time() const override { return *time_; }
  bool follows_damage() const override { return decoder_->follows_damage(); }
  BrokenPictures take_broken() override { return broken_.take(); }
  cv::Mat picture() override { return decoder_->picture(); }
  std::shared_ptr<const StoredIndex> index() override;
  bool restore_index(std::string_view saved) override;
  bool go_to(std::int64_t number, std::optional<std::int64_t> following) override;

 private:
  bool seek_pays(std::int64_t count, std::int64_t number) const;
  bool decode(std::int64_t number, std::optional<std::int64_t> following);
  bool is_stopped() const;
  void throw_failure() const;
  [[noreturn]] void fail_at(std::int64_t number) const;
  void reopen();
  bool go_to(std::chrono::nanoseconds time);
  std::chrono::nanoseconds time_of_picture() const;
  void note_broken();
  void at_end();
  void warn_if_cut_off(const AvInput& input, std::int64_t frames);

  const int most_threads_;  ///< SourceOptions::decoder_threads
  DecoderThreads threads_;
  std::unique_ptr<AvDecoder> decoder_;
  std::chrono::nanoseconds frame_duration_;
  std::optional<std::chrono::nanoseconds> time_;  ///< of the current picture; before it: `nullopt`
  bool is_fresh_ = true;                          ///< nothing was read since the opening
  /// Number of pictures from the beginning up to the current one; `nullopt` if unknown.
  std::optional<std::int64_t> count_ = 0;
  bool is_spent_ = false;  ///< the decoder gives no picture after the current one
  BrokenLog broken_;
  std::chrono::nanoseconds broken_from_{0};  ///< earlier broken pictures do not count
  std::shared_ptr<const VideoIndex> index_;
  bool has_looked_through_ = false;  ///< the file was scanned for an index
  bool keys_hold_ = true;            ///< decoding may start at the index's keyframes
  bool warned_ = false;
};

}  // namespace vcap
