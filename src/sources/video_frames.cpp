// SPDX-License-Identifier: Apache-2.0
#include "sources/video_frames.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

using std::chrono::nanoseconds;

/// For frames without a time, if the container has no frame rate.
constexpr double kFallbackRate = 25;
/// A longer frame duration means a damaged frame rate.
constexpr nanoseconds kLongestFrame = std::chrono::minutes(10);

/// A video's index, and what further readers need.
class StoredVideo final : public StoredIndex {
 public:
  StoredVideo(std::shared_ptr<const VideoIndex> index, AvAddress address, HardwareDecoding hardware,
              int decoder_threads)
      : index_(std::move(index)),
        address_(std::move(address)),
        hardware_(hardware),
        decoder_threads_(decoder_threads) {}

  std::int64_t size() const override { return index_->size(); }
  nanoseconds time(std::int64_t number) const override { return index_->time(number); }
  std::int64_t key_before(std::int64_t number) const override { return index_->key_before(number); }
  std::string save() const override { return index_->save(); }
  std::unique_ptr<StoredFrames> open(std::stop_token stop) const override {
    AvAddress address = address_;
    address.stop = std::move(stop);
    return std::make_unique<VideoFrames>(std::make_unique<AvInput>(std::move(address)), hardware_,
                                         decoder_threads_, index_);
  }

 private:
  const std::shared_ptr<const VideoIndex> index_;
  const AvAddress address_;
  const HardwareDecoding hardware_;
  const int decoder_threads_;
};

}  // namespace

VideoFrames::VideoFrames(std::unique_ptr<AvInput> input, HardwareDecoding hardware,
                         int decoder_threads, std::shared_ptr<const VideoIndex> index)
    : most_threads_(decoder_threads),
      threads_(decoder_threads),
      decoder_(std::make_unique<AvDecoder>(std::move(input), AvDecoder::Pace::stored, hardware,
                                           threads_)),
      broken_(decoder_->input().address().name),
      index_(std::move(index)) {
  const double rate = decoder_->input().frames_per_second();
  frame_duration_ = std::min<nanoseconds>(
      nanoseconds(std::llround(1e9 / (rate > 0 ? rate : kFallbackRate))), kLongestFrame);
}

bool VideoFrames::seek(nanoseconds time) {
  broken_from_ = time;
  if (time.count() > 0) {
    is_fresh_ = false;
    if (decoder_->seek(time)) {
      count_.reset();
      time_.reset();
      is_spent_ = false;
      // If the first picture is later than `time`, the keyframe was unsuitable: a decoder may
      // withhold pictures that it cannot decode completely. If the clip's times go back, the right
      // position may only be found from the beginning.
      if (next() && decoder_->time() && *time_ <= time && go_to(time)) return true;
    }
  }
  // From the beginning: slow, but right for every container.
  if (!is_fresh_) reopen();
  return next() && go_to(time);
}

bool VideoFrames::go_to(nanoseconds time) {
  while (*time_ < time)
    if (!next()) return false;
  return true;
}

/// Not all containers can seek back, and only a new decoder surely gives the same pictures again.
void VideoFrames::reopen() {
  decoder_ = std::make_unique<AvDecoder>(std::make_unique<AvInput>(decoder_->input().address()),
                                         AvDecoder::Pace::stored, decoder_->hardware(), threads_);
  time_.reset();
  count_ = 0;
  is_spent_ = false;
  is_fresh_ = true;
}

bool VideoFrames::next() {
  is_fresh_ = false;
  const bool is_there = decoder_->next();
  note_broken();
  if (!is_there) {
    at_end();
    return false;
  }
  time_ = time_of_picture();
  if (count_) ++*count_;
  return true;
}

void VideoFrames::note_broken() {
  const MissingPictures missing = decoder_->take_missing();
  if (missing.count == 0) return;
  std::size_t early = 0;
  for (const std::int64_t ticks : missing.first) {
    const std::optional<nanoseconds> at = decoder_->input().time_of(ticks);
    if (at && *at < broken_from_)
      ++early;
    else if (at)
      broken_.skip(number_text(std::chrono::duration<double>(*at).count()) + " s",
                   "it is damaged and cannot be decoded");
    else
      broken_.skip_unnamed(1);
  }
  // They are later than those in the list; after early ones it is not known by how much.
  if (early == 0)
    broken_.skip_unnamed(missing.count - static_cast<std::int64_t>(missing.first.size()));
}

nanoseconds VideoFrames::time_of_picture() const {
  const std::optional<nanoseconds> told = decoder_->time();
  if (!time_) return std::max(told.value_or(nanoseconds{0}), nanoseconds{0});
  return told && *told > *time_ ? *told : *time_ + frame_duration_;
}

std::shared_ptr<const StoredIndex> VideoFrames::index() {
  if (!index_ && !std::exchange(has_looked_through_, true)) {
    AvInput input(decoder_->input().address());
    index_ = VideoIndex::of(input);
    if (index_) warn_if_cut_off(input, index_->size());
  }
  if (!index_) return nullptr;
  return std::make_shared<StoredVideo>(index_, decoder_->input().address(), decoder_->hardware(),
                                       most_threads_);
}

bool VideoFrames::restore_index(std::string_view saved) {
  auto restored = VideoIndex::restore(saved, decoder_->input().stream().time_base);
  if (!restored) return false;
  index_ = std::move(restored);
  return true;
}

/// Whether to seek to picture `number` after `count` pictures: it lies behind, or some pictures on
/// the way need not be decoded. Such pictures are always skipped, however few. So what is decoded
/// for a picture, and whether damage is found, depends only on its group of pictures and not on
/// where reading began.
bool VideoFrames::seek_pays(std::int64_t count, std::int64_t number) const {
  return number < count || (keys_hold_ && index_->key_before(number) > count);
}

bool VideoFrames::go_to(std::int64_t number, std::optional<std::int64_t> following) {
  if (count_ == number + 1) return true;
  bool is_from_key = false;
  if (is_spent_ || !count_ || seek_pays(*count_, number)) {
    const std::int64_t key = keys_hold_ ? index_->key_before(number) : 0;
    is_from_key = key > 0 && decoder_->seek(index_->time(key));
    if (!is_from_key && (key > 0 || !is_fresh_)) reopen();
  }
  if (decode(number, following)) return true;
  // After a keyframe, a decoder may withhold pictures that it cannot decode completely, as in clips
  // with gradual refresh. Then it is better not to seek in this clip any more.
  if (is_from_key && !is_stopped()) {
    keys_hold_ = false;
    reopen();
    if (decode(number, following)) return true;
  }
  if (is_stopped()) return false;
  fail_at(number);
}

bool VideoFrames::is_stopped() const { return decoder_->input().address().stop.stop_requested(); }

bool VideoFrames::decode(std::int64_t number, std::optional<std::int64_t> following) {
  const bool alone = !following || seek_pays(number + 1, *following);
  is_fresh_ = false;
  is_spent_ = alone;
  const nanoseconds time = index_->time(number);
  if (decoder_->next_at(time, alone) && decoder_->time() == time && !decoder_->met_damage()) {
    time_ = time;
    count_ = number + 1;
    return true;
  }
  time_.reset();
  count_.reset();
  return false;
}

void VideoFrames::throw_failure() const {
  const AvInput& input = decoder_->input();
  if (!input.failure().empty())
    throw SourceError(ErrorCode::source_read,
                      input.address().name + " cannot be read further: " + input.failure());
}

void VideoFrames::fail_at(std::int64_t number) const {
  const AvInput& input = decoder_->input();
  throw_failure();
  throw SourceError(ErrorCode::source_not_as_indexed,
                    input.address().name + " does not have frame " + std::to_string(number) +
                        " at " +
                        number_text(std::chrono::duration<double>(index_->time(number)).count()) +
                        " s, where its index has it; the video is damaged, and can only be read in "
                        "order from the "
                        "beginning");
}

void VideoFrames::at_end() {
  if (is_stopped()) return;
  throw_failure();
  if (count_) warn_if_cut_off(decoder_->input(), *count_);
}

/// A truncated clip must not look complete. It is no error, since its frames are right.
void VideoFrames::warn_if_cut_off(const AvInput& input, std::int64_t frames) {
  if (frames > 0 && input.seems_cut_off() && !std::exchange(warned_, true))
    log(LogLevel::warning, input.address().name + " ended after " + std::to_string(frames) +
                               " of " + std::to_string(input.stream().nb_frames) +
                               " frames; it may be cut off, or its header may be damaged");
}

}  // namespace vcap
