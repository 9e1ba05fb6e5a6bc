// SPDX-License-Identifier: Apache-2.0
#include "vcap/view/comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "files/output_file.hpp"
#include "vcap/base/error.hpp"
#include "view/comparison_page.hpp"
#include "view/difference_table.hpp"
#include "view/differing_frames.hpp"
#include "view/record_queue.hpp"
#include "view/stream_comparison.hpp"

namespace vcap {
namespace {

using Side = ComparisonSide;

/// The most that waits in memory; records take about as much again while they are read back.
constexpr std::size_t kMostWaiting = std::size_t{64} << 20;

std::size_t place_of(Side side) { return side == Side::a ? 0 : 1; }

void check(const ComparisonOptions& options) {
  const auto refuse = [](const std::string& what, double value, const std::string& allowed) {
    throw InvalidArgument(ErrorCode::invalid_argument,
                          what + " of a comparison is " + number_text(value) + "; " + allowed);
  };
  if (!(options.tolerance >= 0 && std::isfinite(options.tolerance)))
    refuse("tolerance", options.tolerance, "give 0 pixels or more");
  if (!(options.min_iou > 0 && options.min_iou <= 1))
    refuse("min_iou", options.min_iou, "give more than 0 and at most 1");
  if (options.time_tolerance.count() < 0)
    refuse("time_tolerance", static_cast<double>(options.time_tolerance.count()),
           "give 0 ns or more");
}

}  // namespace

class Comparison::Impl {
 public:
  explicit Impl(ComparisonOptions options)
      : options_(std::move(options)), frames_(options_.most_frames) {
    check(options_);
  }

  void add(Side side, const FrameRecord& record) {
    const std::size_t place = place_of(side);
    const std::string key = record.group
                                ? record.stream_id + ", group " + std::to_string(*record.group)
                                : record.stream_id;
    ++(side == Side::a ? totals_.records_a : totals_.records_b);
    ids_[place].insert(record.stream_id);
    Waiting& waiting = waiting_[key];
    RecordQueue& queue = waiting.queues[place];
    const std::size_t weight = queue.weight();
    queue.push(record);
    weight_ += queue.weight() - weight;
    ++count_[place];
    match(key, waiting);
    if (weight_ > kMostWaiting) spill();
  }

  Side wanted() const noexcept { return count_[1] < count_[0] ? Side::b : Side::a; }

  void finish() {
    for (auto& [key, waiting] : waiting_)
      for (const Side side : {Side::a, Side::b})
        while (!waiting.queues[place_of(side)].empty())
          streams_[key].add_alone(side, take(waiting, side));
    waiting_.clear();
  }

  std::size_t records() const noexcept {
    return static_cast<std::size_t>(totals_.records_a + totals_.records_b);
  }

  std::vector<std::string> streams() const {
    std::set<std::string> all = ids_[0];
    all.insert(ids_[1].begin(), ids_[1].end());
    return {all.begin(), all.end()};
  }

  ComparisonTotals totals() const {
    ComparisonTotals totals = totals_;
    for (const auto& [key, stream] : streams_) {
      const StreamComparison::Counts& counts = stream.counts();
      totals.frames += counts.frames;
      totals.equal += counts.equal;
      totals.different += counts.different;
      totals.only_a += counts.only_a;
      totals.only_b += counts.only_b;
      totals.track_switches += counts.track_switches;
    }
    std::ranges::set_difference(ids_[0], ids_[1], std::back_inserter(totals.streams_only_a));
    std::ranges::set_difference(ids_[1], ids_[0], std::back_inserter(totals.streams_only_b));
    totals.errors_a = table_.messages_a();
    totals.errors_b = table_.messages_b();
    totals.other_fields = table_.fields();
    for (const auto& [name, objects] : table_.objects())
      totals.objects.emplace(name, objects.counts);
    return totals;
  }

  void set_clip(const std::string& stream, const std::string& clip, const std::string& link) {
    clips_[stream] = clip_of_stream(stream, streams(), clip, link);
  }

  std::string html() const {
    const ComparisonTotals all = totals();
    return comparison_page({.options = options_,
                            .totals = all,
                            .verdict = verdict_of(all),
                            .streams = streams_,
                            .table = table_,
                            .frames = frames_,
                            .clips = clips_});
  }

  static ComparisonVerdict verdict_of(const ComparisonTotals& totals) {
    if (totals.different > 0 || totals.only_a > 0 || totals.only_b > 0)
      return ComparisonVerdict::different;
    return totals.equal == totals.frames ? ComparisonVerdict::identical : ComparisonVerdict::alike;
  }

 private:
  /// The records of one stream that wait, of both sides.
  struct Waiting {
    std::array<RecordQueue, 2> queues{};
    /// Of records that were taken. An index that does not rise begins the next part: the stream was
    /// started again.
    std::array<std::int64_t, 2> last_index{-1, -1};
    std::array<std::int64_t, 2> part{0, 0};

    std::int64_t part_of(std::size_t side, const FrameRecord& record) const {
      return part[side] + (record.frame.index <= last_index[side] ? 1 : 0);
    }
    FrameRecord take(std::size_t side, const SpillFile& file) {
      FrameRecord record = queues[side].pop(file);
      part[side] = part_of(side, record);
      last_index[side] = record.frame.index;
      return record;
    }
  };

  FrameRecord take(Waiting& waiting, Side side) {
    const std::size_t place = place_of(side);
    RecordQueue& queue = waiting.queues[place];
    const std::size_t weight = queue.weight();
    FrameRecord record = waiting.take(place, spilled_);
    weight_ -= weight - queue.weight();
    --count_[place];
    return record;
  }

  /// Below 0 if `a` is of an earlier frame than `b`; 0 if of the same.
  int order_of(const Waiting& waiting, const FrameRecord& a, const FrameRecord& b) const {
    const std::int64_t part_a = waiting.part_of(0, a), part_b = waiting.part_of(1, b);
    if (part_a != part_b) return part_a < part_b ? -1 : 1;
    if (options_.match_by == ComparisonOptions::MatchBy::frame_index)
      return a.frame.index < b.frame.index ? -1 : a.frame.index > b.frame.index ? 1 : 0;
    const auto apart = a.frame.pts - b.frame.pts;
    if (std::chrono::abs(apart) <= options_.time_tolerance) return 0;
    return apart.count() < 0 ? -1 : 1;
  }

  void match(const std::string& key, Waiting& waiting) {
    StreamComparison& stream = streams_[key];
    while (!waiting.queues[0].empty() && !waiting.queues[1].empty()) {
      const std::size_t weight = waiting.queues[0].weight() + waiting.queues[1].weight();
      const int order =
          order_of(waiting, waiting.queues[0].front(spilled_), waiting.queues[1].front(spilled_));
      weight_ -= weight - waiting.queues[0].weight() - waiting.queues[1].weight();
      if (order < 0)
        stream.add_alone(Side::a, take(waiting, Side::a));
      else if (order > 0)
        stream.add_alone(Side::b, take(waiting, Side::b));
      else
        compare(key, take(waiting, Side::a), take(waiting, Side::b), stream);
    }
  }

  void compare(const std::string& key, const FrameRecord& a, const FrameRecord& b,
               StreamComparison& stream) {
    const FrameDifference found = compare_frames(a, b, options_.tolerance, options_.min_iou);
    stream.add(a, found);
    table_.add(a, found, key);
    if (stream.has_other_ids()) table_.add_field("track_id");
    frames_.add(a, found, key);
  }

  void spill() {
    for (auto& [key, waiting] : waiting_)
      for (RecordQueue& queue : waiting.queues) queue.spill(spilled_);
    weight_ = 0;
  }

  const ComparisonOptions options_;
  ComparisonTotals totals_{};                   ///< only the numbers of records
  std::array<std::set<std::string>, 2> ids_{};  ///< of streams, by side
  std::map<std::string, Waiting> waiting_;      ///< by stream and group, as streams_
  std::array<std::int64_t, 2> count_{};         ///< records that wait, by side
  std::size_t weight_ = 0;                      ///< of what waits in memory
  SpillFile spilled_;
  std::map<std::string, StreamComparison> streams_;
  DifferenceTable table_;
  DifferingFrames frames_;
  std::map<std::string, StreamClip> clips_;
};

Comparison::Comparison(ComparisonOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}
Comparison::~Comparison() = default;
Comparison::Comparison(Comparison&&) noexcept = default;
Comparison& Comparison::operator=(Comparison&&) noexcept = default;

void Comparison::add(ComparisonSide side, const FrameRecord& record) { impl_->add(side, record); }
ComparisonSide Comparison::wanted() const noexcept { return impl_->wanted(); }
void Comparison::finish() { impl_->finish(); }
std::size_t Comparison::records() const noexcept { return impl_->records(); }
std::vector<std::string> Comparison::streams() const { return impl_->streams(); }
ComparisonTotals Comparison::totals() const { return impl_->totals(); }
ComparisonVerdict Comparison::verdict() const { return Impl::verdict_of(impl_->totals()); }
void Comparison::set_clip(const std::string& stream, const std::string& clip,
                          const std::string& link) {
  impl_->set_clip(stream, clip, link);
}
std::string Comparison::html() const { return impl_->html(); }

void Comparison::write(const std::string& path) const {
  OutputFile file(path);
  file.write(impl_->html());
  file.commit();
}

}  // namespace vcap
