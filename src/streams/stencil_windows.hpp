// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "streams/compiled_plan.hpp"
#include "streams/frame_history.hpp"
#include "vcap/model/detection_nodes.hpp"

namespace vcap {

struct FrameJob;
struct Route;
struct StepWindow;

/// For one version of a capsule with a stencil that takes nodes or pictures, in one order of the
/// plan: the nodes and pictures of the frames around a frame. Used by StencilWindows.
struct Arrivals {
  bool begun = false;
  FrameHistory::Bounds bounds{};  ///< the frames that reach this step
  /// The nodes of frames that have arrived, with their pictures, by ticket.
  std::map<std::uint64_t, std::shared_ptr<const DetectionNodes>> nodes{};
};

/// Gives frames their windows, for capsules with a stencil. A frame whose window lacks frames, or
/// nodes of frames, is parked until they arrive.
///
/// A passive machine: each event returns the frames whose windows it has completed. Thread safety:
/// thread-compatible.
class StencilWindows {
 public:
  using ReadyJobs = std::vector<std::unique_ptr<FrameJob>>;

  StencilWindows();
  ~StencilWindows();
  StencilWindows(const StencilWindows&) = delete;
  StencilWindows& operator=(const StencilWindows&) = delete;

  /// Extends the reach to the windows of that plan.
  void extend(const CompiledPlan& plan);
  /// Whether a capsule of the plans has a stencil. Without one, no other event needs to be
  /// reported.
  bool has_windows() const noexcept { return look_back_.has_value(); }
  /// The most frames that wait for later frames.
  std::size_t look_ahead() const noexcept { return look_ahead_; }

  /// A frame begins. `oldest`: the ticket of the oldest frame that is not delivered.
  ReadyJobs begin(const FrameJob& job, std::uint64_t oldest);
  /// No further frame will begin.
  ReadyJobs end();
  /// The nodes of a frame, as nodes_of() gave them, for the windows of its step.
  ReadyJobs hand_in(FrameJob& job, std::shared_ptr<const DetectionNodes> nodes);
  /// The frame, with its window if it needs one. Parks it and returns null if the window is not
  /// complete.
  std::unique_ptr<FrameJob> await(std::unique_ptr<FrameJob> job);
  /// Takes the frames that are kept for windows; no further frame will begin.
  FrameHistory forget() { return std::exchange(history_, {}); }

  /// All nodes of the frame that its step takes, with the pictures that it takes. Without nodes if
  /// they do not fit the input type; the frame's own record then has the error. Needs no lock.
  static std::shared_ptr<const DetectionNodes> nodes_of(FrameJob& job);

 private:
  ReadyJobs release_all();
  ReadyJobs release(std::optional<std::uint64_t> waiting_for);
  bool take_window(FrameJob& job) const;
  bool has_whole_window(FrameJob& job) const;
  StepWindow window_of(const FrameJob& job) const;

  std::size_t look_ahead_ = 0;
  std::optional<std::uint64_t> look_back_{};  ///< of the longest window; absent: no windows
  FrameHistory history_{};
  /// The route of the last frame that has begun, and what is needed of it. Does not keep it alive:
  /// the route may be the last to hold a capsule, which may not be destroyed under the stream's
  /// lock.
  std::weak_ptr<const Route> last_route_{};
  std::optional<std::size_t> last_run_{};  ///< absent: no frame has begun
  std::vector<std::shared_ptr<Arrivals>> last_arrivals_{};
  std::map<std::uint64_t, std::unique_ptr<FrameJob>> awaiting_;  ///< by ticket
};

}  // namespace vcap
