// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/model_runner.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "backends/device_turns.hpp"
#include "backends/request_pool.hpp"
#include "base/thread_annotations.hpp"

namespace vcap {
namespace {

DeviceTurns::TimePoint now() { return std::chrono::steady_clock::now(); }

}  // namespace

class ModelRunner::Impl {
 public:
  Impl(std::shared_ptr<Engine> engine, ModelFile model, PictureInput input, EngineSettings settings)
      : engine_(std::move(engine)),
        model_(std::move(model)),
        input_(std::move(input)),
        settings_(std::move(settings)) {
    validate(input_);
    turns_ = DeviceTurns::of_device(settings_.device);
    pools_ = std::vector<SizePool>(std::max<std::size_t>(1, input_.sizes.size()));
    first_ = &pool(0);
  }

  DeviceTurns& turns() const noexcept { return *turns_; }
  /// The pool for the first of the input's sizes.
  const RequestPool& first() const noexcept { return *first_; }

  /// The pool for one of the input's sizes; compiles the model for it the first time; other sizes
  /// do not wait for that.
  RequestPool& pool(std::size_t size) {
    SizePool& of_size = pools_[size];
    const MutexLock lock(of_size.mutex);
    if (!of_size.pool)
      of_size.pool = std::make_unique<RequestPool>(
          engine_->compile(
              model_, input_,
              input_.sizes.empty() ? std::nullopt : std::optional<cv::Size>(input_.sizes[size]),
              settings_),
          turns_, this);
    return *of_size.pool;
  }

  RequestPool& pool_for(const cv::Mat& picture) {
    if (input_.sizes.size() < 2 || picture.empty()) return pool(0);
    return pool(choose_size(input_.sizes, picture.size(), input_.fit));
  }

  PictureMap fill(InferenceRequest& request, const cv::Mat& picture) {
    PictureMap map;
    if (request.share_input(picture)) {
      shared_.fetch_add(1, std::memory_order_relaxed);
    } else {
      cv::Mat target = request.input();
      map = fit_picture(picture, input_, target);
    }
    pictures_.fetch_add(1, std::memory_order_relaxed);
    return map;
  }

  const std::shared_ptr<Engine> engine_;
  const ModelFile model_;
  const PictureInput input_;
  const EngineSettings settings_;
  std::atomic<std::size_t> in_progress_{0}, pictures_{0}, shared_{0};

 private:
  struct SizePool {
    Mutex mutex;
    std::unique_ptr<RequestPool> pool VCAP_GUARDED_BY(mutex);  // never replaced once set
  };
  std::shared_ptr<DeviceTurns> turns_{};
  std::vector<SizePool> pools_{};  // by the index of the size
  const RequestPool* first_ = nullptr;
};

/// One call of run(): keeps as many pictures in flight as it gets requests. The calling
/// thread waits for the outputs of several; it runs a single one, which costs fewer wake-ups.
class ModelRunner::Call {
 public:
  Call(Impl& runner, std::span<const cv::Mat> pictures, const Read& read)
      : runner_(runner), pictures_(pictures), read_(read), alone_(pictures.size() == 1) {}

  /// Throws the error of the first failed picture, once nothing is in flight.
  void run() {
    while (next_ < pictures_.size() || in_flight_ > 0) {
      if (next_ < pictures_.size() && !failed_) {
        RequestPool* pool = nullptr;
        try {
          pool = &runner_.pool_for(pictures_[next_]);
        } catch (...) {
          fail(next_++, std::current_exception());
          continue;
        }
        // Waits for another call's request only while nothing of this call's own can come back.
        if (auto request = in_flight_ > 0 ? pool->try_take() : pool->take()) {
          prepare(*pool, std::move(request));
          continue;
        }
      } else if (in_flight_ == 0) {
        break;
      }
      handle(waiting_ > 0 ? wait(runner_.turns()) : wait());
    }
    if (failed_) std::rethrow_exception(failed_);
  }

 private:
  /// A picture in flight.
  struct Flight {
    std::size_t index = 0;
    RequestPool* pool = nullptr;
    std::unique_ptr<PooledRequest> pooled{};
    PictureMap map{};

    InferenceRequest& request() const { return *pooled->request; }
  };

  struct Event {
    enum class Kind { may_start, finished };
    Kind kind{};
    std::shared_ptr<Flight> flight{};
    std::exception_ptr error{};  // of a finished one
  };

  /// Prepares the next picture on a request, and starts it when its model has the turn. Ends the
  /// process if there is no memory for its own few bytes: the engine may hold other flights.
  void prepare(RequestPool& pool, std::unique_ptr<PooledRequest> pooled) noexcept {
    const auto flight = std::make_shared<Flight>(Flight{next_++, &pool, std::move(pooled)});
    runner_.in_progress_.fetch_add(1, std::memory_order_relaxed);
    ++in_flight_;
    try {
      flight->map = runner_.fill(flight->request(), pictures_[flight->index]);
    } catch (...) {
      return finish(*flight, std::current_exception());
    }
    if (may_start(flight))
      start(flight);
    else
      ++waiting_;
  }

  bool may_start(const std::shared_ptr<Flight>& flight) {
    DeviceTurns& turns = runner_.turns();
    if (alone_ && runner_.settings_.goal == PerformanceGoal::latency) {
      turns.start_at_once(flight->pooled->place, now());
      return true;
    }
    return turns.ask(flight->pooled->place, now(), [this, flight] {
      notify({Event::Kind::may_start, flight});
    });
  }

  void start(const std::shared_ptr<Flight>& flight) {
    std::exception_ptr error;
    try {
      if (!alone_) {
        flight->request().start([this, flight](std::exception_ptr why) {
          done(*flight);
          notify({Event::Kind::finished, flight, std::move(why)});
        });
        return;
      }
      flight->request().run();
    } catch (...) {
      error = std::current_exception();
    }
    done(*flight);
    land(*flight, std::move(error));
  }

  void handle(Event event) {
    if (event.kind == Event::Kind::may_start) {
      --waiting_;
      start(event.flight);
    } else {
      land(*event.flight, std::move(event.error));
    }
  }

  /// [any thread]
  void done(Flight& flight) noexcept { runner_.turns().done(flight.pooled->place, now()); }

  void land(Flight& flight, std::exception_ptr error) {
    if (!error) {
      try {
        read_(flight.index, ModelOutputs{flight.request().outputs(), flight.pool->input_size(),
                                         pictures_[flight.index].size(), flight.map});
      } catch (...) {
        error = std::current_exception();
      }
    }
    finish(flight, std::move(error));
  }

  void finish(Flight& flight, std::exception_ptr error) {
    --in_flight_;
    runner_.in_progress_.fetch_sub(1, std::memory_order_relaxed);
    flight.pool->give_back(std::move(flight.pooled));
    if (error) fail(flight.index, std::move(error));
  }

  void fail(std::size_t index, std::exception_ptr why) {
    if (failed_ && failed_index_ < index) return;
    failed_ = std::move(why);
    failed_index_ = index;
  }

  /// [any thread]
  void notify(Event event) noexcept {
    const MutexLock lock(mutex_);
    events_.push_back(std::move(event));
    // Under the lock: once it is released, the call may return and this object be destroyed.
    changed_.notify_one();
  }

  /// For a call whose flights have all started.
  Event wait() {
    MutexLock lock(mutex_);
    changed_.wait(mutex_, [this]() VCAP_REQUIRES(mutex_) { return !events_.empty(); });
    return take();
  }

  /// For a call that has a flight waiting for its turn.
  Event wait(DeviceTurns& turns) {
    MutexLock lock(mutex_);
    while (events_.empty()) {
      lock.unlock();
      const auto due = turns.grant_due(now());  // which may notify this call
      lock.lock();
      if (!events_.empty()) break;
      if (due)
        changed_.wait_until(mutex_, *due);
      else
        changed_.wait(mutex_);
    }
    return take();
  }

  Event take() VCAP_REQUIRES(mutex_) {
    Event event = std::move(events_.back());
    events_.pop_back();
    return event;
  }

  Impl& runner_;
  const std::span<const cv::Mat> pictures_;
  const Read& read_;
  const bool alone_;
  std::size_t next_ = 0;       // index of the picture that is prepared next
  std::size_t in_flight_ = 0;  // prepared and not finished
  std::size_t waiting_ = 0;    // of those in flight: not started
  std::exception_ptr failed_{};
  std::size_t failed_index_ = 0;

  Mutex mutex_;
  CondVar changed_;
  std::vector<Event> events_ VCAP_GUARDED_BY(mutex_);
};

ModelRunner::ModelRunner(std::shared_ptr<Engine> engine, ModelFile model, PictureInput input,
                         EngineSettings settings)
    : impl_(std::make_unique<Impl>(std::move(engine), std::move(model), std::move(input),
                                   std::move(settings))) {}

ModelRunner::~ModelRunner() = default;

void ModelRunner::run(std::span<const cv::Mat> pictures, const Read& read) {
  Call(*impl_, pictures, read).run();
}

BatchPolicy ModelRunner::batch_policy() const {
  BatchPolicy policy;
  policy.max_batch_size = 1;
  policy.workers = impl_->first().feeders();
  return policy;
}

double ModelRunner::workload() const noexcept {
  return static_cast<double>(impl_->in_progress_.load(std::memory_order_relaxed)) /
         static_cast<double>(impl_->first().feeders());
}

ModelRunner::Counts ModelRunner::counts() const noexcept {
  return {impl_->pictures_.load(std::memory_order_relaxed),
          impl_->shared_.load(std::memory_order_relaxed)};
}

const PictureInput& ModelRunner::input() const& noexcept { return impl_->input_; }

cv::Size ModelRunner::input_size() const noexcept { return impl_->first().input_size(); }

}  // namespace vcap
