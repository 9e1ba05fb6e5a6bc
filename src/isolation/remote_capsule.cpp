// SPDX-License-Identifier: Apache-2.0
#include "isolation/remote_capsule.hpp"

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/thread_annotations.hpp"
#include "isolation/remote_calls.hpp"
#include "loading/resources/resource_scope.hpp"
#include "vcap/base/error.hpp"
#include "vcap/capsule/device_mapper.hpp"
#include "vcap/capsule/stream_parameters.hpp"

namespace vcap {
namespace {

using Calls = std::shared_ptr<const RemoteCalls>;

/// The other side's number of an object, which goes when this does. Thread-safe.
class RemoteObject {
 public:
  /// `dropping`: what drop does, for the log.
  RemoteObject(Calls calls, WireId number, CapsuleCall drop, std::string_view dropping)
      : calls_(std::move(calls)), number_(number), drop_(drop), dropping_(dropping) {}
  RemoteObject(const RemoteObject&) = delete;
  RemoteObject& operator=(const RemoteObject&) = delete;
  ~RemoteObject() { calls_->end(drop_, dropping_, number_); }

  const RemoteCalls& calls() const noexcept { return *calls_; }
  WireId number() const noexcept { return number_; }

 private:
  const Calls calls_;
  const WireId number_;
  const CapsuleCall drop_;
  const std::string_view dropping_;  ///< a literal
};

class RemoteState final : public BaseStreamState {
 public:
  RemoteState(Calls calls, WireId number)
      : object_(std::move(calls), number, CapsuleCall::drop_state, "dropping a stream's state") {}

  nlohmann::json save() const override {
    return object_.calls().call<nlohmann::json>(CapsuleCall::save_state, number());
  }
  WireId number() const noexcept { return object_.number(); }

 private:
  const RemoteObject object_;
};

class RemoteParameters final : public BaseStreamParameters {
 public:
  RemoteParameters(Calls calls, WireId number)
      : object_(std::move(calls), number, CapsuleCall::drop_state,
                "dropping a stream's parameters") {}
  WireId number() const noexcept { return object_.number(); }

 private:
  const RemoteObject object_;
};

/// 0 for what a capsule without states and parameters gets.
WireId number_of(const BaseStreamState& state) noexcept {
  if (const auto* const own = dynamic_cast<const RemoteState*>(&state)) return own->number();
  if (const auto* const own = dynamic_cast<const RemoteParameters*>(&state)) return own->number();
  return 0;
}

class RemoteBackend final : public Backend {
 public:
  RemoteBackend(Calls calls, WireId number)
      : object_(std::move(calls), number, CapsuleCall::drop_backend, "dropping a backend") {}

  void setup_with_resources(const CapsuleFiles&) override {
    call<void>(CapsuleCall::setup_with_resources);
  }
  void set_batch_sizes(const BatchSizes& sizes) override {
    call<void>(CapsuleCall::set_batch_sizes, sizes);
  }
  // NOLINTNEXTLINE(performance-unnecessary-value-param): the base class has it so
  DetectionNodes process_frame(const Frame& frame, DetectionNodes nodes,
                               const OptionValues& options, BaseStreamState& state) override {
    return call<DetectionNodes>(CapsuleCall::process_frame, number_of(state), options, frame,
                                nodes);
  }
  std::optional<std::vector<DetectionNodes>> process_frames(std::span<const Frame> frames,
                                                            std::span<DetectionNodes> nodes,
                                                            const OptionValues& options,
                                                            BaseStreamState& state) override {
    return call<std::optional<std::vector<DetectionNodes>>>(
        CapsuleCall::process_frames, number_of(state), options, frames, nodes);
  }
  DetectionNodes process_window(std::span<const Frame> frames, std::span<DetectionNodes> nodes,
                                const OptionValues& options, BaseStreamState& state) override {
    return call<DetectionNodes>(CapsuleCall::process_window, number_of(state), options, frames,
                                nodes);
  }
  std::optional<std::vector<DetectionNodes>> process_windows(std::span<const FrameWindow> windows,
                                                             const OptionValues& options,
                                                             BaseStreamState& state) override {
    return call<std::optional<std::vector<DetectionNodes>>>(CapsuleCall::process_windows,
                                                            number_of(state), options, windows);
  }
  std::vector<float> distances(std::span<const float> encoding,
                               std::span<const std::vector<float>> others) const override {
    return call<std::vector<float>>(CapsuleCall::distances, encoding, others);
  }
  double workload() const noexcept override {
    try {
      const auto load = ask<double>(CapsuleCall::workload, std::chrono::milliseconds(20));
      if (load.is_answered) last_workload_ = load.value;
    } catch (...) {
      // The last known one is as good as any.
    }
    return last_workload_;
  }
  std::optional<BatchStatistics> batch_statistics() const override {
    const MutexLock lock(mutex_);  // held meanwhile, so that counts never decrease
    auto answer = ask<std::optional<BatchStatistics>>(CapsuleCall::batch_statistics,
                                                      std::chrono::milliseconds(200));
    if (answer.is_answered) last_statistics_ = std::move(answer.value);
    return last_statistics_;
  }
  void drain() override { call<void>(CapsuleCall::drain); }
  void close() noexcept override {
    object_.calls().end(CapsuleCall::close, "closing a backend", object_.number());
  }

 private:
  template <class Result, class... Arguments>
  Result call(CapsuleCall what, const Arguments&... arguments) const {
    return object_.calls().call<Result>(what, object_.number(), arguments...);
  }
  template <class Value>
  Asked<Value> ask(CapsuleCall what, std::chrono::milliseconds patience) const {
    return object_.calls().ask<Value>(what, patience, object_.number());
  }

  const RemoteObject object_;
  mutable std::atomic<double> last_workload_ = 0;
  mutable Mutex mutex_;
  mutable std::optional<BatchStatistics> last_statistics_ VCAP_GUARDED_BY(mutex_);
};

class RemoteAuthor final : public BaseCapsule {
 public:
  explicit RemoteAuthor(Calls calls) : calls_(std::move(calls)) {}
  ~RemoteAuthor() override { calls_->end(CapsuleCall::drop_author, "dropping its capsule"); }

  void fetch_resources(const CapsuleFiles& files) override {
    configure(files);
    calls_->call<void>(CapsuleCall::fetch_resources, ResourceScope::current());
  }
  std::unique_ptr<Backend> load_backend(const CapsuleFiles& files,
                                        const std::string& device) override {
    configure(files);
    const auto number =
        calls_->call<WireId>(CapsuleCall::load_backend, ResourceScope::current(), device);
    return number == 0 ? nullptr : std::make_unique<RemoteBackend>(calls_, number);
  }

 private:
  /// At the first call, because the Capsule sets config() and stencil() after the constructor.
  void configure(const CapsuleFiles& files) {
    std::call_once(configured_, [&] {
      calls_->give_files(files);
      calls_->call<void>(CapsuleCall::configure, config(), stencil());
    });
  }

  const Calls calls_;
  std::once_flag configured_{};
};

/// The calls, for a function of the description, which may be copied and outlive them.
Calls lock(const std::weak_ptr<const RemoteCalls>& calls, const std::string& capsule) {
  if (Calls locked = calls.lock()) return locked;
  throw BatchError(ErrorCode::closed, "capsule " + capsule + " is closed; load it again");
}

/// Replaces the functions of a description by calls of the code's own.
void call_functions_of(CapsuleInfo& info, const std::weak_ptr<const RemoteCalls>& calls) {
  info.device_mapper = DeviceMapper(
      info.device_mapper.name(),
      [calls, name = info.name](const std::vector<std::string>& devices) {
        return lock(calls, name)->call<std::vector<std::string>>(CapsuleCall::map_devices, devices);
      });
  if (info.stream_state)
    info.stream_state =
        [calls, name = info.name](const StreamInfo& stream) -> std::unique_ptr<RemoteState> {
      const Calls locked = lock(calls, name);
      const auto number = locked->call<WireId>(CapsuleCall::make_state, stream);
      return number == 0 ? nullptr : std::make_unique<RemoteState>(locked, number);
    };
  if (info.stream_parameters)
    info.stream_parameters =
        [calls, name = info.name](const StreamInfo& stream) -> std::unique_ptr<RemoteParameters> {
      const Calls locked = lock(calls, name);
      const auto number = locked->call<WireId>(CapsuleCall::make_parameters, stream);
      return number == 0 ? nullptr : std::make_unique<RemoteParameters>(locked, number);
    };
}

}  // namespace

CapsuleCode remote_capsule(CapsuleInfo info, const MakeLink& make_link) {
  const Calls calls = std::make_shared<const RemoteCalls>(info.name, make_link);
  call_functions_of(info, calls);
  return {.info = std::move(info), .author = std::make_unique<RemoteAuthor>(calls)};
}

}  // namespace vcap
