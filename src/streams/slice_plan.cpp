// SPDX-License-Identifier: Apache-2.0
#include "streams/slice_plan.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// The most records without pixels that wait in a slice: some megabytes, at a few nodes each.
constexpr std::size_t kMostRecords = 4096;
/// Opening a file costs more than a shorter slice saves.
constexpr std::int64_t kShortest = 32;
/// How many times as long as its warm-up a slice should be.
constexpr std::int64_t kTimesWarmUp = 20;

[[noreturn]] void refuse(const StreamConfig& config, const std::string& what) {
  throw InvalidArgument(ErrorCode::invalid_argument, "stream " + config.id + ": " + what);
}

/// Whether vcap decides if the stream is cut.
bool is_automatic(const StreamConfig& config) noexcept {
  return config.slices == 0 && (!config.select || config.select->is_all()) && config.groups.empty();
}

/// Why records of slices would differ from those of an uncut run; empty if they would not.
std::string obstacle(const StreamConfig& config) {
  const SourceInfo info = config.source->info();
  if (info.live || info.fed) return "its source is not stored: " + info.description;
  if (config.overflow != OverflowPolicy::automatic && config.overflow != OverflowPolicy::wait)
    return "it drops frames under overload (StreamConfig::overflow)";
  if (config.keep_every != 1) return "it skips frames (StreamConfig::keep_every)";
  if (config.quarantine.failures > 0)
    return "whether a capsule is in quarantine depends on all earlier frames";
  return {};
}

Rows wanted_rows(const StreamConfig& config, std::int64_t frames) {
  if (!config.select) return Rows({0, frames});
  if (frames == kEndlessRows && !config.select->limit())
    refuse(config,
           "the number of frames of its source is not known, but the selection goes to the "
           "end; sample the source instead (SourceOptions::sampler)");
  if (const auto count = config.select->limit(); count && *count > 0)
    if (const std::int64_t last = config.select->element(*count - 1)->row; last >= frames)
      refuse(config, "frame " + std::to_string(last) + " is selected, but " +
                         config.source->info().description + " has only " +
                         (frames == 1 ? "frame 0" : "frames 0 to " + std::to_string(frames - 1)));
  try {
    return rows_of(*config.select, frames);
  } catch (const InvalidArgument& error) {
    refuse(config, error.what());
  }
}

std::size_t records_kept(const StreamConfig& config, const CompiledPlan& compiled_plan,
                         bool keeps_pixels, std::size_t at_once) {
  if (!keeps_pixels) return kMostRecords;
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  const std::size_t frame = frame_bytes(config.source->info(), compiled_plan);
  // For up to two slices for each one that runs.
  return std::clamp<std::size_t>(kBytes / (2 * at_once) / frame, 8, kMostRecords);
}

std::vector<Slice> slices_of(const SliceNeeds& needs, const std::vector<Rows>& parts,
                             const SlicedStream::Plan& plan) {
  std::vector<Slice> slices;
  slices.reserve(parts.size());
  for (const Rows& part : parts) slices.push_back(needs.slice(part, plan.frames, plan.nulls));
  return slices;
}

std::vector<Slice> groups_of(const StreamConfig& config, const SliceNeeds& needs,
                             std::int64_t frames) {
  std::vector<Slice> slices;
  for (const StreamGroup& group : config.groups) {
    const auto [begin, end] = group.rows;
    if (begin < 0 || end <= begin || end > frames)
      refuse(config, "group " + std::to_string(slices.size()) + " has rows " +
                         std::to_string(begin) + " to " + std::to_string(end) +
                         "; the end must be after the begin, and both within 0 to " +
                         std::to_string(frames));
    slices.push_back(needs.slice(Rows({0, end - begin}), end - begin));
    slices.back().group = {.number = static_cast<std::int64_t>(slices.size()) - 1,
                           .begin = begin,
                           .config = group.config};
  }
  return slices;
}

}  // namespace

std::size_t best_parts(const SliceNeeds& needs, std::int64_t rows, std::size_t wanted,
                       std::size_t longest, std::string& why) {
  const std::int64_t warmup = needs.lead() + needs.trail();
  const auto most_frames = static_cast<std::int64_t>(longest);
  const std::int64_t least = (rows + most_frames - 1) / most_frames;
  const std::int64_t most = rows / std::max(kShortest, kTimesWarmUp * warmup);
  if (most < 2 && least < 2) {
    why = "its " + counted(rows, "frame") + (rows == 1 ? " is too few" : " are too few") +
          (warmup > 0 ? ", since each slice also reads " + counted(warmup, "frame") +
                            " for warm-up and windows"
                      : std::string());
    return 1;
  }
  if (most_frames < kShortest) {
    why = "memory only allows slices of " + counted(longest, "frame") + " with their pixels";
    return 1;
  }
  if (most_frames < 2 * warmup) {
    why = std::to_string(warmup) + " frames for warm-up and windows are too many for slices of " +
          std::to_string(longest) + " frames, the most that memory allows";
    return 1;
  }
  const auto all = static_cast<std::int64_t>(wanted);
  std::int64_t parts = std::max(least, std::min(all, most));
  // A multiple of the slices that run at once; otherwise the last ones leave cores idle.
  if (const std::int64_t over = parts % std::max<std::int64_t>(all / 2, 1); parts > over)
    parts = parts - over >= least ? parts - over : parts - over + all / 2;
  return static_cast<std::size_t>(parts);
}

std::size_t frame_bytes(const SourceInfo& info, const CompiledPlan& compiled_plan) noexcept {
  const cv::Size unknown(1920, 1080);
  const auto pixels = [](const cv::Size& size) {
    return static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
  };
  const std::size_t of_frame = pixels(info.size.area() > 0 ? info.size : unknown);
  std::size_t bytes = of_frame * 3;
  for (const CompiledStep& step : compiled_plan)
    for (const PictureDescription& picture : step.slot->capsule->info().gives_pictures)
      bytes += CV_ELEM_SIZE(picture.type) *
               (picture.size == PictureSize::fixed ? pixels(picture.fixed_size) : of_frame);
  return bytes;
}

bool asks_for_slices(const StreamConfig& config) noexcept {
  return config.slices != 1 || (config.select && !config.select->is_all()) ||
         !config.groups.empty();
}

std::variant<SlicedStream::Plan, std::string> plan_slices(
    const StreamConfig& config, std::shared_ptr<const RandomAccess> access,
    const CompiledPlan& compiled_plan, std::size_t cores) {
  if (!config.groups.empty() && (config.select || config.slices != 1))
    refuse(config, "groups cannot be combined with slices or a selection; leave out one of them");
  if (std::string why = obstacle(config); !why.empty()) {
    if (is_automatic(config)) return why;
    refuse(config,
           "it cannot be run in slices, selections or groups: " + why + "; leave these out");
  }
  SlicedStream::Plan plan{.access = std::move(access)};
  const bool needs_access = config.slices > 1 || !config.groups.empty();
  if (!plan.access && (needs_access || is_automatic(config))) {
    std::string why = "the positions of the frames in " + config.source->info().description +
                      " are not known without decoding all of them, or they come in a loop";
    if (is_automatic(config)) return why;
    refuse(config, why + "; leave out " + (config.groups.empty() ? "slices" : "groups"));
  }
  plan.frames = plan.access ? plan.access->frames() : kEndlessRows;
  plan.ends_with_source = !config.max_frames || *config.max_frames >= plan.frames;
  if (config.max_frames) plan.frames = std::min(plan.frames, *config.max_frames);
  plan.nulls.any = config.source->info().has_nulls;
  if (plan.access)
    plan.nulls.is_null = [access = plan.access](std::int64_t row) { return access->is_null(row); };
  plan.keeps_pixels = config.pull || std::ranges::any_of(config.sinks, [](const auto& sink) {
                        return sink->needs_pixels() || !sink->pictures().empty();
                      });
  plan.records_kept = records_kept(config, compiled_plan, plan.keeps_pixels, cores);

  const SliceNeeds needs(compiled_plan);
  if (!config.groups.empty()) {
    plan.slices = groups_of(config, needs, plan.frames);
    plan.at_once = std::min(cores, plan.slices.size());
    return plan;
  }
  if (needs.unbounded() && config.slices > 1)
    refuse(config, "it cannot be cut into slices, since the state of capsule " +
                       *needs.unbounded() + " is unbounded; leave out slices");
  const Rows wanted = wanted_rows(config, plan.frames);
  std::size_t parts = config.slices;
  std::string why;
  if (parts == 0 && needs.unbounded())
    why = "the state of capsule " + *needs.unbounded() + " is unbounded";
  if (parts == 0 && cores < 2) why = "this machine has one core";
  // Two for each core, so that no core waits long for the last slice.
  if (parts == 0)
    parts = why.empty() && plan.access
                ? best_parts(needs, wanted.count(), 2 * cores, plan.records_kept, why)
                : 1;
  if (parts == 1 && is_automatic(config)) return why;
  SeekPoint seek_point;
  if (plan.access)
    seek_point = [&access = *plan.access](std::int64_t row) { return access.seek_point(row); };
  plan.slices = slices_of(needs, cut(wanted, parts, seek_point, needs.lead()), plan);
  plan.at_once = std::max<std::size_t>(std::min(cores, plan.slices.size()), 1);
  return plan;
}

}  // namespace vcap
