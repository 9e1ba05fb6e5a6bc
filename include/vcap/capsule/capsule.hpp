// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"
#include "vcap/base/histogram.hpp"
#include "vcap/base/json_value.hpp"
#include "vcap/batching/batch_statistics.hpp"
#include "vcap/capsule/base_capsule.hpp"
#include "vcap/capsule/capsule_files.hpp"
#include "vcap/capsule/capsule_info.hpp"
#include "vcap/capsule/stream_ref.hpp"
#include "vcap/model/detection_nodes.hpp"
#include "vcap/model/frame.hpp"
#include "vcap/model/option_values.hpp"

namespace vcap {

/// The state and the counts of one backend of a capsule. Thread safety: value.
struct BackendStatistics {
  std::string device;
  std::size_t running = 0;      ///< calls that process frames, in progress
  std::uint64_t calls = 0;      ///< calls begun so far
  std::uint64_t failures = 0;   ///< calls that threw
  double calls_per_second = 0;  ///< finished calls, over the last ten seconds
  Histogram call_ns;            ///< duration of finished calls, including waits for batches
  double workload = 0;          ///< the value of Backend::workload
  std::optional<BatchStatistics> batches;  ///< absent if the backend does not batch
};

/// A loaded capsule: its description, backends and stream states.
///
/// load_capsule() makes it from a file; a host may also make it from a class of its own. Owns the
/// author's BaseCapsule, one backend for each device that the mapper chose, and the state of every
/// stream. Thread safety: thread-safe, except for the destructor.
class VCAP_EXPORT Capsule {
 public:
  /// What the host decides when it loads a capsule.
  struct Setup {
    CapsuleFiles files{};
    /// For BaseCapsule::config(), which also has the schema's defaults.
    JsonValue config = JsonValue::object();
    std::vector<std::string> devices{};  ///< names to choose from; empty: discovered
    std::optional<BatchSizes> batch{};   ///< replaces CapsuleInfo::batch, also in info()
    bool inference_mode = true;          ///< false: no backend is loaded
  };

  /// Checks the info, maps devices, lets the author fetch resources, then loads and sets up the
  /// backends in parallel. Throws InvalidCapsuleError, DeviceError, or InvalidArgument (no author;
  /// invalid_config if the config does not fit CapsuleInfo::config_schema). Throws
  /// CapsuleLoadError: capsule_threw if the mapper or fetch_resources fails, or
  /// backend_load_failed, which names the device. In the last case it first closes the backends
  /// already loaded.
  Capsule(CapsuleInfo info, std::unique_ptr<BaseCapsule> author, Setup setup);
  /// Closes if close() was not called.
  ~Capsule();
  Capsule(const Capsule&) = delete;
  Capsule& operator=(const Capsule&) = delete;

  const CapsuleInfo& info() const noexcept;
  const std::string& name() const noexcept { return info().name; }
  /// What the capsule adds to nodes: output_type.difference(input_type).
  NodeDescription capability() const;
  /// A value for each option, at its default.
  OptionValues default_options() const;
  /// The devices that have a backend, in the mapper's order.
  std::vector<std::string> devices() const;
  /// If CapsuleInfo::device_set is given, the devices of its kind that did not fill a set; else
  /// empty.
  std::vector<std::string> unused_devices() const;

  /// Runs one frame on the least busy backend. `nodes` must be of the input type's size; empty
  /// `options` mean the defaults. Frames of one stream reach a stateful capsule one at a time, in
  /// the order of the calls. A new state is made at a frame with a discontinuity, once for all
  /// calls of the same index. CapsuleInfo::keeps_state_at lists exceptions. If the capsule has a
  /// stencil, the window is that of a stream with only this frame.
  ///
  /// Throws what the backend throws, and:
  /// - TypeMismatch if sizes differ from the declared ones;
  /// - InvalidArgument for a null frame;
  /// - InvalidArgument (invalid_config) if the stream was not opened and an empty config does not
  ///   fit;
  /// - OptionError if the options are those of another capsule;
  /// - Error (capsule_threw) if no state can be made;
  /// - Error (stencil_edge) if the stencil's edge mode is `error` and the window needs another
  ///   frame;
  /// - CapsuleLoadError (no_backend) without inference_mode;
  /// - BatchError (closed) after close().
  ///
  /// `stream`: its id, or one opening of it, made by this capsule. An opening still works if the
  /// stream was cleaned up meanwhile, and does not affect a newer stream with the same id.
  DetectionNodes process_frame(const Frame& frame, DetectionNodes nodes = {},
                               const OptionValues& options = {}, StreamRef stream = {});
  /// Like process_frame, but for a window of a capsule with a stencil. `window` holds the frames at
  /// its offsets, in their order; a null frame stands for a missing one. `nodes` holds their nodes,
  /// each of the input type's size (Backend::process_window). Throws InvalidArgument if there is no
  /// stencil, or if the number of frames or nodes is not that of its offsets.
  DetectionNodes process_window(const Frame& frame, std::span<const Frame> window,
                                std::span<DetectionNodes> nodes, const OptionValues& options = {},
                                StreamRef stream = {});
  /// Like process_frame, but for consecutive frames of one stream at once, of a stateless capsule:
  /// one result for each. `nullopt` if the backend lacks Backend::process_frames. Throws
  /// InvalidArgument if the capsule is stateful, if there are no frames, or if the numbers of
  /// frames and nodes differ.
  std::optional<std::vector<DetectionNodes>> process_frames(std::span<const Frame> frames,
                                                            std::span<DetectionNodes> nodes,
                                                            const OptionValues& options = {},
                                                            StreamRef stream = {});

  /// Sets what a stream's state is made from. Without it, the state gets only the id, and a seed
  /// that is the same in every run. The seed of a later state comes from this seed and the frame's
  /// index, unless the state is bounded. Throws InvalidArgument if the stream is open or has had a
  /// frame since it was last cleaned up. Throws InvalidArgument (invalid_config) if the config does
  /// not fit CapsuleInfo::stream_config_schema; the config gets this schema's defaults. For a
  /// stateless capsule it only checks that the config is empty, and gives null.
  StreamHandle open_stream(StreamInfo info);
  /// Opens the stream once more, next to others with that id. Only its handle finds this opening;
  /// it ends with the handle. For parts of one stream that run in parallel. Null for a stateless
  /// capsule.
  StreamHandle open_apart(StreamInfo info);
  /// Forgets the stream. Calls in progress finish with their current state; a later frame gets a
  /// new one.
  void clean_up(std::string_view stream_id);
  /// The result of BaseStreamState::save for the stream's state; null if there is no state, or if
  /// another call is using it. Throws what save() throws.
  nlohmann::json save_state(std::string_view stream_id) const;
  /// How many streams are open or have had a frame; 0 for a stateless capsule.
  std::size_t stream_count() const;

  /// The distance of one encoding to each of the others, by the author's measure; the first backend
  /// computes it. Throws InvalidArgument if the output is not encoded, and TypeMismatch if the
  /// backend gives a wrong number of distances. Also throws what the backend throws, and like
  /// process_frame if there is no backend.
  std::vector<float> distances(std::span<const float> encoding,
                               std::span<const std::vector<float>> others) const;

  /// The sum of what waits or runs in all backends.
  double workload() const noexcept;
  /// The statistics of each backend, in the order of devices().
  std::vector<BackendStatistics> backends() const;

  /// Waits for calls in progress, answers accepted requests, closes every backend, and drops all
  /// states. Later calls throw BatchError (closed). Idempotent. [control]
  void close();

 private:
  struct VCAP_LOCAL Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
