// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "vcap/base/export.hpp"
#include "vcap/capsule/base_capsule.hpp"
#include "vcap/capsule/capsule_files.hpp"
#include "vcap/capsule/capsule_info.hpp"
#include "vcap/model/detection_nodes.hpp"
#include "vcap/model/frame.hpp"
#include "vcap/model/option_values.hpp"

namespace vcap {

/// A capsule in the host's hands: description, backends and stream states.
///
/// load_capsule() makes it from a file; a host may also make it from a class of its own. Owns the
/// author's BaseCapsule, one backend for each device that the mapper chose, and every stream's
/// state. Thread safety: thread-safe, close() excepted: it comes after the last call.
class VCAP_EXPORT Capsule {
 public:
  struct Setup {
    CapsuleFiles files{};
    nlohmann::json config = nlohmann::json::object();  ///< handed to BaseCapsule::config()
    std::vector<std::string> devices{};                ///< names to choose from; empty: discovered
    bool inference_mode = true;                        ///< false: no backend is loaded
  };

  /// Checks the info, maps devices and loads the backends, in parallel. Throws
  /// InvalidCapsuleError, DeviceError, or CapsuleLoadError (backend_load_failed) naming the
  /// device; backends already loaded are closed first.
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

  /// Runs one frame on the least busy backend. `nodes` must be of the input type's size; empty
  /// `options` stand for the defaults. Frames of one stream reach a stateful capsule one at a
  /// time, in the order of the calls; their state is made anew at a frame with a discontinuity.
  /// Throws what the backend throws; TypeMismatch where sizes differ from the declared ones;
  /// OptionError where options are another capsule's; CapsuleLoadError (no_backend) without
  /// inference_mode; BatchError (closed).
  DetectionNodes process_frame(const Frame& frame, DetectionNodes nodes = {},
                               const OptionValues& options = {}, std::string_view stream_id = {});

  /// Sets what a stream's state will be made from. Without, id alone, and a seed that is the
  /// same in every run. Call before the stream's first frame.
  void open_stream(StreamInfo info);
  /// Drops the stream's state; a later frame starts afresh.
  void clean_up(std::string_view stream_id);
  std::size_t stream_count() const;

  /// The distance of one encoding to others, by the author's measure; the first backend answers.
  std::vector<float> distances(std::span<const float> encoding,
                               std::span<const std::vector<float>> others) const;

  /// What waits or runs in all backends.
  double workload() const noexcept;

  /// Answers what was accepted, closes every backend, drops all states. Twice is once. [control]
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
