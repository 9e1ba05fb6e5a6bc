// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <opencv2/core.hpp>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "streams/parts.hpp"
#include "support/full_batches.hpp"
#include "support/program_capsule.hpp"
#include "vcap/capsule/base_backend.hpp"
#include "vcap/pipeline/pipeline.hpp"

namespace vcap::bench::streams {
namespace {

constexpr int kStreams = 32;
constexpr BusyDevice kDevice{2000, 50};

class Batching final : public BaseBackend<int, int> {
 public:
  Batching() : BaseBackend({.max_batch_size = kStreams}) {}
  DetectionNodes process_frame(const Frame& frame, DetectionNodes, const OptionValues&,
                               BaseStreamState&) override {
    predict(static_cast<int>(frame.index));
    return DetectionNodes::all();
  }
  std::vector<int> batch_predict(std::span<const int> inputs) override {
    kDevice.predict(inputs.size());
    return {inputs.begin(), inputs.end()};
  }
};

/// Gives small frames until the window is over.
class Endless final : public Source {
 public:
  explicit Endless(const ItemWindow& window) : window_(window) {}
  SourceInfo info() const override { return {.description = "memory", .size = image_.size()}; }
  std::optional<Frame> read() override {
    if (window_.over()) return {};
    Frame frame{.image = image_, .index = next_, .pts = std::chrono::milliseconds(40 * next_)};
    if (next_++ == 0) frame.discontinuity = Discontinuity::start;
    return frame;
  }

 private:
  const ItemWindow& window_;
  const cv::Mat image_ = cv::Mat(12, 16, CV_8UC3, cv::Scalar::all(0));
  std::int64_t next_ = 0;
};

/// Frames per second; `frames_in_flight` 0 means the default.
double in_pipeline_of_batches(std::size_t frames_in_flight) {
  ItemWindow window(kDevice, kStreams);
  Pipeline pipeline({test::program_capsule(
      test::finder_info("batching", "thing"),
      []() -> std::unique_ptr<Backend> { return std::make_unique<Batching>(); })});
  const std::shared_ptr<Sink> sink =
      make_callback_sink([&](const FrameRecord&) { window.count(1); });
  for (int i = 0; i < kStreams; ++i)
    pipeline.open_stream({.id = std::to_string(i),
                          .source = std::make_unique<Endless>(window),
                          .sinks = {sink},
                          .frames_in_flight = frames_in_flight});
  for (int i = 0; i < kStreams; ++i) pipeline.wait(std::to_string(i));
  return window.rate();
}

/// The same inputs from threads that call the executor without a pipeline.
double without_pipeline() {
  ItemWindow window(kDevice, kStreams);
  BatchExecutor<int, int> executor(
      [](std::span<const int> inputs) {
        kDevice.predict(inputs.size());
        return std::vector<int>(inputs.begin(), inputs.end());
      },
      {.max_batch_size = kStreams});
  std::vector<std::jthread> callers;
  for (int i = 0; i < kStreams; ++i)
    callers.emplace_back([&] {
      for (; !window.over(); window.count(1)) executor.run(1);
    });
  callers.clear();
  return window.rate();
}

}  // namespace

std::vector<Figure> batches() {
  std::vector<Figure> figures;
  const auto add = [&](const std::string& who, const std::function<double()>& rate,
                       double target = 0.93) {
    figures.push_back(
        {.id = "streams.3",
         .what = who + ", rate of full batches",
         .target = target,
         .better = Better::higher,
         .sample = [=] { return ratio(rate, [] { return full_batches(kDevice, kStreams); }); }});
  };
  add("32 streams, default in flight", [] { return in_pipeline_of_batches(0); });
  // Nothing is read while a batch runs: this setting is for latency.
  add(
      "32 streams, 1 frame in flight", [] { return in_pipeline_of_batches(1); }, 0.8);
  add("floor: 32 callers of an executor", without_pipeline);
  return figures;
}

}  // namespace vcap::bench::streams
