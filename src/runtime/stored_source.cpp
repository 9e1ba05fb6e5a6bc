// SPDX-License-Identifier: Apache-2.0
#include "runtime/stored_source.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using std::chrono::nanoseconds;

/// No clip is longer; sums of times stay within their type.
constexpr nanoseconds kLongestClip = std::chrono::years(10);
/// For the time between two loops, where nothing tells a rate.
constexpr double kRateOfLoops = 25;

std::string seconds_text(nanoseconds time) {
  return number_text(std::chrono::duration<double>(time).count()) + " s";
}

[[noreturn]] void refuse(const std::string& what) {
  throw InvalidArgument(ErrorCode::invalid_argument, "source options: " + what);
}

/// How many of a whole source's frames the options leave; by its rate, and so an estimate where
/// that is not even.
std::optional<std::int64_t> frames_given(const SourceInfo& whole, const SourceOptions& options) {
  if (!whole.frames || options.loop == 0) return std::nullopt;
  std::int64_t first = 0;
  std::int64_t last = *whole.frames;
  if (options.start.count() > 0 || options.end) {
    if (whole.frames_per_second <= 0) return std::nullopt;
    const auto frame_at = [&](nanoseconds time) {
      const double frame = std::chrono::duration<double>(time).count() * whole.frames_per_second;
      // A hair less: a time that means a frame may lie a rounding behind it.
      return static_cast<std::int64_t>(
          std::min(std::ceil(frame - 1e-6), static_cast<double>(*whole.frames)));
    };
    first = frame_at(options.start);
    if (options.end) last = frame_at(*options.end);
  }
  const std::int64_t once = last > first ? (last - first - 1) / options.stride + 1 : 0;
  std::int64_t all = 0;
  if (__builtin_mul_overflow(once, options.loop, &all)) return std::nullopt;
  return all;
}

class StoredSource final : public Source {
 public:
  StoredSource(std::unique_ptr<StoredFrames> frames, const SourceOptions& options,
               std::stop_source stop)
      : options_(options), stop_(std::move(stop)), frames_(std::move(frames)) {
    info_ = frames_->info();
    if (!frames_->seek(options_.start) || is_past_end()) fail_empty();
    first_ = frames_->picture();
    info_.decoder = frames_->info().decoder;  // as the first picture has shown
    info_.size = first_.size();
    info_.frames = frames_given(info_, options_);
    frame_duration_ = nanoseconds(
        std::llround(1e9 / (info_.frames_per_second > 0 ? info_.frames_per_second : kRateOfLoops)));
    info_.frames_per_second /= static_cast<double>(options_.stride);
  }

  SourceInfo info() const override { return info_; }
  void interrupt() noexcept override { stop_.request_stop(); }

  std::optional<Frame> read() override {
    Frame frame{.index = next_index_, .discontinuity = Discontinuity::start};
    if (next_index_ > 0) {
      frame.discontinuity = Discontinuity::none;
      if (!stop_.stop_requested() && !advance()) {
        if (stop_.stop_requested() || !begin_loop()) return std::nullopt;
        frame.discontinuity = Discontinuity::loop;
      } else if (follows_damage_) {
        frame.discontinuity = Discontinuity::gap;
      }
    }
    if (stop_.stop_requested()) return std::nullopt;
    frame.image = next_index_ == 0 ? std::exchange(first_, {}) : frames_->picture();
    frame.pts = frames_->time() + loop_offset_;
    ++next_index_;
    return frame;
  }

 private:
  bool is_past_end() const { return options_.end && frames_->time() >= *options_.end; }

  [[noreturn]] void fail_empty() const {
    if (options_.start.count() == 0 && !options_.end)
      throw SourceError(
          ErrorCode::source_empty,
          info_.description + " has no frame that can be decoded; check that it is complete");
    throw SourceError(ErrorCode::source_empty,
                      info_.description + " has no frame from " + seconds_text(options_.start) +
                          (options_.end ? " to " + seconds_text(*options_.end) : " on") +
                          "; choose another range");
  }

  /// Goes to the next frame that is to be given, and sees whether it follows damage; false at the
  /// end of the range.
  bool advance() {
    follows_damage_ = false;
    for (std::int64_t step = 0; step < options_.stride; ++step) {
      // The next loop begins after the last frame, whether or not that one is given.
      end_of_loop_ = frames_->time() + frame_duration_;
      if (stop_.stop_requested() || !frames_->next() || is_past_end()) return false;
      follows_damage_ = follows_damage_ || frames_->follows_damage();
    }
    return true;
  }

  bool begin_loop() {
    if (options_.loop != 0 && ++loops_done_ >= options_.loop) return false;
    if (!frames_->seek(options_.start) || is_past_end()) return false;
    loop_offset_ =
        std::min<nanoseconds>(loop_offset_ + end_of_loop_ - frames_->time(), 10 * kLongestClip);
    return true;
  }

  const SourceOptions options_;
  std::stop_source stop_;
  const std::unique_ptr<StoredFrames> frames_;
  SourceInfo info_;
  cv::Mat first_;
  nanoseconds frame_duration_{0};
  nanoseconds loop_offset_{0};
  nanoseconds end_of_loop_{0};
  std::int64_t loops_done_ = 0;
  std::int64_t next_index_ = 0;
  bool follows_damage_ = false;
};

}  // namespace

void check(const SourceOptions& options) {
  if (options.start.count() < 0)
    refuse("a start of " + seconds_text(options.start) + " is below 0");
  if (options.start > kLongestClip)
    refuse("a start of " + seconds_text(options.start) + " is beyond any clip");
  if (options.end && *options.end <= options.start)
    refuse("an end of " + seconds_text(*options.end) + " is not after the start, " +
           seconds_text(options.start));
  if (options.stride < 1) refuse("a stride of " + std::to_string(options.stride) + " is below 1");
  if (options.loop < 0)
    refuse("a loop of " + std::to_string(options.loop) + " is below 0, which is endless");
  if (options.silence_limit.count() <= 0)
    refuse("a silence_limit of " + std::to_string(options.silence_limit.count()) +
           " ms is not above 0");
  options.reconnect.check();
}

void refuse_range(const SourceOptions& options, const std::string& name) {
  const auto live = [&](const std::string& option) {
    refuse(name + " is live, and so takes no " + option + "; leave it out");
  };
  if (options.start.count() != 0) live("start (" + seconds_text(options.start) + ")");
  if (options.end) live("end (" + seconds_text(*options.end) + ")");
  if (options.stride != 1) live("stride (" + std::to_string(options.stride) + ")");
  if (options.loop != 1) live("loop (" + std::to_string(options.loop) + ")");
}

std::unique_ptr<Source> make_stored_source(std::unique_ptr<StoredFrames> frames,
                                           const SourceOptions& options, std::stop_source stop) {
  return std::make_unique<StoredSource>(std::move(frames), options, std::move(stop));
}

}  // namespace vcap
