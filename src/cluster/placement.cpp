// SPDX-License-Identifier: Apache-2.0
#include "cluster/placement.hpp"

#include <algorithm>
#include <tuple>

namespace vcap {
namespace {

/// Moving a stream costs a gap in it, so small differences stay.
constexpr double kLeastDifference = 0.2;
/// Sums of loads have rounding errors.
constexpr double kEpsilon = 1e-9;

struct Place {
  const WorkerToFill* worker = nullptr;
  double load = 0;

  double filled_with(double more) const { return (load + more) / worker->capacity; }
  bool has_room_for(double more) const { return load + more <= worker->capacity + kEpsilon; }
};

bool is_fit(const WorkerToFill& worker, const StreamToPlace& stream) {
  return !worker.is_draining && worker.capacity > 0 && !worker.unfit.contains(stream.id) &&
         std::ranges::includes(worker.labels, stream.labels);
}

Place* emptiest_for(const StreamToPlace& stream, std::map<std::string, Place>& places) {
  Place* best = nullptr;
  for (auto& [name, place] : places)
    if (is_fit(*place.worker, stream) && place.has_room_for(stream.load) &&
        (!best || place.filled_with(stream.load) + kEpsilon < best->filled_with(stream.load)))
      best = &place;
  return best;
}

std::string reason_of(const StreamToPlace& stream, const std::vector<WorkerToFill>& workers) {
  if (workers.empty()) return "there is no worker";
  const auto may_run = [&](const WorkerToFill& worker) {
    return std::ranges::includes(worker.labels, stream.labels);
  };
  if (std::ranges::none_of(workers, may_run)) return "no worker has its labels";
  if (std::ranges::none_of(workers, [&](const WorkerToFill& worker) {
        return may_run(worker) && !worker.unfit.contains(stream.id);
      }))
    return "no worker can run it";
  if (std::ranges::none_of(workers,
                           [&](const WorkerToFill& worker) { return is_fit(worker, stream); }))
    return "the workers that can run it are drained";
  return "no worker has room for it";
}

/// Moves one stream from the fullest worker to the emptiest, if that is worth it.
void move_one(const std::vector<const StreamToPlace*>& streams,
              std::map<std::string, Place>& places, Placement& placement) {
  Place* fullest = nullptr;
  for (auto& [name, place] : places)
    if (place.worker->capacity > 0 && (!fullest || place.filled_with(0) > fullest->filled_with(0)))
      fullest = &place;
  if (!fullest) return;
  const double before = fullest->filled_with(0);
  const StreamToPlace* moved = nullptr;
  Place* to = nullptr;
  double least = before;
  for (const StreamToPlace* const stream : streams) {
    if (stream->owner != fullest->worker->name) continue;
    for (auto& [name, place] : places) {
      if (&place == fullest || !is_fit(*place.worker, *stream) ||
          !place.has_room_for(stream->load) || place.filled_with(0) > before - kLeastDifference)
        continue;
      // How full the fuller one of the two is afterwards.
      const double after =
          std::max(place.filled_with(stream->load), fullest->filled_with(-stream->load));
      if (after + kEpsilon >= least) continue;
      least = after;
      moved = stream;
      to = &place;
    }
  }
  if (moved) placement.workers[moved->id] = to->worker->name;
}

}  // namespace

Placement place(const std::vector<StreamToPlace>& streams,
                const std::vector<WorkerToFill>& workers) {
  std::map<std::string, Place> places;
  for (const WorkerToFill& worker : workers) places[worker.name].worker = &worker;
  Placement placement;
  std::vector<const StreamToPlace*> kept;
  std::vector<const StreamToPlace*> others;
  for (const StreamToPlace& stream : streams) {
    const auto owner = places.find(stream.owner);
    if (owner != places.end() && is_fit(*owner->second.worker, stream)) {
      placement.workers.emplace_hint(placement.workers.end(), stream.id, stream.owner);
      kept.push_back(&stream);
    } else {
      others.push_back(&stream);
    }
    // Also what is to leave it takes its capacity until then.
    if (owner != places.end()) owner->second.load += stream.load;
  }
  std::ranges::sort(others, [](const StreamToPlace* a, const StreamToPlace* b) {
    return std::tuple(-a->load, a->id) < std::tuple(-b->load, b->id);
  });
  for (const StreamToPlace* const stream : others) {
    if (Place* const place = emptiest_for(*stream, places)) {
      place->load += stream->load;
      placement.workers[stream->id] = place->worker->name;
    } else {
      placement.reasons[stream->id] = reason_of(*stream, workers);
    }
  }
  if (others.empty()) move_one(kept, places, placement);
  return placement;
}

}  // namespace vcap
