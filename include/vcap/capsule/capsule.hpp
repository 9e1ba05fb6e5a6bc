// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
#include "vcap/capsule/output_policy.hpp"
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
    /// Replaces CapsuleInfo::stencil, also in info(); only for a capsule that has one.
    std::optional<Stencil> stencil{};
    bool inference_mode = true;  ///< false: no backend is loaded
    OutputPolicy outputs{};      ///< how what it gives is checked
  };

  /// Checks the info, maps devices, lets the author fetch resources, then loads and sets up the
  /// backends in parallel. Throws InvalidCapsuleError, DeviceError, or InvalidArgument (no author,
  /// an output policy with a bound of 0, a stencil for a capsule without one or that is not
  /// allowed; invalid_config if the config does not fit CapsuleInfo::config_schema). Throws
  /// CapsuleLoadError: capsule_threw if the mapper or fetch_resources fails, or
  /// backend_load_failed, which names the device. In the last case it first closes the backends
  /// already loaded.
  Capsule(CapsuleInfo info, std::unique_ptr<BaseCapsule> author, Setup setup);
  /// Closes if close() was not called.
  ~Capsule();
  Capsule(const Capsule&) = delete;
  Capsule& operator=(const Capsule&) = delete;

  const CapsuleInfo& info() const& noexcept;   ///< functions of a copy work while this lives
  const CapsuleInfo& info() const&& = delete;  // would refer into a temporary
  const std::string& name() const& noexcept { return info().name; }
  const std::string& name() const&& = delete;
  /// How its output is checked. A pipeline may replace it (Pipeline::Settings::outputs).
  const OutputPolicy& output_policy() const& noexcept;
  const OutputPolicy& output_policy() const&& = delete;
  /// What the capsule adds to nodes: output_type.difference(input_type).
  NodeDescription capability() const;
  /// A value for each option, at its default.
  OptionValues default_options() const;
  /// The devices that have a backend, in the mapper's order.
  std::vector<std::string> devices() const;
  /// If CapsuleInfo::device_set is given, the devices of its kinds that did not fill a set; else
  /// empty.
  std::vector<std::string> unused_devices() const;

  /// Runs one frame on the least busy backend. `nodes` must be of the input type's size; pictures
  /// with them are ignored: those that the capsule takes are in Frame::pictures. Empty
  /// `options` mean the defaults. Frames of one stream reach a stateful capsule one at a time, in
  /// the order of the calls. A new state is made at a frame with a discontinuity, once for all
  /// calls of the same index. CapsuleInfo::keeps_state_at lists exceptions. If the capsule has a
  /// stencil, the window is that of a stream with only this frame.
  ///
  /// Throws what the backend throws, and:
  /// - TypeMismatch if sizes differ; InvalidArgument (invalid_node) for more than 64 levels of
  /// nodes;
  /// - Error (invalid_output) if the nodes that it gave are not as its output type declares, or are
  ///   more than its OutputPolicy allows; they are discarded;
  /// - InvalidArgument for a null frame, and for a picture that is empty or not 8-bit BGR
  ///   (CV_8UC3), with what it is and what converts it; the same holds for every frame that is
  ///   given to process_frames, and to process_window except null ones;
  /// - InvalidArgument if the capsule is stateful and `stream` is empty;
  /// - InvalidArgument for a frame that lacks a picture of CapsuleInfo::takes_pictures;
  /// - InvalidArgument for a frame whose picture has another type or size than declared there;
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

  /// Like process_frames, but for the windows of consecutive frames of a capsule with a stencil.
  /// `frames` are the present frames. `nullopt` if the backend lacks Backend::process_windows.
  /// Throws InvalidArgument as process_frames and process_window do.
  std::optional<std::vector<DetectionNodes>> process_windows(std::span<const Frame> frames,
                                                             std::span<const FrameWindow> windows,
                                                             const OptionValues& options = {},
                                                             StreamRef stream = {});

  /// Sets what a stream's state, or its parameters, are made from. Without it, they get only the
  /// id, and a seed that is the same in every run. The seed of a later state comes from this seed
  /// and the frame's index, unless the state is bounded. Throws InvalidArgument if the stream is
  /// open or has had a frame since it was last cleaned up. Throws InvalidArgument (invalid_config)
  /// if the config does not fit CapsuleInfo::stream_config_schema; the config gets this schema's
  /// defaults. For a capsule without states and parameters it only checks that the config is empty,
  /// and gives null.
  StreamHandle open_stream(StreamInfo info);
  /// Opens the stream once more, next to others with that id. Only its handle finds this opening;
  /// it ends with the handle. For parts of one stream that run in parallel. Null for a capsule
  /// without states and parameters.
  StreamHandle open_apart(StreamInfo info);
  /// Forgets the stream. Calls in progress finish with their current state; a later frame gets a
  /// new one.
  void clean_up(std::string_view stream_id);
  /// The result of BaseStreamState::save for the stream's state; null if there is no state, or if
  /// another call is using it. Throws what save() throws, and Error (invalid_output) if the result
  /// has more than 64 levels of lists and objects.
  nlohmann::json save_state(std::string_view stream_id) const;
  /// Calls `read` with the stream's state, between two of its frames: waits for the frame in
  /// progress. Further frames and close() wait for `read`, which must not call this capsule. Gives
  /// false, without a call, if the stream has no state (yet), or the capsule is closed. For a host
  /// that knows the author's type (state_of); save_state() gives the state's own JSON to all
  /// others. Throws what `read` throws, and InvalidArgument if `stream` is a handle that this
  /// capsule cannot use.
  bool get_state(StreamRef stream, const std::function<void(const BaseStreamState&)>& read) const;
  /// How many streams are open or have had a frame; 0 for a capsule without states and parameters.
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
