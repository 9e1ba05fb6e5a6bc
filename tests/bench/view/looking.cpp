// SPDX-License-Identifier: Apache-2.0
#include "view/looking.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <opencv2/core.hpp>

#include "support/cpu_time.hpp"
#include "support/paths.hpp"
#include "support/video.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/pipeline/pipeline.hpp"
#include "vcap/sources/frame_feed.hpp"
#include "vcap/view/live_view.hpp"
#include "view/paced_feed.hpp"
#include "view/watchers.hpp"

namespace vcap::bench {
namespace {

using namespace std::chrono_literals;

// ---- view.1 ------------------------------------------------------------------------------------

const auto kUnseenFrames = workload<int>(1'000'000, 100);

/// A record as one of vtest.avi, with six people.
FrameRecord record_of_people() {
  FrameRecord record{.stream_id = "gate", .resolution = {768, 576}};
  record.frame.image = cv::Mat(576, 768, CV_8UC3, cv::Scalar::all(90));
  for (int i = 0; i < 6; ++i)
    record.objects.push_back(
        {.name = "person", .coords = rect_to_coords(cv::Rect2d(100.0 * i, 200, 40, 90))});
  return record;
}

/// Microseconds of processor time of a frame of a stream that nobody looks at. `beside`: whether
/// somebody looks at another one.
double unseen_us(bool beside) {
  Pipeline pipeline({});
  const LiveView view(pipeline, {});
  FrameFeed silent;
  pipeline.open_stream({.id = "other", .source = silent.source(), .sinks = {view.sink()}});
  std::optional<Watchers> watchers;
  if (beside) {
    watchers.emplace(view.port(), std::vector<std::string>{"stream=other&rate=10"});
    wait_for_viewers(view, 1);
    std::this_thread::sleep_for(workload(1s, 0s));  // looks are renewed twice a second
  }
  const std::shared_ptr<Sink> sink = view.sink();
  FrameRecord record = record_of_people();
  const double before = cpu_time();
  for (record.frame.index = 0; record.frame.index < kUnseenFrames; ++record.frame.index)
    sink->write(record);
  const double used = cpu_time() - before;
  silent.end();
  pipeline.wait("other");
  return used * 1e6 / kUnseenFrames;
}

/// Seconds for so many frames of each of four streams that come as fast as they can be processed.
double seconds_of_four(const std::vector<std::shared_ptr<Capsule>>& capsules, std::int64_t frames,
                       bool with_viewers) {
  const std::vector<std::string> ids{"a", "b", "c", "d"};
  Pipeline pipeline(capsules);
  std::optional<LiveView> view;
  if (with_viewers) view.emplace(pipeline, LiveViewSettings{});
  return seconds([&] {
    for (const std::string& id : ids) {
      StreamConfig config{
          .id = id, .source = open_source(footage(), {.loop = 0}), .max_frames = frames};
      if (view) config.sinks.push_back(view->sink());
      pipeline.open_stream(std::move(config));
    }
    std::optional<Watchers> watchers;
    if (view) {
      std::vector<std::string> queries;
      for (const std::string& id : ids) queries.push_back("width=640&rate=10&stream=" + id);
      watchers.emplace(view->port(), queries);
    }
    for (const std::string& id : ids)
      if (pipeline.wait(id).frames != frames) throw std::logic_error("a stream lost frames");
  });
}

double rate_with_viewers(const std::vector<std::shared_ptr<Capsule>>& capsules,
                         std::int64_t frames) {
  return ratio([&] { return seconds_of_four(capsules, frames, false); },
               [&] { return seconds_of_four(capsules, frames, true); });
}

double rate_of_detectors() {
  static const std::vector<std::shared_ptr<Capsule>> capsules{
      load_capsule(test::built("examples/capsules/detector_person_hog/detector_person_hog.cap"),
                   {.devices = {"CPU:0"}}),
      load_capsule(test::built("examples/capsules/tracker_person/tracker_person.cap"),
                   {.devices = {"CPU:0"}})};
  return rate_with_viewers(capsules, workload<std::int64_t>(60, 2));
}

double rate_of_decoders() { return rate_with_viewers({}, workload<std::int64_t>(4 * 795, 5)); }

// ---- view.2 ------------------------------------------------------------------------------------

/// The first pictures of vtest.avi, in memory.
std::vector<cv::Mat> first_pictures() {
  std::vector<cv::Mat> pictures;
  const auto video = open_source(footage());
  while (pictures.size() < 25) {
    const std::optional<Frame> frame = video->read();
    if (!frame) throw std::runtime_error("the video has fewer pictures");
    pictures.push_back(frame->image);
  }
  return pictures;
}

/// Processor time of this process, which has the stream and the view, but not the viewers.
double cpu_beside_viewers(int viewers) {
  Pipeline pipeline({});
  const LiveView view(pipeline, {});
  const std::vector<cv::Mat> pictures = first_pictures();
  PacedFeed camera([&](std::int64_t number) {
    return pictures[static_cast<std::size_t>(number) % pictures.size()];
  });
  pipeline.open_stream({.id = "gate", .source = camera.source(), .sinks = {view.sink()}});
  const Process watchers = start_watchers(view.port(), viewers, "width=640&rate=10&stream=gate");
  wait_for_viewers(view, viewers);
  const double before = cpu_time();
  std::this_thread::sleep_for(workload(5000ms, 100ms));
  const double used = cpu_time() - before;
  pipeline.stop();
  return used;
}

}  // namespace

std::vector<Figure> looking() {
  return {{.id = "view.1",
           .what = "us of processor time a frame, a stream of a view that nobody looks at",
           .target = 1,
           .sample = [] { return unseen_us(false); }},
          {.id = "view.1",
           .what = "the same, while somebody looks at another stream",
           .target = 1,
           .sample = [] { return unseen_us(true); }},
          {.id = "view.1",
           .what = "rate of four stored streams, detected and tracked, a viewer each, to no view",
           .target = 0.95,
           .better = Better::higher,
           .sample = rate_of_detectors},
          {.id = "view.1",
           .what = "the same without capsules, 20 times as many frames a second",
           .target = 0.95,
           .better = Better::higher,
           .sample = rate_of_decoders},
          {.id = "view.2",
           .what = "processor time with 50 viewers of a live stream, to one viewer",
           .target = 3,
           .sample = [] {
             return ratio([] { return cpu_beside_viewers(50); },
                          [] { return cpu_beside_viewers(1); });
           }}};
}

}  // namespace vcap::bench
