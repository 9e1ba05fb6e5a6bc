// SPDX-License-Identifier: Apache-2.0
#include "cluster/simulated_site/simulated_camera.hpp"

#include <utility>

#include "support/tracked_line.hpp"

namespace vcap::simulated {
namespace {

using std::chrono::nanoseconds;

constexpr const char* kCapsule = "tracker";
/// Stand for the index and the time in a line, and are found in it again.
constexpr std::int64_t kIndex = 7'777'777;
constexpr std::int64_t kTime = 8'888'888'888'888;

}  // namespace

SimulatedCamera::SimulatedCamera(const std::string& id, const Settings& settings)
    : settings_(settings) {
  const std::string line =
      test::tracked_line({.stream_id = id,
                          .frame = {.index = kIndex, .pts = nanoseconds(kTime)},
                          .resolution = {1'920, 1'080}},
                         settings.objects);
  const std::string index = std::to_string(kIndex);
  const std::string time = std::to_string(kTime);
  const std::size_t index_at = line.find(index);
  const std::size_t time_at = line.find(time);
  before_index_ = line.substr(0, index_at);
  before_time_ = line.substr(index_at + index.size(), time_at - index_at - index.size());
  after_time_ = line.substr(time_at + time.size());
}

std::map<std::string, bool> SimulatedCamera::states() const {
  if (settings_.state_bytes == 0) return {};
  return {{kCapsule, true}};
}

void SimulatedCamera::run(const EpochBegin& begin, std::map<std::string, SavedState>, Host& host) {
  const nanoseconds interval(static_cast<std::int64_t>(1e9 / settings_.frames));
  // The first frame begins a message, which has all frames within its time.
  const std::int64_t at_once = 1 + settings_.batch_time / interval;
  std::int64_t index = begin.frame_index;
  nanoseconds pts = begin.pts;
  auto next = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  while (!ended_) {
    lock.unlock();
    for (std::int64_t i = 0; i < at_once; ++i, ++index, pts += interval) {
      host.add(before_index_ + std::to_string(index) + before_time_ + std::to_string(pts.count()) +
                   after_time_,
               index, pts);
      host.pause(index);
    }
    lock.lock();
    next += at_once * interval;
    ending_.wait_until(lock, next, [this] { return ended_; });
  }
  lock.unlock();
  host.finish();
}

void SimulatedCamera::end() noexcept {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  ending_.notify_all();
}

std::optional<std::map<std::string, SavedState>> SimulatedCamera::save() const {
  if (settings_.state_bytes == 0) return {{}};
  return {{{kCapsule, {.state = std::string(settings_.state_bytes, 'x'), .version = 1}}}};
}

}  // namespace vcap::simulated
