// SPDX-License-Identifier: Apache-2.0
#include "isolation/capsule_server.hpp"

#include <cxxabi.h>

#include <atomic>
#include <exception>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/thread_annotations.hpp"
#include "batching/batch_observer.hpp"
#include "capsule/author_settings.hpp"
#include "capsule/current_capsule.hpp"
#include "capsule/host_guard.hpp"
#include "capsule/output_check.hpp"
#include "isolation/call_context.hpp"
#include "isolation/wire_exception.hpp"
#include "isolation/wire_values.hpp"
#include "loading/resources/resource_scope.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// An answer without an exception.
template <class... Results>
WireMessage answer_of(const Results&... results) {
  WireWriter answer;
  answer(false, results...);
  return std::move(answer).take();
}

WireMessage answer_of_exception(const std::exception_ptr& thrown) {
  WireWriter answer;
  answer(true);
  write_exception(answer, thrown);
  return std::move(answer).take();
}

/// The answer of nodes, which may have any number of levels.
WireMessage answer_and_discard(std::optional<std::vector<DetectionNodes>> results) {
  WireMessage answer = answer_of(results);
  if (results)
    for (DetectionNodes& nodes : *results) detail::discard(std::move(nodes));
  return answer;
}

/// Whether the call belongs to loading or closing, which may not change what is the host's.
bool is_guarded(CapsuleCall call) noexcept {
  switch (call) {
    case CapsuleCall::map_devices:
    case CapsuleCall::fetch_resources:
    case CapsuleCall::load_backend:
    case CapsuleCall::drop_author:
    case CapsuleCall::set_batch_sizes:
    case CapsuleCall::setup_with_resources:
    case CapsuleCall::drain:
    case CapsuleCall::close:
    case CapsuleCall::drop_backend:
      return true;
    default:
      return false;
  }
}

}  // namespace

/// The observers that calls of the host had. Thread-safe.
class CapsuleServer::Observers : public std::enable_shared_from_this<Observers> {
 public:
  explicit Observers(TakeNotice notify) : notify_(std::move(notify)) {}

  /// The one that sends what it sees to the host's observer of this number; null for 0.
  std::shared_ptr<detail::BatchObserver> get(WireId number);

 private:
  class One final : public detail::BatchObserver {
   public:
    One(std::shared_ptr<Observers> all, WireId number) : all_(std::move(all)), number_(number) {}
    std::size_t begin(std::size_t items) noexcept override {
      const std::size_t batch = ++all_->last_batch_;
      all_->send(CapsuleNotice::batch_begun, number_, batch, items);
      return batch;
    }
    void end(std::size_t batch) noexcept override { all_->send(CapsuleNotice::batch_ended, batch); }

   private:
    const std::shared_ptr<Observers> all_;  // executors may keep this object alive
    const WireId number_;
  };

  template <class... Fields>
  void send(CapsuleNotice what, const Fields&... fields) const noexcept {
    try {
      WireWriter notice;
      notice.choice(what, kLastCapsuleNotice);
      notice(fields...);
      notify_(std::move(notice).take());
    } catch (...) {
      // No memory: the trace lacks this batch.
    }
  }

  const TakeNotice notify_;
  std::atomic<std::size_t> last_batch_ = 0;
  Mutex mutex_;
  std::map<WireId, std::weak_ptr<One>> known_ VCAP_GUARDED_BY(mutex_);
};

std::shared_ptr<detail::BatchObserver> CapsuleServer::Observers::get(WireId number) {
  if (number == 0) return nullptr;
  const MutexLock lock(mutex_);
  if (const auto found = known_.find(number); found != known_.end())
    if (auto one = found->second.lock()) return one;
  std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
  auto one = std::make_shared<One>(shared_from_this(), number);
  known_.emplace(number, one);
  return one;
}

CapsuleServer::CapsuleServer(CapsuleCode code, TakeNotice notify)
    : info_(std::move(code.info)),
      subject_("capsule " + info_.name),
      defaults_(info_.options, subject_),
      author_(std::move(code.author)),
      observers_(std::make_shared<Observers>(std::move(notify))) {}

CapsuleServer::~CapsuleServer() = default;

WireMessage CapsuleServer::answer(const WireMessage& request) {
  const CurrentCapsule current(subject_);
  try {
    WireReader arguments(request, "the host");
    CapsuleCall call{};
    CallContext context;
    arguments.choice(call, kLastCapsuleCall);
    arguments(context);
    const CallContextScope scope(context);
    const detail::BatchObserverScope observed(observers_->get(context.observer));
    std::optional<detail::HostGuard> guard;
    if (is_guarded(call)) guard.emplace(subject_);
    return perform(call, arguments);
  } catch (const abi::__forced_unwind&) {
    throw;  // a thread that ends itself must continue to unwind
  } catch (...) {
    return answer_of_exception(std::current_exception());
  }
}

std::shared_ptr<Backend> CapsuleServer::backend(WireReader& arguments) const {
  WireId number = 0;
  arguments(number);
  if (auto found = backends_.find(number)) return found;
  throw Error(ErrorCode::misbehaving_capsule,
              subject_ + " has no backend of number " + std::to_string(number));
}

WireMessage CapsuleServer::perform(CapsuleCall call, WireReader& arguments) {
  switch (call) {
    case CapsuleCall::configure: {
      JsonValue config;
      std::optional<Stencil> stencil;
      arguments(config, stencil);
      detail::AuthorSettings::set_config(*author_, std::move(config));
      detail::AuthorSettings::set_stencil(*author_, std::move(stencil));
      return answer_of();
    }
    case CapsuleCall::map_devices: {
      std::vector<std::string> devices;
      arguments(devices);
      return answer_of(info_.device_mapper.map(devices));
    }
    case CapsuleCall::fetch_resources: {
      ResourceOptions options;
      arguments(options);
      const ResourceScope scope(options);
      author_->fetch_resources(files_);
      return answer_of();
    }
    case CapsuleCall::load_backend: {
      ResourceOptions options;
      std::string device;
      arguments(options, device);
      const ResourceScope scope(options);
      return answer_of(backends_.add(author_->load_backend(files_, device)));
    }
    case CapsuleCall::drop_author:
      author_.reset();
      return answer_of();
    case CapsuleCall::set_batch_sizes: {
      const auto one = backend(arguments);
      BatchSizes sizes;
      arguments(sizes);
      one->set_batch_sizes(sizes);
      return answer_of();
    }
    case CapsuleCall::setup_with_resources:
      backend(arguments)->setup_with_resources(files_);
      return answer_of();
    case CapsuleCall::process_frame:
    case CapsuleCall::process_frames:
    case CapsuleCall::process_window:
    case CapsuleCall::process_windows:
      return process(call, arguments);
    case CapsuleCall::distances: {
      const auto one = backend(arguments);
      std::vector<float> encoding;
      std::vector<std::vector<float>> others;
      arguments(encoding, others);
      return answer_of(one->distances(encoding, others));
    }
    case CapsuleCall::workload:
      return answer_of(backend(arguments)->workload());
    case CapsuleCall::batch_statistics:
      return answer_of(backend(arguments)->batch_statistics());
    case CapsuleCall::drain:
      backend(arguments)->drain();
      return answer_of();
    case CapsuleCall::close:
      backend(arguments)->close();
      return answer_of();
    case CapsuleCall::drop_backend: {
      WireId number = 0;
      arguments(number);
      backends_.take(number).reset();
      return answer_of();
    }
    case CapsuleCall::make_state:
    case CapsuleCall::make_parameters: {
      StreamInfo info;
      arguments(info);
      if (call == CapsuleCall::make_state) return answer_of(states_.add(info_.stream_state(info)));
      return answer_of(states_.add(info_.stream_parameters(info)));
    }
    case CapsuleCall::save_state: {
      WireId number = 0;
      arguments(number);
      const auto state = states_.find(number);
      return answer_of(state ? state->save() : nlohmann::json());
    }
    case CapsuleCall::drop_state: {
      WireId number = 0;
      arguments(number);
      states_.take(number).reset();
      return answer_of();
    }
  }
  throw Error(ErrorCode::misbehaving_capsule, subject_ + " got an unknown call");
}

/// The calls that process frames: all have the backend, the state and the options first.
WireMessage CapsuleServer::process(CapsuleCall call, WireReader& arguments) {
  const auto one = backend(arguments);
  WireId number = 0;
  OptionValues options = defaults_;
  arguments(number, options);
  const auto kept = states_.find(number);
  BaseStreamState& state = kept ? *kept : no_state_;
  if (call == CapsuleCall::process_frame) {
    Frame frame;
    DetectionNodes nodes;
    arguments(frame, nodes);
    DetectionNodes result = one->process_frame(frame, std::move(nodes), options, state);
    WireMessage answer = answer_of(result);
    detail::discard(std::move(result));
    return answer;
  }
  if (call == CapsuleCall::process_windows) {
    std::vector<ReceivedWindow> received;
    arguments(received);
    std::vector<FrameWindow> windows;
    windows.reserve(received.size());
    for (ReceivedWindow& window : received)
      windows.push_back({.frames = window.frames, .nodes = window.nodes});
    return answer_and_discard(one->process_windows(windows, options, state));
  }
  std::vector<Frame> frames;
  std::vector<DetectionNodes> nodes;
  arguments(frames, nodes);
  if (call == CapsuleCall::process_frames)
    return answer_and_discard(one->process_frames(frames, nodes, options, state));
  DetectionNodes result = one->process_window(frames, nodes, options, state);
  WireMessage answer = answer_of(result);
  detail::discard(std::move(result));
  return answer;
}

}  // namespace vcap
