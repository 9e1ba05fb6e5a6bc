// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "vcap/base/export.hpp"
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
/// process_frame for many frames, then drain, then close, then destroys it. Thread safety:
/// process_frame, workload and batch_statistics are thread-safe, the rest is called once, by one
/// thread.
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

  /// Finds, changes or adds nodes. `nodes` is of the input type's size and holds what it
  /// describes; what is returned is of the output type's size and replaces it. Never writes into
  /// the frame's pixels. What it throws becomes this frame's error. [frame worker, concurrent]
  virtual DetectionNodes process_frame(const Frame& frame, DetectionNodes nodes,
                                       const OptionValues& options, BaseStreamState& state) = 0;

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
