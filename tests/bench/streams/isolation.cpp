// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <opencv2/core.hpp>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "streams/parts.hpp"
#include "support/full_batches.hpp"
#include "support/program_capsule.hpp"
#include "support/quantile.hpp"
#include "vcap/capsule/base_backend.hpp"
#include "vcap/pipeline/pipeline.hpp"

namespace vcap::bench::streams {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kCameras = 64;
constexpr int kOfEachFault = 8;             // first the dying streams, then as many silent ones
constexpr int kThrown = 2 * kOfEachFault;   // this stream: a capsule throws on each of its frames
constexpr int kFirstHealthy = kThrown + 1;  // from here on, all streams are healthy
const auto kFramesOfEach = workload<std::int64_t>(40, 7);  // 4 s
constexpr Clock::duration kPeriod = 100ms;

enum class Health { healthy, dying, silent };

/// A live camera in memory. Each period has one frame at a random moment, so that frames of several
/// cameras coincide equally often in every run. The pts of a frame is the time of its read.
class Camera final : public Source {
 public:
  Camera(int number, Health health, Clock::time_point begin)
      : health_(health),
        begin_(begin),
        period_begin_(begin),
        moments_(static_cast<unsigned>(number)),
        outages_(static_cast<unsigned>(number)) {}

  SourceInfo info() const override {
    return {.description = "camera", .size = image_.size(), .frames_per_second = 10, .live = true};
  }
  std::optional<Frame> read() override {
    if (next_ == kFramesOfEach) return {};
    Discontinuity discontinuity = next_ == 0 ? Discontinuity::start : Discontinuity::none;
    if (health_ == Health::dying && next_ == dies_at_) {
      period_begin_ += std::chrono::milliseconds(std::uniform_int_distribution(100, 500)(outages_));
      dies_at_ += std::uniform_int_distribution(5, 15)(outages_);
      discontinuity = Discontinuity::reconnect;
    }
    if (!wait()) return {};
    return Frame{.image = image_,
                 .index = next_++,
                 .pts = Clock::now() - begin_,
                 .discontinuity = discontinuity};
  }
  void interrupt() noexcept override {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
    changed_.notify_all();
  }

 private:
  /// Waits for the next frame. Returns false if interrupted; a silent camera waits for that.
  bool wait() {
    const auto moment =
        period_begin_ + kPeriod * std::uniform_int_distribution(0, 99)(moments_) / 100;
    period_begin_ += kPeriod;
    std::unique_lock lock(mutex_);
    const auto interrupted = [this] { return interrupted_; };
    if (health_ != Health::silent) return !changed_.wait_until(lock, moment, interrupted);
    changed_.wait(lock, interrupted);
    return false;
  }

  const Health health_;
  const Clock::time_point begin_;
  Clock::time_point period_begin_;
  std::mt19937 moments_, outages_;
  const cv::Mat image_ = cv::Mat(120, 160, CV_8UC3, cv::Scalar::all(0));
  std::int64_t next_ = 0;
  std::int64_t dies_at_ = 5;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool interrupted_ = false;
};

/// Batches over all streams; throws on frames of the stream whose option "throws" is set.
class Finder final : public BaseBackend<std::int64_t, std::int64_t> {
 public:
  DetectionNodes process_frame(const Frame& frame, DetectionNodes, const OptionValues& options,
                               BaseStreamState&) override {
    if (options.get<bool>("throws")) throw std::runtime_error("it cannot do this stream");
    const auto x = static_cast<double>(predict(frame.index));
    DetectionNodes nodes = DetectionNodes::all();
    nodes.add({.name = "thing", .coords = rect_to_coords(cv::Rect2d(x, 0, 10, 10))});
    return nodes;
  }
  std::vector<std::int64_t> batch_predict(std::span<const std::int64_t> inputs) override {
    BusyDevice{300, 20}.predict(inputs.size());
    std::vector<std::int64_t> outputs;
    for (const std::int64_t input : inputs) outputs.push_back(input * 7 % 100);
    return outputs;
  }
};

/// The number of frames that the follower of a stream has seen. So its results show a lost frame.
struct Seen final : BaseStreamState {
  int frames = 0;
};

std::vector<std::shared_ptr<Capsule>> capsules() {
  CapsuleInfo finder = test::finder_info("finder", "thing");
  finder.options = {{"throws", BoolOption{}}};
  CapsuleInfo follower{.name = "follower",
                       .version = 1,
                       .input_type = {.size = NodeDescription::Size::all, .detections = {"thing"}},
                       .output_type = {.size = NodeDescription::Size::all, .detections = {"thing"}},
                       .stream_state = make_stream_state<Seen>()};
  return {
      test::program_capsule(
          std::move(finder),
          []() -> std::unique_ptr<Backend> { return std::make_unique<Finder>(); }),
      test::program_capsule(std::move(follower), [](const Frame&, DetectionNodes nodes,
                                                    const OptionValues&, BaseStreamState& state) {
        auto& seen = dynamic_cast<Seen&>(state);
        ++seen.frames;
        for (DetectionNode& node : nodes)
          node.coords = rect_to_coords(cv::Rect2d(node.bbox().x1, seen.frames, 10, 10));
        return nodes;
      })};
}

/// The latencies and results of one stream; the results contain no times.
struct Outcome {
  std::vector<double> latencies{};  ///< in seconds
  std::vector<double> results{};
};

void note(Outcome& outcome, const FrameRecord& record, Clock::time_point begin) {
  outcome.latencies.push_back(
      std::chrono::duration<double>(Clock::now() - begin - record.frame.pts).count());
  auto& results = outcome.results;
  results.push_back(static_cast<double>(record.frame.index));
  results.push_back(static_cast<double>(record.frame.discontinuity));
  results.push_back(static_cast<double>(record.drops.size()));
  results.push_back(static_cast<double>(record.errors.size()));
  for (const DetectionNode& node : record.objects) {
    const BoundingBox box = node.bbox();
    results.insert(results.end(), {box.x1, box.y1, box.x2, box.y2});
  }
}

using Outcomes = std::vector<Outcome>;  // of the streams that are healthy in both runs

Outcomes run(bool with_faults) {
  const Clock::time_point begin = Clock::now() + 200ms;  // all streams are open by then
  Outcomes outcomes(kCameras);
  const std::vector<std::shared_ptr<Capsule>> made = capsules();
  Pipeline pipeline(made);
  for (int i = 0; i < kCameras; ++i) {
    const Health health = !with_faults || i >= kThrown ? Health::healthy
                          : i < kOfEachFault           ? Health::dying
                                                       : Health::silent;
    std::map<std::string, OptionValues> options;
    if (with_faults && i == kThrown) {
      OptionValues values = made.front()->default_options();
      values.set("throws", true);
      options.emplace("finder", std::move(values));
    }
    Outcome& outcome = outcomes[static_cast<std::size_t>(i)];
    pipeline.open_stream(
        {.id = std::to_string(i),
         .source = std::make_unique<Camera>(i, health, begin),
         .sinks = {make_callback_sink(
             [&outcome, begin](const FrameRecord& record) { note(outcome, record, begin); })},
         .options = std::move(options)});
  }
  for (int i = kFirstHealthy; i < kCameras; ++i) pipeline.wait(std::to_string(i));
  for (int i = 0; i < kFirstHealthy; ++i) pipeline.close_stream(std::to_string(i));
  outcomes.erase(outcomes.begin(), outcomes.begin() + kFirstHealthy);
  return outcomes;
}

double p99(const Outcomes& outcomes) {
  std::vector<double> latencies;
  for (const Outcome& outcome : outcomes)
    latencies.insert(latencies.end(), outcome.latencies.begin(), outcome.latencies.end());
  return quantile(std::move(latencies), 0.99);
}

double streams_that_differ() {
  const Outcomes all_well = run(false), with_faults = run(true);
  int differing = 0;
  for (std::size_t i = 0; i < all_well.size(); ++i) {
    if (std::ssize(all_well[i].latencies) != kFramesOfEach)
      throw std::logic_error("a healthy stream lost frames beside healthy ones");
    if (all_well[i].results != with_faults[i].results) ++differing;
  }
  return differing;
}

}  // namespace

std::vector<Figure> isolation() {
  return {{.id = "streams.4",
           .what = "47 live streams beside 17 ailing, p99 latency of all healthy",
           .target = 1.1,
           .sample =
               [] { return ratio([] { return p99(run(true)); }, [] { return p99(run(false)); }); }},
          {.id = "streams.4",
           .what = "of those 47 streams, the ones whose records differ",
           .target = 0,
           .sample = streams_that_differ,
           .samples = 3}};
}

}  // namespace vcap::bench::streams
