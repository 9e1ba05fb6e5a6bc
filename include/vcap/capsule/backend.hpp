// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/batching/batch_sizes.hpp"
#include "vcap/batching/batch_statistics.hpp"
#include "vcap/capsule/capsule_files.hpp"
#include "vcap/capsule/stream_state.hpp"
#include "vcap/model/detection_nodes.hpp"
#include "vcap/model/frame.hpp"
#include "vcap/model/option_values.hpp"

namespace vcap {

/// What Backend::process_window gets for one frame. Borrows; thread safety: value.
struct FrameWindow {
  std::span<const Frame> frames{};    ///< at the offsets of the stencil, in their order
  std::span<DetectionNodes> nodes{};  ///< of these frames; may be moved from
};

/// One loaded instance of a capsule's algorithm, on one device.
///
/// Authors derive from BaseBackend, or from this class if they never batch.
/// BaseCapsule::load_backend makes it; the Capsule owns it. The Capsule calls setup_with_resources,
/// then process_frame for many frames (process_window if it has a stencil), then drain, then close,
/// then destroys it. Thread safety: process_frame, process_window, workload and batch_statistics
/// are thread-safe; the rest is called once, by one thread.
class VCAP_EXPORT Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend();

  /// Prepares the backend with the files that BaseCapsule::fetch_resources fetched; `files`
  /// outlives this backend. If it throws, the load fails; close() is called then too. Does nothing
  /// by default. [loader, concurrent with other backends']
  virtual void setup_with_resources(const CapsuleFiles& files);

  /// Called before everything else if the capsule declares CapsuleInfo::batch. BaseBackend then
  /// makes batches of these sizes, in place of its policy's. [loader]
  virtual void set_batch_sizes(const BatchSizes& sizes);

  /// Finds, changes or adds nodes, and gives pictures. `nodes` is of the input type's size and fits
  /// its description; the result is of the output type's size and replaces it. The frame has the
  /// pictures that CapsuleInfo::takes_pictures lists; the result must have each that gives_pictures
  /// lists (DetectionNodes::give_picture). Never writes into the frame's pixels or pictures.
  /// `state` is the stream's state (state_of), or the parameters of the stream for a capsule that
  /// declares CapsuleInfo::stream_parameters (parameters_of). If it throws, this frame gets the
  /// error. [frame worker, concurrent]
  virtual DetectionNodes process_frame(const Frame& frame, DetectionNodes nodes,
                                       const OptionValues& options, BaseStreamState& state);

  /// Processes consecutive frames in one call: 2 to BatchSizes::maximum frames of a stored stream,
  /// in its order, that arrived while the backends were busy. Called only if the capsule declares
  /// CapsuleInfo::batch, has no state and does not take single nodes; `state` has only the stream's
  /// parameters. Gives one result for each frame. `nullopt`, the default, means that the backend
  /// does not support this; process_frame is then called for each frame. The same happens if this
  /// throws, so that only the faulty frame fails. [frame worker, concurrent]
  virtual std::optional<std::vector<DetectionNodes>> process_frames(std::span<const Frame> frames,
                                                                    std::span<DetectionNodes> nodes,
                                                                    const OptionValues& options,
                                                                    BaseStreamState& state);

  /// Replaces process_frame if the capsule declares CapsuleInfo::stencil. `frames` are the frames
  /// at its offsets, in their order; `nodes` are the nodes of these frames as the capsule got them.
  /// They are of the input type's size and may be moved from. If the capsule takes single nodes,
  /// only the present frame, at offset 0, has one. The result replaces the present frame's nodes.
  /// The pixels are shared, not copied. Each frame has its own pictures of those that the capsule
  /// takes; only the present one is sure to have all. [frame worker, concurrent]
  virtual DetectionNodes process_window(std::span<const Frame> frames,
                                        std::span<DetectionNodes> nodes,
                                        const OptionValues& options, BaseStreamState& state);

  /// Processes the windows of consecutive frames in one call, as process_frames does for frames,
  /// and by the same rules: called only if the capsule declares both a stencil and
  /// CapsuleInfo::batch. Gives one result for each window; `nullopt`, the default, means that the
  /// backend does not support this. [frame worker, concurrent]
  virtual std::optional<std::vector<DetectionNodes>> process_windows(
      std::span<const FrameWindow> windows, const OptionValues& options, BaseStreamState& state);

  /// The distance of `encoding` to each of `others`, in the unit of the capsule's
  /// recognition_threshold. Encoders override it; the default throws InvalidArgument. [any thread,
  /// concurrent]
  virtual std::vector<float> distances(std::span<const float> encoding,
                                       std::span<const std::vector<float>> others) const;

  /// How much is waiting or running here; the least busy backend gets the next frame. [any thread,
  /// concurrent]
  virtual double workload() const noexcept;

  /// The statistics of its batches so far; `nullopt` if it has no batches. BaseBackend implements
  /// it. Never blocks. [any thread, concurrent]
  virtual std::optional<BatchStatistics> batch_statistics() const;

  /// Answers every accepted request and accepts no more; BaseBackend implements it. [control]
  virtual void drain();
  /// Frees what the author holds; no call follows. Must not throw. [control]
  virtual void close() noexcept;
};

}  // namespace vcap
