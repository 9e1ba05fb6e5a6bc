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

#include <nlohmann/json.hpp>

#include "vcap/base/export.hpp"
#include "vcap/base/histogram.hpp"
#include "vcap/batching/batch_statistics.hpp"
#include "vcap/capsule/base_capsule.hpp"
#include "vcap/capsule/capsule_files.hpp"
#include "vcap/capsule/capsule_info.hpp"
#include "vcap/capsule/stream_ref.hpp"
#include "vcap/model/detection_nodes.hpp"
#include "vcap/model/frame.hpp"
#include "vcap/model/option_values.hpp"

namespace vcap {

/// One backend of a capsule, and what it has come to. Thread safety: value.
struct BackendStatistics {
  std::string device{};
  std::size_t running = 0;      ///< calls of process_frame in progress
  std::uint64_t calls = 0;      ///< calls of process_frame begun so far
  std::uint64_t failures = 0;   ///< those that threw
  double calls_per_second = 0;  ///< that came back, over the last ten seconds
  Histogram call_ns{};          ///< of those that came back, waits for batches included
  double workload = 0;          ///< as Backend::workload tells it
  std::optional<BatchStatistics> batches{};  ///< absent for a backend that knows no batches
};

/// A capsule in the host's hands: description, backends and stream states.
///
/// load_capsule() makes it from a file; a host may also make it from a class of its own. Owns the
/// author's BaseCapsule, one backend for each device that the mapper chose, and every stream's
/// state. Thread safety: thread-safe, the destructor excepted.
class VCAP_EXPORT Capsule {
 public:
  struct Setup {
    CapsuleFiles files{};
    /// For BaseCapsule::config(), which has the schema's defaults besides.
    nlohmann::json config = nlohmann::json::object();
    std::vector<std::string> devices{};  ///< names to choose from; empty: discovered
    std::optional<BatchSizes> batch{};  ///< in place of CapsuleInfo::batch, which info() then tells
    bool inference_mode = true;         ///< false: no backend is loaded
  };

  /// Checks the info, maps devices, has the author fetch resources, then loads the backends and
  /// sets them up, in parallel. Throws InvalidCapsuleError, DeviceError, InvalidArgument (no
  /// author; invalid_config for a config that does not fit CapsuleInfo::config_schema), or
  /// CapsuleLoadError: capsule_threw for a mapper or a fetch_resources that fails,
  /// backend_load_failed naming the device; backends already loaded are closed first.
  Capsule(CapsuleInfo info, std::unique_ptr<BaseCapsule> author, Setup setup);
  /// Closes where close() was not called.
  ~Capsule();
  Capsule(const Capsule&) = delete;
  Capsule& operator=(const Capsule&) = delete;

  const CapsuleInfo& info() const noexcept;
  const std::string& name() const noexcept { return info().name; }
  /// What it adds to nodes: output_type.difference(input_type).
  NodeDescription capability() const;
  /// A value for each option, at its default.
  OptionValues default_options() const;
  /// The devices that have a backend, in the mapper's order.
  std::vector<std::string> devices() const;
  /// Where CapsuleInfo::device_set is given, the devices of its kind that fill no set; else none.
  std::vector<std::string> unused_devices() const;

  /// Runs one frame on the least busy backend. `nodes` must be of the input type's size; empty
  /// `options` stand for the defaults. Frames of one stream reach a stateful capsule one at a
  /// time, in the order of the calls; their state is made anew at a frame with a discontinuity,
  /// once for all calls of the same index. Throws what the backend throws; TypeMismatch where
  /// sizes differ from the declared ones; InvalidArgument (invalid_config) for a stream that was
  /// not opened where an empty config does not fit; OptionError where options are another
  /// capsule's; Error (capsule_threw) where no state can be made; CapsuleLoadError (no_backend)
  /// without inference_mode; BatchError (closed).
  /// Of a capsule with a stencil, the window is that of a stream of this one frame.
  ///
  /// `stream`: its id, or one opening of it, which must be of this capsule; that serves also where
  /// it was cleaned up meanwhile, and without disturbing one that has its id since.
  DetectionNodes process_frame(const Frame& frame, DetectionNodes nodes = {},
                               const OptionValues& options = {}, StreamRef stream = {});
  /// The same for a window, of a capsule with a stencil: `window` holds the frames at its offsets,
  /// in their order, null ones where there is none, and `nodes` theirs, each of the input type's
  /// size (Backend::process_window). Throws InvalidArgument where there is no stencil, or these
  /// are not as many as its offsets.
  DetectionNodes process_window(const Frame& frame, std::span<const Frame> window,
                                std::span<DetectionNodes> nodes, const OptionValues& options = {},
                                StreamRef stream = {});
  /// The same for consecutive frames of one stream at once, of a stateless capsule: one result for
  /// each. Nothing where its backend does not take them together (Backend::process_frames).
  std::optional<std::vector<DetectionNodes>> process_frames(std::span<const Frame> frames,
                                                            std::span<DetectionNodes> nodes,
                                                            const OptionValues& options = {},
                                                            StreamRef stream = {});

  /// Sets what a stream's state will be made from. Without, its id alone, and a seed that is the
  /// same in every run. Where the state is made anew, its seed is drawn from this one and the
  /// frame's index. Throws InvalidArgument where the stream is open, or has had a frame, since it
  /// was last cleaned up; invalid_config where the config does not fit
  /// CapsuleInfo::stream_config_schema, whose defaults it gets. Of no effect on a stateless
  /// capsule, which gives null and takes no config but an empty one.
  StreamHandle open_stream(StreamInfo info);
  /// One more opening, beside others of that id: found by its handle alone, and gone with it. For
  /// parts of one stream that run at once. Null as above.
  StreamHandle open_apart(StreamInfo info);
  /// Forgets the stream; calls in progress finish on the state that they have, and a later frame
  /// starts afresh.
  void clean_up(std::string_view stream_id);
  /// What the stream's state saves (BaseStreamState::save); null where there is none, or another
  /// call has it. Throws what save() throws.
  nlohmann::json save_state(std::string_view stream_id) const;
  /// How many streams are open or have had a frame; 0 for a stateless capsule.
  std::size_t stream_count() const;

  /// The distance of one encoding to others, by the author's measure; the first backend answers.
  /// Throws InvalidArgument where the output is not encoded; TypeMismatch where the backend gives
  /// another number of distances; what the backend throws; and as process_frame without backend.
  std::vector<float> distances(std::span<const float> encoding,
                               std::span<const std::vector<float>> others) const;

  /// What waits or runs in all backends.
  double workload() const noexcept;
  /// What each backend has done and is doing, in the order of devices().
  std::vector<BackendStatistics> backends() const;

  /// Waits for calls in progress, answers what was accepted, closes every backend, drops all
  /// states; calls that come later throw BatchError (closed). Twice is once. [control]
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
