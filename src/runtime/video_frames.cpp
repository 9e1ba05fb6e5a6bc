// SPDX-License-Identifier: Apache-2.0
#include "runtime/video_frames.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

using std::chrono::nanoseconds;

/// Where a container tells no rate, for times that it does not tell either.
constexpr double kFallbackRate = 25;
/// A rate below that is damage.
constexpr nanoseconds kLongestFrame = std::chrono::minutes(10);

}  // namespace

VideoFrames::VideoFrames(std::unique_ptr<AvInput> input, HardwareDecoding hardware)
    : decoder_(std::make_unique<AvDecoder>(std::move(input), AvDecoder::Pace::stored, hardware,
                                           threads_)) {
  const double rate = decoder_->input().frames_per_second();
  frame_duration_ = std::min<nanoseconds>(
      nanoseconds(std::llround(1e9 / (rate > 0 ? rate : kFallbackRate))), kLongestFrame);
}

bool VideoFrames::seek(nanoseconds time) {
  if (time.count() > 0) {
    is_fresh_ = false;
    if (decoder_->seek(time)) {
      count_.reset();
      time_.reset();
      // Later than it, the keyframe did not do: a decoder may withhold what it cannot make whole.
      // And where times go back midway, that one's place may be found from the beginning only.
      if (next() && decoder_->time() && *time_ <= time && go_to(time)) return true;
    }
  }
  // From the beginning it is slow, and right whatever the container.
  if (!is_fresh_) reopen();
  return next() && go_to(time);
}

bool VideoFrames::go_to(nanoseconds time) {
  while (*time_ < time)
    if (!next()) return false;
  return true;
}

/// Not all containers can go back, and only as new do all give the same once more.
void VideoFrames::reopen() {
  decoder_ = std::make_unique<AvDecoder>(std::make_unique<AvInput>(decoder_->input().address()),
                                         AvDecoder::Pace::stored, decoder_->hardware(), threads_);
  time_.reset();
  count_ = 0;
}

bool VideoFrames::next() {
  is_fresh_ = false;
  if (!decoder_->next()) {
    at_end();
    return false;
  }
  time_ = time_of_picture();
  if (count_) ++*count_;
  return true;
}

nanoseconds VideoFrames::time_of_picture() const {
  const std::optional<nanoseconds> told = decoder_->time();
  if (!time_) return std::max(told.value_or(nanoseconds{0}), nanoseconds{0});
  return told && *told > *time_ ? *told : *time_ + frame_duration_;
}

void VideoFrames::at_end() {
  const AvInput& input = decoder_->input();
  if (input.address().stop.stop_requested()) return;
  if (!input.failure().empty())
    throw SourceError(ErrorCode::source_read,
                      input.address().name + " cannot be read further: " + input.failure());
  // The count is an estimate for some containers, so this is no error; but a clip that breaks off
  // must not look like a whole one.
  const std::int64_t all = input.stream().nb_frames;
  if (count_ && *count_ > 0 && *count_ < all && !std::exchange(warned_, true))
    log(LogLevel::warning, input.address().name + " ended after " + std::to_string(*count_) +
                               " of " + std::to_string(all) +
                               " frames; it may be cut off or damaged");
}

}  // namespace vcap
