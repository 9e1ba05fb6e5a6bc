// SPDX-License-Identifier: Apache-2.0
#include <ctime>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <opencv2/core.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "promises/parts.hpp"
#include "support/program_capsule.hpp"
#include "vcap/pipeline/pipeline.hpp"

namespace vcap::bench::promises {
namespace {

using namespace std::chrono_literals;

constexpr int kSlowStreams = 8;
constexpr auto kSlowCall = 50ms;                // without a core, as of a service elsewhere
constexpr std::int64_t kQuickCall = 2'000'000;  // nanoseconds of one core
const auto kSettle = workload<std::chrono::milliseconds>(500ms, 20ms);
const auto kWindow = workload<std::chrono::milliseconds>(3000ms, 60ms);

/// Gives the same picture until it is interrupted.
class Endless final : public Source {
 public:
  SourceInfo info() const override { return {.description = "memory", .size = image_.size()}; }
  std::optional<Frame> read() override {
    if (interrupted_) return {};
    Frame frame{.image = image_,
                .index = next_,
                .pts = 40ms * next_,
                .discontinuity = next_ == 0 ? Discontinuity::start : Discontinuity::none};
    ++next_;
    return frame;
  }
  void interrupt() noexcept override { interrupted_ = true; }

 private:
  const cv::Mat image_ = cv::Mat(120, 160, CV_8UC3, cv::Scalar::all(0));
  std::int64_t next_ = 0;
  std::atomic<bool> interrupted_ = false;
};

std::int64_t core_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::shared_ptr<Capsule> capsule(const std::string& name, void (*work)()) {
  return test::program_capsule(
      test::finder_info(name, name + "_thing"),
      [work](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState&) {
        work();
        return DetectionNodes::all();
      });
}

void work_slowly() { std::this_thread::sleep_for(kSlowCall); }

void work_quickly() {
  const std::int64_t end = core_time() + kQuickCall;
  while (core_time() < end) {
  }
}

/// Frames a second of each capsule, over all its streams.
struct Rates {
  double slow = 0;
  double quick = 0;
};

std::vector<std::shared_ptr<Capsule>> both() {
  return {capsule("slow", work_slowly), capsule("quick", work_quickly)};
}

std::vector<std::shared_ptr<Capsule>> only_slow() { return {capsule("slow", work_slowly)}; }

/// `workers` 0: the automatic number.
Rates rates(std::size_t workers, bool with_slow, bool with_quick,
            std::vector<std::shared_ptr<Capsule>> capsules = both()) {
  std::atomic<std::int64_t> slow = 0, quick = 0;
  Pipeline pipeline(std::move(capsules), {.workers = workers});
  const auto open = [&](const std::string& id, const char* through,
                        std::atomic<std::int64_t>& count) {
    pipeline.open_stream({.id = id,
                          .source = std::make_unique<Endless>(),
                          .sinks = {make_callback_sink([&count](const FrameRecord&) { ++count; })},
                          .capsules = {{through}}});
  };
  for (int i = 0; with_slow && i < kSlowStreams; ++i)
    open("slow" + std::to_string(i), "slow", slow);
  if (with_quick) open("quick", "quick", quick);
  std::this_thread::sleep_for(kSettle);
  const std::int64_t slow_before = slow, quick_before = quick;
  const double passed = seconds([] { std::this_thread::sleep_for(kWindow); });
  const Rates rates{static_cast<double>(slow - slow_before) / passed,
                    static_cast<double>(quick - quick_before) / passed};
  pipeline.stop();
  return rates;
}

Figure quick_beside_slow(std::size_t workers, const std::string& which) {
  return {
      .id = "promises.1",
      .what = "frames a second of a quick stream beside 8 slow ones, divided by alone; " + which,
      .target = 0.9,
      .better = Better::higher,
      .sample =
          [workers] {
            return ratio([&] { return rates(workers, true, true).quick; },
                         [&] { return rates(workers, false, true).quick; });
          },
      .samples = 5};
}

Figure slow_beside_quick(std::size_t workers, const std::string& which) {
  return {
      .id = "promises.1",
      .what = "frames a second of 8 slow streams beside a quick one, divided by alone; " + which,
      .target = 0.97,
      .better = Better::higher,
      .sample =
          [workers] {
            return ratio([&] { return rates(workers, true, true).slow; },
                         [&] { return rates(workers, true, false).slow; });
          },
      .samples = 5};
}

/// A capsule by itself has no bound on its calls; here it has the bound of one that has neighbours.
Figure slow_beside_quick_to_lone() {
  return {.id = "promises.1",
          .what =
              "frames a second of 8 slow streams beside a quick one, divided by those of a "
              "pipeline with the slow capsule only; automatic workers",
          .target = 0.97,
          .better = Better::higher,
          .sample =
              [] {
                return ratio([] { return rates(0, true, true).slow; },
                             [] { return rates(0, true, false, only_slow()).slow; });
              },
          .samples = 5};
}

}  // namespace

std::vector<Figure> neighbours() {
  return {quick_beside_slow(4, "4 workers"), quick_beside_slow(0, "automatic workers"),
          slow_beside_quick(4, "4 workers"), slow_beside_quick(0, "automatic workers"),
          slow_beside_quick_to_lone()};
}

}  // namespace vcap::bench::promises
