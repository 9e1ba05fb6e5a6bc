// SPDX-License-Identifier: Apache-2.0
#include "streams/slicing.hpp"

#include <algorithm>
#include <utility>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

bool meet(const std::vector<std::string>& given, const std::vector<std::string>& taken) {
  return taken.empty() || std::ranges::any_of(given, [&](const std::string& name) {
           return std::ranges::find(taken, name) != taken.end();
         });
}

bool gives_picture_to(const CompiledStep& earlier, const CompiledStep& later) {
  const auto& given = earlier.slot->capsule->info().gives_pictures;
  return std::ranges::any_of(later.takes_pictures(), [&](const PictureDescription& taken) {
    return std::ranges::find(given, taken.name, &PictureDescription::name) != given.end();
  });
}

/// Whether the earlier step can change what the later one gets. A capsule that takes nodes may
/// change them, and the nodes below them.
bool may_feed(const CompiledStep& earlier, const CompiledStep& later) {
  if (gives_picture_to(earlier, later)) return true;
  return later.takes_nodes() &&
         (earlier.takes_nodes() ||
          meet(earlier.slot->capsule->info().output_type.detections, later.needs.detections));
}

/// The ranges, each begun earlier by `warmup` frames that are not null, and by the null frames
/// directly before those. A capsule is not called for null frames; it gets their discontinuities
/// with a later frame.
Rows with_warmup(const Rows& rows, std::int64_t warmup, std::int64_t frames,
                 const NullRows& nulls) {
  if (!nulls.any) return rows.widened(warmup, 0, frames);
  if (!nulls.is_null) return Rows({0, rows.hull().end});
  Rows wider;
  for (const auto& [begin, end] : rows.ranges()) {
    std::int64_t first = begin;
    for (std::int64_t missing = warmup; missing > 0 && first > 0;)
      if (!nulls.is_null(--first)) --missing;
    while (first > 0 && nulls.is_null(first - 1)) --first;
    wider.add({first, end});
  }
  return wider;
}

/// The row nearest to `row`, within `most` rows, that is `lead` rows after a seek point; `row` if
/// there is none.
std::int64_t aligned(std::int64_t row, std::int64_t most, const SeekPoint& seek_point,
                     std::int64_t lead) {
  const std::int64_t read = row - lead;
  if (read <= 0) return row;
  const std::int64_t back = read - seek_point(read);
  if (back <= 0) return row;
  // The first seek point after `read`, if it is nearer than the one before.
  std::int64_t after = read + std::min(most, back - 1);
  if (seek_point(after) <= read) return back <= most ? row - back : row;
  for (std::int64_t least = read + 1; least < after;) {
    const std::int64_t middle = least + (after - least) / 2;
    if (seek_point(middle) > read)
      after = middle;
    else
      least = middle + 1;
  }
  return after + lead;
}

}  // namespace

std::int64_t fed_warmup(const CapsuleInfo& info) {
  // A capsule that may not be called for a frame gets that frame's discontinuity later, within its
  // warm-up (OwedDiscontinuities). To have that right from the warm-up on, it needs a second
  // warm-up.
  const bool may_be_passed_by = info.input_type.size == NodeDescription::Size::single ||
                                !info.input_type.attributes.empty() ||
                                !info.takes_pictures.empty() ||
                                (info.stencil && info.stencil->edge == StencilEdge::error);
  return std::min(info.warmup.value_or(0), kEndlessRows / 2) * (may_be_passed_by ? 2 : 1);
}

Rows Slice::fed() const {
  Rows fed;
  for (const SliceRun& run : runs) fed.add(run.fed);
  return fed;
}

SliceNeeds::SliceNeeds(const CompiledPlan& compiled_plan) {
  for (std::size_t i = 0; i < compiled_plan.size(); ++i) {
    const CapsuleInfo& info = compiled_plan[i].slot->capsule->info();
    Step& step = steps_.emplace_back();
    step.keeps_together = info.stream_state || info.stencil;
    step.has_state = static_cast<bool>(info.stream_state);
    step.is_unbounded = info.stream_state && !info.warmup;
    step.warmup = fed_warmup(info);
    if (info.stencil) {
      step.back = info.stencil->back();
      step.ahead = info.stencil->ahead();
      step.takes_neighbours = compiled_plan[i].sees_results_of_others();
    }
    for (std::size_t j = 0; j < i; ++j)
      if (may_feed(compiled_plan[j], compiled_plan[i])) step.takes_from.push_back(j);
    if (step.is_unbounded && !unbounded_) unbounded_ = &info.name;
  }
  constexpr std::int64_t kMiddle = kEndlessRows / 2;
  const SliceRun run = run_for(Rows({kMiddle, kMiddle + 1}), kEndlessRows, {});
  lead_ = kMiddle - run.fed.hull().begin;
  trail_ = run.fed.hull().end - kMiddle - 1;
}

SliceRun SliceNeeds::run_for(const Rows& wanted, std::int64_t frames, const NullRows& nulls) const {
  SliceRun run{.fed = wanted, .called = std::vector<Rows>(steps_.size(), wanted)};
  for (std::size_t i = steps_.size(); i-- > 0;) {
    const Step& step = steps_[i];
    Rows& called = run.called[i];
    if (step.is_unbounded)
      called = Rows({0, called.hull().end});
    else if (step.has_state)
      called = with_warmup(called, step.warmup, frames, nulls);
    const Rows seen = called.widened(step.back, step.ahead, frames);
    run.fed.add(seen);
    for (const std::size_t provider : step.takes_from)
      run.called[provider].add(step.takes_neighbours ? seen : called);
  }
  return run;
}

Slice SliceNeeds::slice(Rows wanted, std::int64_t frames, const NullRows& nulls) const {
  Slice slice;
  const bool keeps_together =
      std::ranges::any_of(steps_, [](const Step& step) { return step.keeps_together; });
  if (!keeps_together || unbounded_) {
    if (!wanted.empty()) slice.runs.push_back(run_for(wanted, frames, nulls));
  } else {
    // One run for each contiguous range of fed frames, so that no state or window reaches across
    // frames that are not fed.
    std::vector<Rows> stretches;
    std::int64_t fed_until = -1;
    for (const RowRange& range : wanted.ranges()) {
      const RowRange fed = run_for(Rows(range), frames, nulls).fed.hull();
      if (fed.begin > fed_until || stretches.empty()) stretches.emplace_back();
      stretches.back().add(range);
      fed_until = fed.end;
    }
    for (const Rows& stretch : stretches) slice.runs.push_back(run_for(stretch, frames, nulls));
  }
  slice.results = std::move(wanted);
  return slice;
}

Rows rows_of(const Sampler& sampler, std::int64_t frames) {
  const std::int64_t size = sampler.size(frames);
  if (sampler.is_all()) return Rows({0, frames});
  const auto row = [&](std::int64_t number) {
    const Sampler::Element element = *sampler.element(number);
    if (element.parts == 1) return element.row;
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "a selection cannot repeat rows; repeat frames in the "
                          "source (SourceOptions::sampler)");
  };
  Rows rows;
  for (std::int64_t number = 0; number < size;) {
    // The length of a range of rows is found with growing steps: there may be too many rows to
    // count.
    const std::int64_t begin = row(number);
    std::int64_t count = 1;
    for (std::int64_t step = 1; step > 0;) {
      const std::int64_t further = number + count - 1 + step;
      const bool all_neighbours = further < size && row(further) - begin == further - number;
      if (all_neighbours) count += step;
      step = all_neighbours ? 2 * step : step / 2;
    }
    rows.add({begin, begin + count});
    number += count;
  }
  return rows;
}

std::vector<Rows> cut(const Rows& rows, std::size_t parts, const SeekPoint& seek_point,
                      std::int64_t lead) {
  const std::int64_t all = rows.count();
  const auto count = std::min(static_cast<std::int64_t>(parts), all);
  // A moved cut leaves each part at least half as long, and at most half as long again.
  const std::int64_t most_moved = seek_point && count > 1 ? all / count / 4 : 0;
  std::vector<Rows> result;
  std::int64_t done = 0;
  std::int64_t end = 0;  // of the last part, as `done` counts
  for (const RowRange& range : rows.ranges())
    for (std::int64_t row = range.begin; row < range.end;) {
      if (done == end) {
        result.emplace_back();
        const auto number = static_cast<std::int64_t>(result.size());
        // Part `number` ends after row ⌊number·all/count⌋ of the wanted rows.
        end = all / count * number + all % count * number / count;
      }
      const std::int64_t next = row + end - done;
      if (most_moved > 0 && next < range.end)
        if (const std::int64_t moved = aligned(next, most_moved, seek_point, lead);
            moved > row && moved < range.end)
          end += moved - next;
      const std::int64_t length = std::min(range.end - row, end - done);
      result.back().add({row, row + length});
      row += length;
      done += length;
    }
  return result;
}

}  // namespace vcap
