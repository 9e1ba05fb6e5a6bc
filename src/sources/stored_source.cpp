// SPDX-License-Identifier: Apache-2.0
#include "sources/stored_source.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "sources/rows.hpp"
#include "sources/stored_rows.hpp"
#include "vcap/base/error.hpp"
#include "vcap/sources/random_access.hpp"

namespace vcap {
namespace {

using std::chrono::nanoseconds;

/// No clip is longer; keeps sums of times within their type.
constexpr nanoseconds kLongestClip = std::chrono::years(10);

std::string seconds_text(nanoseconds time) {
  return number_text(std::chrono::duration<double>(time).count()) + " s";
}

[[noreturn]] void refuse(const std::string& what) {
  throw InvalidArgument(ErrorCode::invalid_argument, "source options: " + what);
}

/// How many of the source's frames the range leaves, by the frame rate. An estimate if the rate is
/// not constant.
std::optional<std::int64_t> rows_left(const SourceInfo& whole, const SourceOptions& options) {
  if (!whole.frames || (options.start.count() == 0 && !options.end)) return whole.frames;
  if (whole.frames_per_second <= 0) return std::nullopt;
  const auto row_at = [&](nanoseconds time) {
    const double row = std::chrono::duration<double>(time).count() * whole.frames_per_second;
    // Tolerance: a time that names a frame may be later than it by a rounding error.
    return static_cast<std::int64_t>(
        std::min(std::ceil(row - 1e-6), static_cast<double>(*whole.frames)));
  };
  const std::int64_t end = options.end ? row_at(*options.end) : *whole.frames;
  return std::max<std::int64_t>(end - row_at(options.start), 0);
}

/// Applies to the rows that the range leaves.
Sampler sampler_of(const SourceOptions& options) {
  return Sampler::stride(options.stride).then(options.sampler);
}

/// `time` × `part` / `parts`.
nanoseconds share(nanoseconds time, std::int64_t part, std::int64_t parts) {
  return time / parts * part + time % parts * part / parts;
}

class StoredSource final : public Source {
 public:
  /// `some`: the elements to give, of those in the index; requires an index.
  StoredSource(std::unique_ptr<StoredFrames> frames, const SourceOptions& options,
               std::stop_source stop, std::optional<Rows> some = std::nullopt)
      : options_(options),
        sampler_(sampler_of(options)),
        stop_(std::move(stop)),
        rows_(std::move(frames), options, stop_.get_token()),
        some_(std::move(some)),
        element_(some_ ? some_->hull().begin : 0),
        next_index_(element_) {
    // Without a sampler nearly everything is decoded anyway, and scanning the file first takes
    // time.
    if (some_ || !options.sampler.is_all() || (options.stride > 1 && rows_.has_ready_index()))
      rows_.use_index(!some_);
    info_ = rows_.info();
    if (rows_.size() && *rows_.size() > 0) sampler_.size(*rows_.size());
    if (!go_to_element()) fail_empty();
    keep_picture();
    describe();
  }

  SourceInfo info() const override { return info_; }
  void interrupt() noexcept override { stop_.request_stop(); }
  std::shared_ptr<const RandomAccess> random_access() override;
  bool restore_index(std::string_view saved) { return rows_.restore_index(saved); }
  BrokenPictures broken_pictures() const override { return rows_.broken(); }

  std::optional<Frame> read() override {
    if (stop_.stop_requested() || has_ended_) return std::nullopt;
    has_ended_ = !std::exchange(is_at_first_, false) && !advance();
    if (has_ended_) return std::nullopt;
    const Sampler::Element element = *sampler_.element(element_);
    if (some_) next_index_ = element_;
    Frame frame{.index = next_index_,
                .pts = time_of(element),
                .discontinuity = discontinuity(),
                .is_null = element.is_null};
    if (!element.is_null) {
      if (picture_row_ != element.row) keep_picture();
      frame.image = picture_;
      frame.source_file = rows_.file();
    }
    if (element.parts == 1) forget_picture();  // otherwise the next element may show it too
    ++next_index_;
    return frame;
  }

 private:
  [[noreturn]] void fail_empty() const {
    if (rows_.broken().count > 0)
      throw SourceError(ErrorCode::source_empty,
                        info_.description + " has no picture that can be decoded; broken: " +
                            to_string(rows_.broken()) + "; repair or replace them");
    if (options_.start.count() == 0 && !options_.end)
      throw SourceError(
          ErrorCode::source_empty,
          info_.description + " has no frame that can be decoded; check that it is complete");
    throw SourceError(ErrorCode::source_empty,
                      info_.description + " has no frame from " + seconds_text(options_.start) +
                          (options_.end ? " to " + seconds_text(*options_.end) : " to its end") +
                          "; choose another range");
  }

  /// Updates info_ after the first picture is decoded.
  void describe() {
    const SourceInfo whole = info_;
    info_ = rows_.info();
    info_.size = picture_.size();
    const std::optional<std::int64_t> rows =
        rows_.size() ? rows_.size() : rows_left(whole, options_);
    info_.frames = sampler_.limit();
    if (!info_.frames && rows) info_.frames = sampler_.size(*rows);
    std::int64_t all = 0;
    if (options_.loop == 0 ||
        (info_.frames && __builtin_mul_overflow(*info_.frames, options_.loop, &all)))
      info_.frames.reset();
    else if (info_.frames)
      info_.frames = all;
    info_.frames_per_second *= sampler_.rate();
    info_.has_nulls = sampler_.has_nulls();
  }

  /// Goes to the next element, or to the first of the next loop; false at the end.
  bool advance() {
    ++element_;
    if (some_) {
      const std::optional<std::int64_t> next = some_->at_or_after(element_);
      if (!next) return false;
      element_ = *next;
    }
    return go_to_element() || (!stop_.stop_requested() && begin_loop());
  }

  /// False at the end of the sequence, or if stopped.
  bool go_to_element() {
    const std::optional<Sampler::Element> element = sampler_.element(element_);
    if (!element) return false;
    std::optional<std::int64_t> next = element_ + element->parts - element->part;
    if (some_) next = some_->at_or_after(*next);
    const auto after = next ? sampler_.element(*next) : std::nullopt;
    if (rows_.go_to(element->row, after ? std::optional(after->row) : std::nullopt)) return true;
    if (!stop_.stop_requested() && sampler_.limit() && rows_.found() > 0) fail_short();
    return false;
  }

  /// Only here is it known that a row named by the sampler does not exist.
  [[noreturn]] void fail_short() const {
    std::string why;
    try {
      sampler_.size(rows_.found());
    } catch (const InvalidArgument& error) {
      why = error.what();
    }
    throw SourceError(ErrorCode::source_read, info_.description + " ends too early; " + why);
  }

  bool begin_loop() {
    if (options_.loop != 0 && ++loops_done_ >= options_.loop) return false;
    const nanoseconds end = rows_.end();
    element_ = 0;
    if (!go_to_element()) return false;
    loop_offset_ = std::min<nanoseconds>(loop_offset_ + end - rows_.time(), 10 * kLongestClip);
    return true;
  }

  nanoseconds time_of(const Sampler::Element& element) {
    nanoseconds time =
        rows_.time() + loop_offset_ + share(rows_.duration(), element.part, element.parts);
    // An estimated duration may reach beyond the next row.
    if (last_time_ && time <= *last_time_) time = *last_time_ + nanoseconds(1);
    last_time_ = time;
    return time;
  }

  Discontinuity discontinuity() const {
    if (next_index_ == 0) return Discontinuity::start;
    if (element_ == 0) return Discontinuity::loop;
    if (!sampler_.follows(element_)) return Discontinuity::seek;
    return rows_.follows_damage() ? Discontinuity::gap : Discontinuity::none;
  }

  void keep_picture() {
    picture_ = rows_.picture();
    picture_row_ = sampler_.element(element_)->row;
  }
  void forget_picture() {
    picture_.release();
    picture_row_.reset();
  }

  const SourceOptions options_;
  const Sampler sampler_;  ///< of the rows that the range leaves
  std::stop_source stop_;
  StoredRows rows_;
  SourceInfo info_;
  const std::optional<Rows> some_;  ///< `nullopt`: all
  std::int64_t element_ = 0;        ///< in this loop
  std::int64_t next_index_ = 0;     ///< over all loops
  bool is_at_first_ = true;
  bool has_ended_ = false;
  std::int64_t loops_done_ = 0;
  nanoseconds loop_offset_{0};
  std::optional<nanoseconds> last_time_{};
  cv::Mat picture_;  ///< of a row that may be shown again
  std::optional<std::int64_t> picture_row_;
};

/// Random access to the elements of a stored source, by its index.
class StoredAccess final : public RandomAccess {
 public:
  StoredAccess(std::shared_ptr<const StoredIndex> index, const SourceOptions& options,
               std::string name, std::int64_t first_picture, std::int64_t frames)
      : index_(std::move(index)),
        options_(options),
        sampler_(sampler_of(options)),
        name_(std::move(name)),
        first_picture_(first_picture),
        frames_(frames) {}

  std::int64_t frames() const override { return frames_; }
  bool is_null(std::int64_t row) const override {
    const auto element = sampler_.element(row);
    return element && element->is_null;
  }
  std::unique_ptr<Source> open(const std::vector<RowRange>& ranges) const override {
    Rows rows;
    std::int64_t before = 0;
    for (const auto& [begin, end] : ranges) {
      for (const std::int64_t row : {begin, end - 1})
        if (row < 0 || row >= frames_)
          refuse_rows("has no frame " + std::to_string(row) + ", only 0 to " +
                      std::to_string(frames_ - 1));
      if (begin < before || end <= begin)
        refuse_rows("got the range of frames " + std::to_string(begin) + " to " +
                    std::to_string(end) + " after frame " + std::to_string(before) +
                    "; ranges must ascend and not be empty");
      rows.add({begin, before = end});
    }
    if (rows.empty()) refuse_rows("got no range of frames; give at least one");
    const std::stop_source stop;
    return std::make_unique<StoredSource>(index_->open(stop.get_token()), options_, stop,
                                          std::move(rows));
  }
  std::int64_t seek_point(std::int64_t row) const override {
    const std::int64_t key = index_->key_before(picture_of(row));
    std::int64_t least = 0;
    for (std::int64_t most = row; least < most;) {
      const std::int64_t middle = least + (most - least) / 2;
      if (picture_of(middle) < key)
        least = middle + 1;
      else
        most = middle;
    }
    return least;
  }
  std::string save_index() const { return index_->save(); }

 private:
  std::int64_t picture_of(std::int64_t row) const {
    return first_picture_ + sampler_.element(row)->row;
  }

  [[noreturn]] void refuse_rows(const std::string& what) const {
    throw InvalidArgument(ErrorCode::invalid_argument, name_ + " " + what);
  }

  const std::shared_ptr<const StoredIndex> index_;
  const SourceOptions options_;
  const Sampler sampler_;
  const std::string name_;
  const std::int64_t first_picture_;  ///< of those in the index, the first that is a row
  const std::int64_t frames_;
};

std::shared_ptr<const RandomAccess> StoredSource::random_access() {
  if (options_.loop != 1) return nullptr;
  auto index = rows_.index();
  if (!index) return nullptr;
  const RowRange pictures = pictures_left(*index, options_);
  const std::int64_t frames = sampler_.size(pictures.end - pictures.begin);
  if (frames == 0) return nullptr;
  return std::make_shared<StoredAccess>(std::move(index), options_, info_.description,
                                        pictures.begin, frames);
}

}  // namespace

void check(const SourceOptions& options) {
  if (options.start.count() < 0)
    refuse("a start of " + seconds_text(options.start) + " is below 0");
  if (options.start > kLongestClip)
    refuse("a start of " + seconds_text(options.start) + " is beyond any clip; give at most " +
           seconds_text(kLongestClip));
  if (options.end && *options.end <= options.start)
    refuse("an end of " + seconds_text(*options.end) + " is not after the start, " +
           seconds_text(options.start));
  if (options.stride < 1) refuse("a stride of " + std::to_string(options.stride) + " is below 1");
  if (options.loop < 0)
    refuse("a loop of " + std::to_string(options.loop) + " is below 0; give 0 for an endless loop");
  if (options.silence_limit.count() <= 0)
    refuse("a silence_limit of " + std::to_string(options.silence_limit.count()) +
           " ms is not above 0");
  if (options.decoder_threads < 0)
    refuse("decoder_threads of " + std::to_string(options.decoder_threads) +
           " is below 0; give 0 to let vcap choose");
  if (options.max_pixels < 1)
    refuse("max_pixels of " + std::to_string(options.max_pixels) + " is below 1");
  options.reconnect.check();
}

void refuse_range(const SourceOptions& options, const std::string& name) {
  const auto live = [&](const std::string& option) {
    refuse(name + " is live and does not support " + option + "; leave it out");
  };
  if (options.start.count() != 0) live("start (" + seconds_text(options.start) + ")");
  if (options.end) live("end (" + seconds_text(*options.end) + ")");
  if (options.stride != 1) live("stride (" + std::to_string(options.stride) + ")");
  if (!options.sampler.is_all()) live("sampler");
  if (options.loop != 1) live("loop (" + std::to_string(options.loop) + ")");
}

std::unique_ptr<Source> make_stored_source(std::unique_ptr<StoredFrames> frames,
                                           const SourceOptions& options, std::stop_source stop) {
  return std::make_unique<StoredSource>(std::move(frames), options, std::move(stop));
}

std::string save_index(const RandomAccess& access) {
  const auto* const stored = dynamic_cast<const StoredAccess*>(&access);
  return stored ? stored->save_index() : std::string();
}

bool restore_index(Source& source, std::string_view saved) {
  auto* const stored = dynamic_cast<StoredSource*>(&source);
  return stored && stored->restore_index(saved);
}

}  // namespace vcap
