// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/event_detector.hpp"

#include <gmock/gmock.h>

#include <iostream>
#include <sstream>

#include "algorithms/event_scenes.hpp"

namespace vcap::test {
namespace {

// docs/events.md shows this.
TEST(EventDetector, IsUsedAsTheDocumentationShows) {
  const std::vector<cv::Point2d> places{{50, 150}, {150, 150}, {160, 150}, {250, 150}};
  std::ostringstream out;
  // [detector]
  vcap::EventDetector detector(
      {.zones = {{.name = "yard", .polygon = {{100, 100}, {200, 100}, {200, 200}, {100, 200}}}},
       .rules = {{.name = "somebody comes", .what = vcap::EnterRule{.zone = "yard"}}}});
  vcap::Frame frame;
  for (const cv::Point2d place : places) {
    const std::vector<vcap::DetectionNode> nodes{node_at(place, 1)};
    for (const vcap::EventChange& change : detector.update(frame, {640, 480}, nodes))
      out << "frame " << frame.index << ": " << change.event.rule << ' ' << to_string(change.phase)
          << '\n';
    ++frame.index;
    frame.pts += std::chrono::milliseconds(40);
  }
  // [/detector]
  EXPECT_EQ(out.str(), "frame 1: somebody comes begin\nframe 3: somebody comes end\n");
}

}  // namespace
}  // namespace vcap::test
