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

#include "base/other_mutexes.hpp"
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
  return std::move(answer).take(ErrorCode::invalid_output);
}

WireMessage answer_of_exception(const std::exception_ptr& thrown) {
  WireWriter answer;
  answer(true);
  write_exception(answer, thrown);
  return std::move(answer).take();
}

/// Results of a backend. They may have any number of levels, which their own destructor does not
/// bear.
struct Results {
  std::vector<DetectionNodes> list{};

  explicit Results(DetectionNodes one) { list.push_back(std::move(one)); }
  explicit Results(std::vector<DetectionNodes> several) : list(std::move(several)) {}
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;
  ~Results() {
    for (DetectionNodes& one : list) detail::discard(std::move(one));
  }
};

WireMessage answer_of_one(DetectionNodes result) {
  const Results results(std::move(result));
  return answer_of(results.list.front());
}

WireMessage answer_of_several(std::optional<std::vector<DetectionNodes>> several) {
  if (!several) return answer_of(false);
  const Results results(*std::move(several));
  return answer_of(true, results.list);  // as an optional list
}

/// Whether the call belongs to loading or closing, which leave the thread as it was.
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
    std::optional<detail::ThreadGuard> guard;
    if (is_guarded(call)) guard.emplace(subject_);
    return perform(call, arguments);
  } catch (const abi::__forced_unwind&) {
    throw;  // a thread that ends itself must continue to unwind
  } catch (...) {
    return answer_of_exception(std::current_exception());
  }
}

/// Requests that the host gives up go on here, so the end of a backend waits for them. Only one of
/// them is in progress at a time, so that a backend that hangs holds one thread.
struct CapsuleServer::Served {
  explicit Served(std::unique_ptr<Backend> loaded) : backend(std::move(loaded)) {}

  /// What the backend gives, or `nullopt` if it is asked already, or is closed.
  template <class Ask>
  WireMessage ask(const Ask& question) {
    if (is_asked.test_and_set()) return answer_of(false);
    struct Clearing {
      ~Clearing() { flag.clear(); }
      std::atomic_flag& flag;
    } const clearing{is_asked};
    const SharedLock lock(in_use);
    if (is_closed) return answer_of(false);
    return answer_of(true, question(*backend));
  }

  std::unique_ptr<Backend> backend;
  std::atomic_flag is_asked{};
  SharedMutex in_use;
  bool is_closed VCAP_GUARDED_BY(in_use) = false;
};

WireMessage CapsuleServer::perform(CapsuleCall call, WireReader& arguments) {
  switch (call) {
    case CapsuleCall::configure:
    case CapsuleCall::map_devices:
    case CapsuleCall::fetch_resources:
    case CapsuleCall::load_backend:
    case CapsuleCall::drop_author:
      return call_author(call, arguments);
    case CapsuleCall::make_state:
    case CapsuleCall::make_parameters:
    case CapsuleCall::save_state:
    case CapsuleCall::drop_state:
      return call_state(call, arguments);
    default:
      return call_backend(call, arguments);
  }
}

BaseCapsule& CapsuleServer::author() const {
  if (author_) return *author_;
  throw BatchError(ErrorCode::closed, subject_ + " is closed");
}

WireMessage CapsuleServer::call_author(CapsuleCall call, WireReader& arguments) {
  if (call == CapsuleCall::configure) {
    JsonValue config;
    std::optional<Stencil> stencil;
    arguments(config, stencil);
    detail::AuthorSettings::set_config(author(), std::move(config));
    detail::AuthorSettings::set_stencil(author(), std::move(stencil));
    return answer_of();
  }
  if (call == CapsuleCall::map_devices) {
    std::vector<std::string> devices;
    arguments(devices);
    return answer_of(info_.device_mapper.map(devices));
  }
  if (call == CapsuleCall::drop_author) {
    author_.reset();
    return answer_of();
  }
  ResourceOptions options;
  arguments(options);
  const ResourceScope scope(options);
  if (call == CapsuleCall::fetch_resources) {
    author().fetch_resources(files_);
    return answer_of();
  }
  std::string device;
  arguments(device);
  std::unique_ptr<Backend> loaded = author().load_backend(files_, device);
  return answer_of(backends_.add(loaded ? std::make_shared<Served>(std::move(loaded)) : nullptr));
}

WireMessage CapsuleServer::call_state(CapsuleCall call, WireReader& arguments) {
  if (call == CapsuleCall::make_state || call == CapsuleCall::make_parameters) {
    StreamInfo info;
    arguments(info);
    if (call == CapsuleCall::make_state) return answer_of(states_.add(info_.stream_state(info)));
    return answer_of(states_.add(info_.stream_parameters(info)));
  }
  WireId number = 0;
  arguments(number);
  if (call == CapsuleCall::save_state) return answer_of(state(number).save());
  states_.take(number).reset();
  return answer_of();
}

BaseStreamState& CapsuleServer::state(WireId number) {
  if (number == 0) return no_state_;
  // The host drops it only after its last use.
  if (const auto found = states_.find(number)) return *found;
  throw Error(ErrorCode::misbehaving_capsule,
              subject_ + " has no state of number " + std::to_string(number));
}

WireMessage CapsuleServer::call_backend(CapsuleCall call, WireReader& arguments) {
  WireId number = 0;
  arguments(number);
  const std::shared_ptr<Served> served = backends_.find(number);
  if (!served)
    throw Error(ErrorCode::misbehaving_capsule,
                subject_ + " has no backend of number " + std::to_string(number));
  Backend& backend = *served->backend;
  switch (call) {
    case CapsuleCall::set_batch_sizes: {
      BatchSizes sizes;
      arguments(sizes);
      backend.set_batch_sizes(sizes);
      return answer_of();
    }
    case CapsuleCall::setup_with_resources:
      backend.setup_with_resources(files_);
      return answer_of();
    case CapsuleCall::distances: {
      std::vector<float> encoding;
      std::vector<std::vector<float>> others;
      arguments(encoding, others);
      return answer_of(backend.distances(encoding, others));
    }
    case CapsuleCall::workload:
      return served->ask([](const Backend& asked) { return asked.workload(); });
    case CapsuleCall::batch_statistics:
      return served->ask([](const Backend& asked) { return asked.batch_statistics(); });
    case CapsuleCall::drain:
      backend.drain();
      return answer_of();
    case CapsuleCall::close: {
      const ExclusiveLock lock(served->in_use);
      served->is_closed = true;
      backend.close();
      return answer_of();
    }
    case CapsuleCall::drop_backend: {
      backends_.take(number);
      const ExclusiveLock lock(served->in_use);
      served->is_closed = true;
      served->backend.reset();
      return answer_of();
    }
    default:
      return process(call, backend, arguments);
  }
}

/// The calls that process frames: all have the state and the options first.
WireMessage CapsuleServer::process(CapsuleCall call, Backend& backend, WireReader& arguments) {
  WireId number = 0;
  OptionValues options = defaults_;
  arguments(number, options);
  BaseStreamState& own = state(number);
  if (call == CapsuleCall::process_frame) {
    Frame frame;
    DetectionNodes nodes;
    arguments(frame, nodes);
    return answer_of_one(backend.process_frame(frame, std::move(nodes), options, own));
  }
  if (call == CapsuleCall::process_windows) {
    std::vector<ReceivedWindow> received;
    arguments(received);
    std::vector<FrameWindow> windows;
    windows.reserve(received.size());
    for (ReceivedWindow& window : received)
      windows.push_back({.frames = window.frames, .nodes = window.nodes});
    return answer_of_several(backend.process_windows(windows, options, own));
  }
  std::vector<Frame> frames;
  std::vector<DetectionNodes> nodes;
  arguments(frames, nodes);
  if (call == CapsuleCall::process_window)
    return answer_of_one(backend.process_window(frames, nodes, options, own));
  return answer_of_several(backend.process_frames(frames, nodes, options, own));
}

}  // namespace vcap
