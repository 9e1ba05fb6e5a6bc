// SPDX-License-Identifier: Apache-2.0
#include "view/changes.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>

#include "support/program_capsule.hpp"
#include "support/quantile.hpp"
#include "support/video.hpp"
#include "support/view_client.hpp"
#include "vcap/pipeline/pipeline.hpp"
#include "vcap/view/live_view.hpp"
#include "view/paced_feed.hpp"
#include "view/watchers.hpp"

namespace vcap::bench {
namespace {

constexpr int kSteady = 8;
const auto kChanges = workload<int>(10'000, 10);
const auto kChangesBefore = workload<int>(1'000, 2);  // until memory and descriptors are steady
const auto kChangesAtOnce = workload<int>(100, 2);    // between two looks at the memory
const auto kStops = workload<int>(50, 1);
constexpr const char* kToken = "admin-of-the-benchmarks";

double resident_mib() {
  long size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

double descriptors() {
  return static_cast<double>(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

/// A live stream of 25 frames a second, whose frames and records are counted.
class Steady {
 public:
  Steady(Pipeline& pipeline, const LiveView& view, std::string id)
      : pipeline_(pipeline), id_(std::move(id)) {
    pipeline.open_stream(
        {.id = id_,
         .source = feed_.source(),
         .sinks = {view.sink(), make_callback_sink([this](const FrameRecord&) { ++records_; })}});
  }

  std::int64_t records() const noexcept { return records_; }
  /// Ends the stream, and returns how many of its frames have no record.
  std::int64_t end() {
    const std::int64_t frames = feed_.end();
    return frames - pipeline_.wait(id_).frames;
  }
  /// Waits until the stream has ended.
  void wait() const { pipeline_.wait(id_); }

 private:
  Pipeline& pipeline_;
  const std::string id_;
  std::atomic<std::int64_t> records_{0};
  PacedFeed feed_{[](std::int64_t) { return cv::Mat(120, 160, CV_8UC3, cv::Scalar::all(90)); }};
};

std::vector<std::unique_ptr<Steady>> steady_streams(Pipeline& pipeline, const LiveView& view) {
  std::vector<std::unique_ptr<Steady>> streams;
  for (int i = 0; i < kSteady; ++i)
    streams.push_back(std::make_unique<Steady>(pipeline, view, "steady " + std::to_string(i)));
  return streams;
}

std::vector<std::shared_ptr<Capsule>> capsules() {
  return {test::program_capsule(
      test::finder_info("finder", "person"),
      [](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState&) {
        DetectionNodes nodes = DetectionNodes::all();
        nodes.add({.name = "person", .coords = rect_to_coords(cv::Rect2d(10, 10, 40, 90))});
        return nodes;
      })};
}

LiveViewSettings settings() {
  LiveViewSettings settings;
  settings.tokens = {{.name = "admin", .token = kToken, .role = ViewRole::admin}};
  settings.sources.folders = {std::filesystem::path(footage()).parent_path().native()};
  return settings;
}

/// Adds and removes a source by the view's API. False if the view refuses it.
bool change(const test::ViewClient& client, const std::string& id) {
  const nlohmann::json stream{{"id", id}, {"source", footage()}};
  return client.ask("POST", "/api/v1/streams", stream.dump()).status == 201 &&
         client.ask("DELETE", "/api/v1/streams?stream=" + id).status == 200;
}

/// Does so many times. Returns the resident memory in MiB after each hundredth time, because it
/// goes up and down by some MiB.
std::vector<double> change(const test::ViewClient& client, int times) {
  std::vector<double> resident;
  for (int i = 0; i < times; ++i) {
    if (!change(client, "passing")) throw std::runtime_error("a source was not added or removed");
    if ((i + 1) % kChangesAtOnce == 0) resident.push_back(resident_mib());
  }
  return resident;
}

/// The median of the last quarter of them, less that of the first.
double growth(const std::vector<double>& resident) {
  const auto quarter = static_cast<std::ptrdiff_t>((resident.size() + 3) / 4);
  return quantile({resident.end() - quarter, resident.end()}, 0.5) -
         quantile({resident.begin(), resident.begin() + quarter}, 0.5);
}

struct Outcome {
  double lost = 0;         ///< frames of all steady streams
  double slowest = 0;      ///< rate of the slowest one, to the pace of its frames
  double memory = 0;       ///< MiB that it grows by, in that time
  double descriptors = 0;  ///< more than before
};

Outcome add_and_remove() {
  Pipeline pipeline(capsules());
  const LiveView view(pipeline, settings());
  const test::ViewClient client(view, kToken);
  const auto streams = steady_streams(pipeline, view);
  change(client, kChangesBefore);

  Outcome outcome{.descriptors = descriptors()};
  std::vector<std::int64_t> records;
  for (const auto& stream : streams) records.push_back(stream->records());
  const double time = seconds([&] { outcome.memory = growth(change(client, kChanges)); });
  outcome.slowest = 1e9;
  for (std::size_t i = 0; i < streams.size(); ++i)
    outcome.slowest = std::min(outcome.slowest,
                               static_cast<double>(streams[i]->records() - records[i]) / time / 25);
  outcome.descriptors = descriptors() - outcome.descriptors;
  for (const auto& stream : streams) outcome.lost += static_cast<double>(stream->end());
  return outcome;
}

const Outcome& outcome() {
  static const Outcome of_all = add_and_remove();
  return of_all;
}

/// The longest of many stops, each at some moment while sources come and go and somebody looks.
double longest_stop() {
  std::mt19937 random(5);
  double longest = 0;
  for (int i = 0; i < kStops; ++i) {
    Pipeline pipeline(capsules());
    auto view = std::make_unique<LiveView>(pipeline, settings());
    const auto streams = steady_streams(pipeline, *view);
    const Watchers watchers(view->port(), {"width=320&rate=10"});
    std::jthread changing([client = test::ViewClient(*view, kToken)](const std::stop_token& stop) {
      try {
        while (!stop.stop_requested()) change(client, "passing");
      } catch (const std::exception&) {
        // The view has ended, and refuses connections.
      }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 300));
    longest = std::max(longest, seconds([&] {
                         pipeline.stop();
                         for (const auto& stream : streams) stream->wait();
                         view.reset();
                       }));
  }
  return longest;
}

}  // namespace

std::vector<Figure> changes() {
  const auto figure = [](std::string what, double target, double Outcome::*value) {
    return Figure{.id = "view.5",
                  .what = std::move(what),
                  .target = target,
                  .sample = [value] { return outcome().*value; },
                  .samples = 1};
  };
  std::vector<Figure> figures{
      figure("frames lost by 8 streams while a source comes and goes 10,000 times", 0,
             &Outcome::lost),
      figure("rate of the slowest of them, to the pace of its frames", 0.99, &Outcome::slowest),
      figure("memory in the last quarter of that, less the first, MiB", 1, &Outcome::memory),
      figure("open descriptors after that, more than before", 0, &Outcome::descriptors),
      {.id = "view.5",
       .what = "the longest of 50 stops in the middle of that, seconds",
       .target = 1,
       .sample = longest_stop,
       .samples = 1}};
  figures[1].better = Better::higher;
  return figures;
}

}  // namespace vcap::bench
