// SPDX-License-Identifier: Apache-2.0
#include "models/by_hand.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <openvino/core/preprocess/pre_post_process.hpp>
#include <openvino/openvino.hpp>

#include "support/cpu_time.hpp"
#include "support/figures.hpp"

namespace vcap::bench::models {
namespace {

ov::Core& core() {
  // Like all objects with a compiled model here, never destroyed: OpenVINO's static objects may be
  // destroyed first.
  static ov::Core& core = *new ov::Core;
  return core;
}

/// The model with an 8-bit BGR input that it normalises itself.
std::shared_ptr<ov::Model> with_pictures(const Network& network) {
  const PictureInput& input = network.spec.input;
  std::shared_ptr<ov::Model> model = core().read_model(network.file.native());
  const ov::Shape shape = model->input().get_shape();
  const bool channels_last = shape[3] == 3;
  if (!input.sizes.empty()) {
    const cv::Size size = input.sizes.front();
    model->reshape(ov::PartialShape{1, 3, size.height, size.width});
  }
  ov::preprocess::PrePostProcessor processor(model);
  ov::preprocess::InputInfo& info = processor.input();
  info.tensor()
      .set_element_type(ov::element::u8)
      .set_layout("NHWC")
      .set_color_format(ov::preprocess::ColorFormat::BGR);
  info.model().set_layout(channels_last ? "NHWC" : "NCHW");
  ov::preprocess::PreProcessSteps& steps = info.preprocess();
  steps.convert_element_type(ov::element::f32);
  if (input.colors == PictureInput::Colors::rgb)
    steps.convert_color(ov::preprocess::ColorFormat::RGB);
  if (input.mean.front() != 0) steps.mean(static_cast<float>(input.mean.front()));
  if (input.scale.front() != 1) steps.scale(static_cast<float>(input.scale.front()));
  return processor.build();
}

ov::CompiledModel compile(const std::shared_ptr<ov::Model>& model, PerformanceGoal goal) {
  const bool latency = goal == PerformanceGoal::latency;
  return core().compile_model(
      model, "CPU",
      ov::hint::performance_mode(latency ? ov::hint::PerformanceMode::LATENCY
                                         : ov::hint::PerformanceMode::THROUGHPUT));
}

}  // namespace

Window::Window(long images, long warm_up) : begin_after_(warm_up), end_after_(warm_up + images) {
  if (warm_up == 0) begin_ = now();
}

Window::Moment Window::now() { return {std::chrono::steady_clock::now(), cpu_time()}; }

void Window::count() {
  const long number = ++items_;
  if (number == begin_after_) begin_ = now();
  if (number == end_after_) end_ = now();
}

Rate Window::rate() const {
  const auto images = static_cast<double>(end_after_ - begin_after_);
  return {images / std::chrono::duration<double>(end_.time - begin_.time).count(),
          images / (end_.cpu - begin_.cpu)};
}

class ByHand::Impl {
 public:
  Impl(const Network& network, PerformanceGoal goal)
      : network_(network),
        compiled_(compile(with_pictures(network), goal)),
        reader_(make_detection_reader(network.spec)) {
    for (const auto& port : std::as_const(compiled_).outputs())
      names_.push_back(port.get_node()->get_friendly_name());
    // The names in the files, by which a reader finds outputs.
    for (std::size_t i = 0; i < names_.size(); ++i)
      names_[i] = names_[i].substr(0, names_[i].find("/sink_port"));
    const auto count = compiled_.get_property(ov::optimal_number_of_infer_requests);
    for (unsigned i = 0; i < count; ++i) requests_.push_back(compiled_.create_infer_request());
  }

  std::vector<ov::InferRequest>& requests() { return requests_; }

  void fill(ov::InferRequest& request, const cv::Mat& picture) {
    ov::Tensor tensor = request.get_input_tensor();
    const ov::Shape shape = tensor.get_shape();
    cv::Mat target(static_cast<int>(shape[1]), static_cast<int>(shape[2]), CV_8UC3, tensor.data());
    fit_picture(picture, network_.spec.input, target);
  }

  void read(ov::InferRequest& request, const cv::Mat& picture) {
    std::vector<TensorView> views(names_.size());
    for (std::size_t i = 0; i < views.size(); ++i) {
      const ov::Tensor tensor = request.get_output_tensor(i);
      const ov::Shape shape = tensor.get_shape();
      views[i] = {names_[i],
                  {shape.begin(), shape.end()},
                  {std::as_const(tensor).data<float>(), tensor.get_size()}};
    }
    const ov::Shape input = request.get_input_tensor().get_shape();
    reader_({views,
             cv::Size(static_cast<int>(input[2]), static_cast<int>(input[1])),
             picture.size(),
             {}});
  }

  /// Keeps all requests in flight until the window is over. `next` prepares a request before each
  /// start; its second argument says whether the request has completed before.
  Rate refill(Window& window, const std::function<void(ov::InferRequest&, bool done)>& next) {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t running = requests_.size();
    std::exception_ptr failed;
    std::function<void(ov::InferRequest&, bool)> start;
    const auto completed = [&](ov::InferRequest& request, std::exception_ptr error) {
      try {
        if (error) std::rethrow_exception(error);
        window.count();
        if (!window.over()) return start(request, true);
      } catch (...) {
        error = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      if (error) failed = error;
      --running;
      changed.notify_one();
    };
    start = [&](ov::InferRequest& request, bool done) {
      next(request, done);
      // Set for each start: OpenVINO removes the callback while it runs, and the request may
      // complete again before OpenVINO restores it.
      request.set_callback([&](std::exception_ptr error) { completed(request, error); });
      request.start_async();
    };
    for (ov::InferRequest& request : requests_) start(request, false);
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return running == 0; });
    lock.unlock();
    for (ov::InferRequest& request : requests_) {
      request.wait();
      request.set_callback([](std::exception_ptr) {});
    }
    if (failed) std::rethrow_exception(failed);
    return window.rate();
  }

  const Network& network() const { return network_; }

 private:
  const Network network_;
  ov::CompiledModel compiled_;
  const std::function<Detections(const ModelOutputs&)> reader_;
  std::vector<std::string> names_;
  std::vector<ov::InferRequest> requests_;
};

ByHand::ByHand(const Network& network, PerformanceGoal goal)
    : impl_(std::make_unique<Impl>(network, goal)) {}
ByHand::~ByHand() = default;

Rate ByHand::refill() {
  const std::vector<cv::Mat>& all = pictures();
  Window window(impl_->network().images, impl_->network().images / 10);
  std::atomic<std::size_t> number{0};
  return impl_->refill(window, [&](ov::InferRequest& request, bool done) {
    if (done) impl_->read(request, all.front());
    impl_->fill(request, all[number++ % all.size()]);
  });
}

Rate ByHand::serve(int callers) {
  const std::vector<cv::Mat>& all = pictures();
  Window window(impl_->network().images, impl_->network().images / 10);
  std::mutex mutex;
  std::condition_variable returned;
  std::vector<ov::InferRequest*> free;
  for (ov::InferRequest& request : impl_->requests()) free.push_back(&request);
  std::vector<std::jthread> threads;
  for (int caller = 0; caller < callers; ++caller)
    threads.emplace_back([&, caller] {
      for (auto i = static_cast<std::size_t>(caller); !window.over(); ++i, window.count()) {
        ov::InferRequest* request = nullptr;
        {
          std::unique_lock lock(mutex);
          returned.wait(lock, [&] { return !free.empty(); });
          request = free.back();
          free.pop_back();
        }
        impl_->fill(*request, all[i % all.size()]);
        request->start_async();
        request->wait();
        impl_->read(*request, all[i % all.size()]);
        {
          const std::lock_guard lock(mutex);
          free.push_back(request);
        }
        returned.notify_one();
      }
    });
  threads.clear();
  return window.rate();
}

Rate ByHand::refill_ready(long images) {
  for (ov::InferRequest& request : impl_->requests()) impl_->fill(request, pictures().front());
  Window window(images, images / 10);
  return impl_->refill(window, [](ov::InferRequest&, bool) {});
}

void ByHand::run(const cv::Mat& picture) {
  ov::InferRequest& request = impl_->requests().front();
  impl_->fill(request, picture);
  request.infer();
  impl_->read(request, picture);
}

StartTimes start_by_hand(const Network& network) {
  StartTimes times;
  std::stringstream blob;
  times.cold = seconds([&] {
    ov::CompiledModel compiled = compile(with_pictures(network), PerformanceGoal::throughput);
    compiled.create_infer_request();
  });
  compile(with_pictures(network), PerformanceGoal::throughput).export_model(blob);
  times.warm = seconds([&] {
    ov::CompiledModel compiled = core().import_model(
        blob, "CPU", ov::hint::performance_mode(ov::hint::PerformanceMode::THROUGHPUT));
    compiled.create_infer_request();
  });
  return times;
}

std::shared_ptr<void> compile_twice(const std::filesystem::path& file) {
  struct Compiled {
    ov::CompiledModel model;
    std::vector<ov::InferRequest> requests;
  };
  auto both = std::make_shared<std::vector<Compiled>>(2);
  for (Compiled& one : *both) {
    one.model = compile(core().read_model(file.native()), PerformanceGoal::throughput);
    const auto count = one.model.get_property(ov::optimal_number_of_infer_requests);
    for (unsigned i = 0; i < count; ++i) {
      one.requests.push_back(one.model.create_infer_request());
      one.requests.back().infer();
    }
  }
  return both;
}

double in_turns(const std::filesystem::path& file, int in_a_row) {
  constexpr std::size_t kModels = 4, kThreads = 2;
  using Requests = std::vector<ov::InferRequest>;
  static auto& of_file = *new std::map<std::filesystem::path, std::vector<Requests>>;
  std::vector<Requests>& requests = of_file[file];  // by thread, then by model
  if (requests.empty()) {
    requests.resize(kThreads);
    for (std::size_t i = 0; i < kModels; ++i) {
      auto model = compile(core().read_model(file.native()), PerformanceGoal::throughput);
      for (Requests& one : requests) one.push_back(model.create_infer_request());
    }
  }
  const auto rate = [&](std::size_t models) {
    const std::chrono::milliseconds kTime(workload(1000, 20));
    std::atomic<long> runs{0};
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::jthread> threads;
    for (Requests& own : requests)
      threads.emplace_back([&] {
        for (std::size_t i = 0; std::chrono::steady_clock::now() - begin < kTime; ++i, ++runs)
          own[i / static_cast<std::size_t>(in_a_row) % models].infer();
      });
    threads.clear();
    return static_cast<double>(runs);
  };
  return ratio([&] { return rate(kModels); }, [&] { return rate(1); });
}

void write_ir(const std::filesystem::path& file, const std::filesystem::path& folder) {
  ov::save_model(core().read_model(file.native()), (folder / "model.xml").native(), false);
}

}  // namespace vcap::bench::models
