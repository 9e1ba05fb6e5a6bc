// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/model_runner.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "backends/device_turns.hpp"
#include "backends/request_pool.hpp"

namespace vcap {
namespace {

DeviceTurns::TimePoint now() { return std::chrono::steady_clock::now(); }

/// A picture in flight.
struct Flight {
  std::size_t index = 0;
  RequestPool* pool = nullptr;
  std::unique_ptr<PooledRequest> pooled{};
  PictureMap map{};

  InferenceRequest& request() const { return *pooled->request; }
  void done() const { pool->turns().done(pooled->place, now()); }
};

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
    const std::lock_guard lock(of_size.mutex);
    if (!of_size.pool)
      of_size.pool = std::make_unique<RequestPool>(
          engine_->compile(
              model_, input_,
              input_.sizes.empty() ? std::nullopt : std::optional<cv::Size>(input_.sizes[size]),
              settings_),
          turns_);
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

  /// For the goal latency: the calling thread does all of it, and no other has to be woken. It does
  /// not wait for other models.
  void run_alone(const cv::Mat& picture, const Read& read) {
    RequestPool& pool = pool_for(picture);
    std::unique_ptr<PooledRequest> pooled = pool.take();
    InferenceRequest& request = *pooled->request;
    std::exception_ptr failed;
    in_progress_.fetch_add(1, std::memory_order_relaxed);
    turns_->start_at_once(pooled->place, now());
    try {
      const PictureMap map = fill(request, picture);
      request.run();
      read(0, ModelOutputs{request.outputs(), pool.input_size(), picture.size(), map});
    } catch (...) {
      failed = std::current_exception();
    }
    turns_->done(pooled->place, now());
    in_progress_.fetch_sub(1, std::memory_order_relaxed);
    pool.give_back(std::move(pooled));
    if (failed) std::rethrow_exception(failed);
  }

  const std::shared_ptr<Engine> engine_;
  const ModelFile model_;
  const PictureInput input_;
  const EngineSettings settings_;
  std::atomic<std::size_t> in_progress_{0}, pictures_{0}, shared_{0};

 private:
  struct SizePool {
    std::mutex mutex;
    std::unique_ptr<RequestPool> pool;  // never replaced once set
  };
  std::shared_ptr<DeviceTurns> turns_{};
  std::vector<SizePool> pools_{};  // by the index of the size
  const RequestPool* first_ = nullptr;
};

namespace {

/// One call of run, which waits for the turns and the results of its flights.
class Call {
 public:
  struct Event {
    enum class Kind { may_start, landed };
    Kind kind{};
    std::shared_ptr<Flight> flight{};
    std::exception_ptr error{};  // of a landed one
  };

  void tell(Event event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    // Under the lock: once it is released, the call may return and this object be destroyed.
    changed_.notify_one();
  }

  /// For a call whose flights have all started.
  Event wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !events_.empty(); });
    return take();
  }

  /// For a call that has a flight waiting for its turn.
  Event wait(DeviceTurns& turns) {
    std::unique_lock lock(mutex_);
    while (events_.empty()) {
      lock.unlock();
      const auto due = turns.grant_due(now());  // which may tell this call
      lock.lock();
      if (!events_.empty()) break;
      if (due)
        changed_.wait_until(lock, *due);
      else
        changed_.wait(lock);
    }
    return take();
  }

 private:
  Event take() {
    Event event = std::move(events_.back());
    events_.pop_back();
    return event;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Event> events_;
};

}  // namespace

ModelRunner::ModelRunner(std::shared_ptr<Engine> engine, ModelFile model, PictureInput input,
                         EngineSettings settings)
    : impl_(std::make_unique<Impl>(std::move(engine), std::move(model), std::move(input),
                                   std::move(settings))) {}

ModelRunner::~ModelRunner() = default;

void ModelRunner::run(std::span<const cv::Mat> pictures, const Read& read) {
  if (pictures.size() == 1 && impl_->settings_.goal == PerformanceGoal::latency)
    return impl_->run_alone(pictures.front(), read);
  Call call;
  std::size_t next = 0, in_flight = 0, waiting = 0;
  std::exception_ptr failed;
  std::size_t failed_index = 0;
  const auto fail = [&](std::size_t index, std::exception_ptr why) {
    if (failed && failed_index < index) return;
    failed = std::move(why);
    failed_index = index;
  };

  const auto finish = [&](Flight& flight, std::exception_ptr error) {
    --in_flight;
    impl_->in_progress_.fetch_sub(1, std::memory_order_relaxed);
    flight.pool->give_back(std::move(flight.pooled));
    if (error) fail(flight.index, std::move(error));
  };

  const auto start = [&](const std::shared_ptr<Flight>& flight) {
    try {
      flight->request().start([&call, flight](std::exception_ptr error) {
        flight->done();
        call.tell({Call::Event::Kind::landed, flight, std::move(error)});
      });
    } catch (...) {  // it has not started: nothing will complete
      flight->done();
      finish(*flight, std::current_exception());
    }
  };

  // Prepares the next picture on a request, and starts it when its model has the turn.
  const auto prepare = [&](RequestPool& pool, std::unique_ptr<PooledRequest> pooled) {
    const auto flight = std::make_shared<Flight>(Flight{next++, &pool, std::move(pooled)});
    impl_->in_progress_.fetch_add(1, std::memory_order_relaxed);
    ++in_flight;
    try {
      flight->map = impl_->fill(flight->request(), pictures[flight->index]);
    } catch (...) {
      return finish(*flight, std::current_exception());
    }
    const auto granted = [&call, flight] { call.tell({Call::Event::Kind::may_start, flight}); };
    if (pool.turns().ask(flight->pooled->place, now(), granted))
      start(flight);
    else
      ++waiting;
  };

  const auto land = [&](Flight& flight, std::exception_ptr error) {
    if (!error) {
      try {
        read(flight.index, ModelOutputs{flight.request().outputs(), flight.pool->input_size(),
                                        pictures[flight.index].size(), flight.map});
      } catch (...) {
        error = std::current_exception();
      }
    }
    finish(flight, std::move(error));
  };

  while (next < pictures.size() || in_flight > 0) {
    if (next < pictures.size() && !failed) {
      RequestPool* pool = nullptr;
      try {
        pool = &impl_->pool_for(pictures[next]);
      } catch (...) {
        fail(next++, std::current_exception());
        continue;
      }
      // Waits for another call's request only while nothing of this call's own can come back.
      if (auto request = in_flight > 0 ? pool->try_take() : pool->take()) {
        prepare(*pool, std::move(request));
        continue;
      }
    } else if (in_flight == 0) {
      break;
    }
    Call::Event event = waiting > 0 ? call.wait(impl_->turns()) : call.wait();
    if (event.kind == Call::Event::Kind::may_start) {
      --waiting;
      start(event.flight);
    } else {
      land(*event.flight, std::move(event.error));
    }
  }
  if (failed) std::rethrow_exception(failed);
}

BatchPolicy ModelRunner::batch_policy() const {
  BatchPolicy policy;
  policy.max_batch_size = 1;
  policy.workers = impl_->first().size();
  return policy;
}

double ModelRunner::workload() const noexcept {
  return static_cast<double>(impl_->in_progress_.load(std::memory_order_relaxed)) /
         static_cast<double>(impl_->first().size());
}

ModelRunner::Counts ModelRunner::counts() const noexcept {
  return {impl_->pictures_.load(std::memory_order_relaxed),
          impl_->shared_.load(std::memory_order_relaxed)};
}

const PictureInput& ModelRunner::input() const noexcept { return impl_->input_; }

cv::Size ModelRunner::input_size() const noexcept { return impl_->first().input_size(); }

}  // namespace vcap
