// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "vcap/backends/engine.hpp"

namespace vcap::test {

/// The settings of a FakeEngine, and its counts. Thread safety: thread-safe, except for the
/// settings, which must be set before a model is compiled.
struct FakePlan {
  std::size_t requests = 4;                        ///< optimal number for each model
  std::optional<std::size_t> parallel_requests{};  ///< nullopt: as many as requests
  bool runs_on_host = false;
  cv::Size own_size{4, 4};            ///< if no size is given
  bool shares = true;                 ///< uses pictures of its size without a copy
  int fail_start = 0, fail_done = 0;  ///< first pixel value of requests that fail; 0: none
  std::map<std::string, std::vector<float>> constants{};  ///< further outputs, for each picture
  /// By the name of the output. Without an entry: [1] for "value", [1,N] for N constants.
  std::map<std::string, std::vector<std::size_t>> shapes{};
  std::atomic<int> fail_compiles{0};  ///< how many of the next compiles throw
  std::atomic<std::size_t> compiled{0}, starts{0}, in_flight{0}, most_in_flight{0}, breaches{0};

  /// No request completes until release().
  void hold() {
    const std::lock_guard lock(mutex);
    is_held = true;
  }
  void release() {
    const std::lock_guard lock(mutex);
    is_held = false;
    changed.notify_all();
  }
  /// Waits until `count` requests are in flight; false if that takes more than ten seconds.
  bool wait_for_in_flight(std::size_t count) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(10), [&] { return in_flight == count; });
  }

  // The engine calls these.
  void took_off() {
    const std::lock_guard lock(mutex);
    most_in_flight = std::max<std::size_t>(most_in_flight, ++in_flight);
    changed.notify_all();
  }
  void landed() {
    const std::lock_guard lock(mutex);
    --in_flight;
    changed.notify_all();
  }
  std::mutex mutex;
  std::condition_variable changed;  ///< for in_flight, is_held and the engine's jobs
  bool is_held = false;
};

/// Completes requests on its own threads, in random order. An output is the first pixel's blue
/// value. Counts a breach if a request is started or read while it runs.
class FakeEngine final : public Engine {
 public:
  explicit FakeEngine(std::shared_ptr<FakePlan> plan, std::size_t threads = 3)
      : plan_(std::move(plan)), queue_(std::make_shared<Queue>(plan_)) {
    for (std::size_t i = 0; i < threads; ++i)
      threads_.emplace_back([queue = queue_, i] { queue->work(static_cast<unsigned>(i)); });
  }
  ~FakeEngine() override {
    queue_->stop();
    for (std::thread& thread : threads_) thread.join();
  }

  std::string name() const override { return "fake"; }
  std::string version() const override { return "1"; }
  std::vector<std::string> devices() const override { return {"CPU"}; }
  std::unique_ptr<CompiledModel> compile(const ModelFile&, const PictureInput&,
                                         std::optional<cv::Size> size,
                                         const EngineSettings&) override {
    if (plan_->fail_compiles.fetch_sub(1) > 0) throw std::runtime_error("no compile");
    plan_->fail_compiles = 0;
    ++plan_->compiled;
    return std::make_unique<Model>(plan_, queue_, size.value_or(plan_->own_size));
  }

 private:
  /// Guarded by the plan's mutex.
  class Queue {
   public:
    explicit Queue(std::shared_ptr<FakePlan> plan) : plan_(std::move(plan)) {}
    void add(std::function<void()> job) {
      const std::lock_guard lock(plan_->mutex);
      jobs_.push_back(std::move(job));
      plan_->changed.notify_all();
    }
    void work(unsigned seed) {
      std::mt19937 random(seed);
      std::unique_lock lock(plan_->mutex);
      for (;;) {
        plan_->changed.wait(lock,
                            [this] { return stopped_ || (!jobs_.empty() && !plan_->is_held); });
        if (stopped_) return;
        std::swap(jobs_[random() % jobs_.size()], jobs_.back());
        const auto job = std::move(jobs_.back());
        jobs_.pop_back();
        lock.unlock();
        if (random() % 4 == 0) std::this_thread::yield();
        job();
        lock.lock();
      }
    }
    void stop() {
      const std::lock_guard lock(plan_->mutex);
      stopped_ = true;
      plan_->changed.notify_all();
    }

   private:
    const std::shared_ptr<FakePlan> plan_;
    std::vector<std::function<void()>> jobs_;
    bool stopped_ = false;
  };

  class Request final : public InferenceRequest {
   public:
    Request(std::shared_ptr<FakePlan> plan, std::shared_ptr<Queue> queue, cv::Size size)
        : plan_(std::move(plan)), queue_(std::move(queue)), own_(size, CV_8UC3, cv::Scalar(0)) {}
    ~Request() override {
      if (running_) ++plan_->breaches;
    }
    cv::Mat input() override {
      if (running_) ++plan_->breaches;
      picture_ = own_;
      return own_;
    }
    bool share_input(const cv::Mat& picture) override {
      if (running_) ++plan_->breaches;
      if (!plan_->shares || picture.dims != 2 || picture.type() != CV_8UC3 ||
          picture.size() != own_.size())
        return false;
      picture_ = picture;
      return true;
    }
    void start(Done done) override {
      const int value = picture_.at<cv::Vec3b>(0, 0)[0];
      if (plan_->fail_start != 0 && value == plan_->fail_start)
        throw std::runtime_error("start " + std::to_string(value));
      if (running_.exchange(true)) ++plan_->breaches;
      ++plan_->starts;
      plan_->took_off();
      queue_->add([this, value, done = std::move(done)] {
        values_ = {static_cast<float>(value)};
        plan_->landed();
        running_ = false;
        done(plan_->fail_done != 0 && value == plan_->fail_done
                 ? std::make_exception_ptr(std::runtime_error("done " + std::to_string(value)))
                 : nullptr);
      });
    }
    std::span<const TensorView> outputs() override {
      if (running_) ++plan_->breaches;
      outputs_ = {{"value", {1}, values_}};
      for (const auto& [name, values] : plan_->constants)
        outputs_.push_back({name, {1, values.size()}, values});
      for (TensorView& output : outputs_)
        if (const auto shape = plan_->shapes.find(output.name); shape != plan_->shapes.end())
          output.shape = shape->second;
      return outputs_;
    }

   private:
    const std::shared_ptr<FakePlan> plan_;
    const std::shared_ptr<Queue> queue_;
    cv::Mat own_, picture_{};
    std::atomic<bool> running_{false};
    std::vector<float> values_{};
    std::vector<TensorView> outputs_{};
  };

  class Model final : public CompiledModel {
   public:
    Model(std::shared_ptr<FakePlan> plan, std::shared_ptr<Queue> queue, cv::Size size)
        : plan_(std::move(plan)), queue_(std::move(queue)), size_(size) {}
    cv::Size input_size() const override { return size_; }
    std::size_t optimal_requests() const override { return plan_->requests; }
    std::size_t parallel_requests() const override {
      return plan_->parallel_requests.value_or(plan_->requests);
    }
    bool runs_on_host() const override { return plan_->runs_on_host; }
    std::unique_ptr<InferenceRequest> make_request() override {
      return std::make_unique<Request>(plan_, queue_, size_);
    }

   private:
    const std::shared_ptr<FakePlan> plan_;
    const std::shared_ptr<Queue> queue_;
    const cv::Size size_;
  };

  const std::shared_ptr<FakePlan> plan_;
  const std::shared_ptr<Queue> queue_;
  std::vector<std::thread> threads_;
};

}  // namespace vcap::test
