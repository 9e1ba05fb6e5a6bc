// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/model_runner.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace vcap {
namespace runner {

/// The requests of one compiled model. Thread safety: thread-safe.
class RequestPool {
 public:
  explicit RequestPool(std::unique_ptr<CompiledModel> model)
      : model_(std::move(model)), size_(model_->optimal_requests()) {
    for (std::size_t i = 0; i < size_; ++i) free_.push_back(model_->make_request());
  }

  cv::Size input_size() const { return model_->input_size(); }
  std::size_t size() const noexcept { return size_; }

  std::unique_ptr<InferenceRequest> try_take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return nullptr;
    auto request = std::move(free_.back());
    free_.pop_back();
    return request;
  }
  std::unique_ptr<InferenceRequest> take() {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [this] { return !free_.empty(); });
    auto request = std::move(free_.back());
    free_.pop_back();
    return request;
  }
  void give_back(std::unique_ptr<InferenceRequest> request) {
    {
      const std::lock_guard lock(mutex_);
      free_.push_back(std::move(request));
    }
    returned_.notify_one();
  }

 private:
  const std::unique_ptr<CompiledModel> model_;
  const std::size_t size_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<InferenceRequest>> free_;  // destroyed before the model
};

/// A picture in flight.
struct Flight {
  std::size_t index = 0;
  RequestPool* pool = nullptr;
  std::unique_ptr<InferenceRequest> request{};
  PictureMap map{};
};

}  // namespace runner

using runner::Flight;
using runner::RequestPool;

class ModelRunner::Impl {
 public:
  Impl(std::shared_ptr<Engine> engine, ModelFile model, PictureInput input, EngineSettings settings)
      : engine_(std::move(engine)),
        model_(std::move(model)),
        input_(std::move(input)),
        settings_(std::move(settings)) {
    validate(input_);
    pools_ = std::vector<Place>(std::max<std::size_t>(1, input_.sizes.size()));
    first_ = &pool(0);
  }

  /// The pool for the first of the input's sizes.
  const RequestPool& first() const noexcept { return *first_; }

  /// The pool for one of the input's sizes; compiles the model for it the first time; other sizes
  /// do not wait for that.
  RequestPool& pool(std::size_t size) {
    Place& place = pools_[size];
    const std::lock_guard lock(place.mutex);
    if (!place.pool)
      place.pool = std::make_unique<RequestPool>(engine_->compile(
          model_, input_,
          input_.sizes.empty() ? std::nullopt : std::optional<cv::Size>(input_.sizes[size]),
          settings_));
    return *place.pool;
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

  /// For the goal latency: the calling thread does all of it, and no other has to be woken.
  void run_alone(const cv::Mat& picture, const Read& read) {
    RequestPool& pool = pool_for(picture);
    std::unique_ptr<InferenceRequest> request = pool.take();
    std::exception_ptr failed;
    in_progress_.fetch_add(1, std::memory_order_relaxed);
    try {
      const PictureMap map = fill(*request, picture);
      request->run();
      read(0, ModelOutputs{request->outputs(), pool.input_size(), picture.size(), map});
    } catch (...) {
      failed = std::current_exception();
    }
    in_progress_.fetch_sub(1, std::memory_order_relaxed);
    pool.give_back(std::move(request));
    if (failed) std::rethrow_exception(failed);
  }

  const std::shared_ptr<Engine> engine_;
  const ModelFile model_;
  const PictureInput input_;
  const EngineSettings settings_;
  std::atomic<std::size_t> in_progress_{0}, pictures_{0}, shared_{0};

 private:
  struct Place {
    std::mutex mutex;
    std::unique_ptr<RequestPool> pool;  // never replaced once set
  };
  std::vector<Place> pools_;  // by the index of the size
  const RequestPool* first_ = nullptr;
};

namespace {

/// One call of run: what it has in flight, and what has come back.
class Call {
 public:
  void landed(Flight flight, std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    landed_.emplace_back(std::move(flight), std::move(error));
    // Under the lock: once it is released, the call may return and this object be destroyed.
    changed_.notify_one();
  }
  std::pair<Flight, std::exception_ptr> wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !landed_.empty(); });
    auto next = std::move(landed_.back());
    landed_.pop_back();
    return next;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<Flight, std::exception_ptr>> landed_;
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
  std::size_t next = 0, in_flight = 0;
  std::exception_ptr failed;
  std::size_t failed_index = 0;
  const auto fail = [&](std::size_t index, std::exception_ptr why) {
    if (failed && failed_index < index) return;
    failed = std::move(why);
    failed_index = index;
  };

  // Starts the next picture on a request. If that fails, the picture has failed and the request is
  // free.
  const auto start = [&](RequestPool& pool, std::unique_ptr<InferenceRequest> request) {
    auto flight = std::make_shared<Flight>(Flight{next, &pool, std::move(request)});
    impl_->in_progress_.fetch_add(1, std::memory_order_relaxed);
    ++in_flight;
    try {
      flight->map = impl_->fill(*flight->request, pictures[next]);
      flight->request->start([&call, flight](std::exception_ptr error) {
        call.landed(std::move(*flight), std::move(error));
      });
    } catch (...) {  // it has not started: nothing will complete
      --in_flight;
      impl_->in_progress_.fetch_sub(1, std::memory_order_relaxed);
      pool.give_back(std::move(flight->request));
      fail(next, std::current_exception());
    }
    ++next;
  };

  const auto land = [&] {
    auto [flight, error] = call.wait();
    --in_flight;
    impl_->in_progress_.fetch_sub(1, std::memory_order_relaxed);
    if (!error) {
      try {
        read(flight.index, ModelOutputs{flight.request->outputs(), flight.pool->input_size(),
                                        pictures[flight.index].size(), flight.map});
      } catch (...) {
        error = std::current_exception();
      }
    }
    flight.pool->give_back(std::move(flight.request));
    if (error) fail(flight.index, std::move(error));
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
        start(*pool, std::move(request));
        continue;
      }
    } else if (in_flight == 0) {
      break;
    }
    land();
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
