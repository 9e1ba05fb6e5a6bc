// SPDX-License-Identifier: Apache-2.0
// The cost of what is shown of a run. view.1, 2 and 5: the live view. view.3: reports. view.4:
// replay. view.6: events.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/figures.hpp"
#include "vcap/algorithms/event_detector.hpp"
#include "view/changes.hpp"
#include "view/looking.hpp"
#include "view/pixels.hpp"
#include "view/replay.hpp"
#include "view/report.hpp"
#include "view/watchers.hpp"

namespace {

using vcap::bench::workload;

const cv::Size kSize{1920, 1080};
constexpr int kZones = 100;  // 10 × 10, which overlap their neighbours by a third
constexpr int kAtOnce = 50;  // tracks in a frame
const auto kTracks = workload<int>(10'000, 60);  // that come and go
constexpr int kLife = 100;                       // frames, on a way across the picture

/// 100 zones, each with a rule to enter and one to stay.
vcap::EventRules zones_and_rules() {
  vcap::EventRules rules;
  for (int i = 0; i < kZones; ++i) {
    const double x = 192.0 * (i % 10), y = 108.0 * (i / 10);
    const std::string name = "zone " + std::to_string(i);
    rules.zones.push_back({.name = name,
                           .polygon = {{x, y + 20},
                                       {x + 96, y},
                                       {x + 250, y + 30},
                                       {x + 230, y + 140},
                                       {x + 100, y + 120},
                                       {x + 10, y + 140}}});
    rules.rules.push_back({.name = "enter " + name, .what = vcap::EnterRule{.zone = name}});
    rules.rules.push_back({.name = "stay " + name,
                           .what = vcap::StayRule{name, {{"person", std::chrono::seconds(2)}}}});
  }
  return rules;
}

struct Place {
  vcap::Uuid id;
  cv::Point2d feet;
};

/// Where the tracks of each frame are, until all have gone.
std::vector<std::vector<Place>> frames_of_tracks() {
  struct Walker {
    vcap::Uuid id;
    cv::Point2d place, step;
    int left;
  };
  std::mt19937_64 engine(6);
  const auto share = [&] { return static_cast<double>(engine() >> 11) * 0x1p-53; };
  std::vector<Walker> walkers;
  std::vector<std::vector<Place>> frames;
  for (int begun = 0; begun < kTracks || !walkers.empty();) {
    const int due = begun < kAtOnce ? 1 : kAtOnce;  // begin one by one, so that they end so, too
    for (int i = 0; i < due && begun < kTracks && walkers.size() < kAtOnce; ++i, ++begun) {
      const cv::Point2d from(share() * kSize.width, share() * kSize.height);
      const cv::Point2d to(share() * kSize.width, share() * kSize.height);
      walkers.push_back({vcap::Uuid::random(engine), from, (to - from) / kLife, kLife});
    }
    std::vector<Place>& places = frames.emplace_back();
    for (Walker& walker : walkers) {
      places.push_back({walker.id, walker.place});
      walker.place += walker.step;
      --walker.left;
    }
    std::erase_if(walkers, [](const Walker& walker) { return walker.left == 0; });
  }
  return frames;
}

void require(bool holds) {
  if (!holds) throw std::logic_error("the events were not found");
}

const std::vector<std::vector<Place>>& scene() {
  static const auto frames = frames_of_tracks();
  return frames;
}

/// Microseconds of `handle(frame, nodes)` for a frame. The nodes are made before, as a tracker has
/// just made them.
template <class Handle>
double microseconds_a_frame(Handle handle) {
  double seconds = 0;
  std::vector<vcap::DetectionNode> nodes;
  vcap::Frame frame;
  for (const std::vector<Place>& places : scene()) {
    nodes.resize(places.size(), {.name = "person"});
    for (std::size_t i = 0; i < places.size(); ++i) {
      const cv::Point2d feet = places[i].feet;
      nodes[i].coords = vcap::rect_to_coords(cv::Rect2d(feet.x - 20, feet.y - 80, 40, 80));
      nodes[i].track_id = places[i].id;
    }
    seconds += vcap::bench::seconds([&] { handle(frame, nodes); });
    ++frame.index;
    frame.pts += std::chrono::milliseconds(40);
  }
  return seconds * 1e6 / static_cast<double>(scene().size());
}

double frame_us() {
  vcap::EventDetector detector(zones_and_rules());
  std::size_t events = 0;
  const double us = microseconds_a_frame(
      [&](const vcap::Frame& frame, const std::vector<vcap::DetectionNode>& nodes) {
        events += detector.update(frame, kSize, nodes).size();
      });
  require(events > static_cast<std::size_t>(kTracks));
  return us;
}

/// What the same costs by hand, without an index: a point in each of the polygons, every frame.
double plain_frame_us() {
  const vcap::EventRules rules = zones_and_rules();
  std::size_t inside = 0;
  const double us =
      microseconds_a_frame([&](const vcap::Frame&, const std::vector<vcap::DetectionNode>& nodes) {
        for (const vcap::DetectionNode& node : nodes) {
          const vcap::BoundingBox box = node.bbox();
          const cv::Point2d feet(box.centre().x, box.y2);
          for (const vcap::EventZone& zone : rules.zones) {
            bool is_in = false;
            cv::Point2d a = zone.polygon.back();
            for (const cv::Point2d b : zone.polygon) {
              if ((a.y > feet.y) != (b.y > feet.y) &&
                  feet.x < (b.x - a.x) * (feet.y - a.y) / (b.y - a.y) + a.x)
                is_in = !is_in;
              a = b;
            }
            inside += is_in ? 1 : 0;
          }
        }
      });
  require(inside > 0);
  return us;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace vcap::bench;
  if (argc > 1 && std::string_view(argv[1]) == kWatch) return watch(argc - 2, argv + 2);
  std::vector<Figure> figures = looking();
  figures.push_back({.id = "view.2",
                     .what = "ms from the push of a frame to its pixels in Chromium, p95 of 20 s",
                     .target = 150,
                     .sample = milliseconds_to_pixels});
  figures.push_back({.id = "view.3",
                     .what = "time of a report, to reading its 20,000 records",
                     .target = 1.5,
                     .sample = report_to_reading});
  figures.push_back({.id = "view.4",
                     .what = "time of a detector and a tracker on 200 frames of vtest.avi, to "
                             "replaying the tracker",
                     .target = 20,
                     .better = Better::higher,
                     .sample = run_to_replay,
                     .samples = 3});
  for (Figure& figure : changes()) figures.push_back(std::move(figure));
  figures.push_back({.id = "view.6",
                     .what = "us of events a frame, 10,000 tracks (50 at once) through 100 zones",
                     .target = 20,
                     .sample = frame_us});
  figures.push_back({.id = "view.6",
                     .what = "the same, to testing each track against each polygon by hand",
                     .target = 1,
                     .sample = [] { return ratio(frame_us, plain_frame_us); }});
  return run_figures(argc, argv, figures);
}
