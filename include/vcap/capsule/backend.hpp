// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/batching/batch_policy.hpp"
#include "vcap/batching/batch_statistics.hpp"
#include "vcap/capsule/capsule_files.hpp"
#include "vcap/capsule/stream_state.hpp"
#include "vcap/model/detection_nodes.hpp"
#include "vcap/model/frame.hpp"
#include "vcap/model/option_values.hpp"

namespace vcap {

/// One loaded instance of a capsule's algorithm, on one device.
///
/// Authors derive from BaseBackend, or from this where they never batch. Made by
/// BaseCapsule::load_backend, owned by the Capsule, which calls setup_with_resources, then
/// process_frame for many frames (process_window where it has a stencil), then drain, then close,
/// then destroys it. Thread safety: these, workload and batch_statistics are thread-safe, the rest
/// is called once, by one thread.
class VCAP_EXPORT Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend();

  /// Makes ready with what BaseCapsule::fetch_resources fetched; `files` outlives this backend.
  /// What it throws fails the load; close is called then too. Does nothing by default.
  /// [loader, concurrent with other backends']
  virtual void setup_with_resources(const CapsuleFiles& files);

  /// Told before all else where the capsule declares CapsuleInfo::batch; BaseBackend then has
  /// batches of these sizes, in place of those of its policy. [loader]
  virtual void set_batch_sizes(const BatchSizes& sizes);

  /// Finds, changes or adds nodes. `nodes` is of the input type's size and holds what it
  /// describes; what is returned is of the output type's size and replaces it. Never writes into
  /// the frame's pixels. What it throws becomes this frame's error. [frame worker, concurrent]
  virtual DetectionNodes process_frame(const Frame& frame, DetectionNodes nodes,
                                       const OptionValues& options, BaseStreamState& state);

  /// The same for consecutive frames at once, where the capsule declares CapsuleInfo::batch, keeps
  /// no state and does not take single nodes: two and up to BatchSizes::maximum of a stored stream,
  /// in its order, such as have come while the backends were busy. Gives one result for each.
  /// Nothing, as by default, where frames are not taken together; process_frame is then called for
  /// each, as it is where this throws, so that only the frame at fault fails.
  /// [frame worker, concurrent]
  virtual std::optional<std::vector<DetectionNodes>> process_frames(std::span<const Frame> frames,
                                                                    std::span<DetectionNodes> nodes,
                                                                    const OptionValues& options);

  /// In place of process_frame where the capsule declares CapsuleInfo::stencil: `frames` are those
  /// at its offsets, in their order, and `nodes` theirs, as they were when they came here: of the
  /// input type's size, and to be moved from at will. Where the capsule takes single nodes, only
  /// the present frame, at offset 0, has one. What is returned replaces the present frame's. The
  /// pixels are shared, not copied. [frame worker, concurrent]
  virtual DetectionNodes process_window(std::span<const Frame> frames,
                                        std::span<DetectionNodes> nodes,
                                        const OptionValues& options, BaseStreamState& state);

  /// The distance of `encoding` to each of `others`, in the unit of the capsule's
  /// recognition_threshold. Encoders override it; without, it throws InvalidArgument.
  /// [any thread, concurrent]
  virtual std::vector<float> distances(std::span<const float> encoding,
                                       std::span<const std::vector<float>> others) const;

  /// How much is waiting or running here; the least busy backend gets the next frame.
  /// [any thread, concurrent]
  virtual double workload() const noexcept;

  /// What its batches have come to so far; nothing where it has none. BaseBackend tells them.
  /// Never blocks. [any thread, concurrent]
  virtual std::optional<BatchStatistics> batch_statistics() const;

  /// Answers every accepted request and takes no more; BaseBackend does it. [control]
  virtual void drain();
  /// Frees what the author holds; no call follows. Must not throw. [control]
  virtual void close() noexcept;
};

}  // namespace vcap
