// SPDX-License-Identifier: Apache-2.0
// Nodes that a capsule changes where they are: the code of docs/writing-a-capsule.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "capsule/fake_capsule.hpp"
#include "support/throws_error.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

CapsuleInfo speed_info() {
  CapsuleInfo info = detector_info();
  info.name = "speed";
  // [keeps-names]
  info.input_type = {.size = vcap::NodeDescription::Size::all, .tracked = true};
  info.output_type = {
      .size = vcap::NodeDescription::Size::all, .tracked = true, .extra_data = {"speed"}};
  // [/keeps-names]
  return info;
}

class Speed final : public Backend {
 public:
  // [in-place]
  vcap::DetectionNodes process_frame(const vcap::Frame&, vcap::DetectionNodes nodes,
                                     const vcap::OptionValues&, vcap::BaseStreamState&) override {
    for (vcap::DetectionNode& node : nodes) node.extra_data["speed"] = speed_of(node);
    return nodes;  // moved, not copied
  }
  // [/in-place]

 private:
  static double speed_of(const DetectionNode& node) { return node.bbox().x1; }
};

std::unique_ptr<Capsule> make_speed() {
  return test::kept_capsule_of(speed_info(),
                               author_of([](auto&&...) { return std::make_unique<Speed>(); }),
                               Capsule::Setup{.devices = {"CPU:0"}});
}

DetectionNodes two_tracks() {
  DetectionNodes nodes = DetectionNodes::all();
  for (const char* name : {"car", "person"})
    nodes.add({.name = name,
               .coords = rect_to_coords(cv::Rect2d(7, 2, 30, 40)),
               .attributes = {{"color", "red"}},
               .track_id = Uuid::parse("f81d4fae-7dec-41d0-a765-00a0c91e6bf6")});
  return nodes;
}

TEST(InPlace, ChangesNodesAndKeepsTheRestOfThem) {
  const DetectionNodes found = make_speed()->process_frame(frame_at(0), two_tracks());
  DetectionNodes expected = two_tracks();
  for (DetectionNode& node : expected) node.extra_data["speed"] = 7.0;
  EXPECT_EQ(found, expected);
}

TEST(InPlace, CopiesNoNode) {
  DetectionNodes nodes = two_tracks();
  const cv::Point2d* const coords = nodes[1].coords.data();
  const DetectionNodes found = make_speed()->process_frame(frame_at(0), std::move(nodes));
  EXPECT_EQ(found[1].coords.data(), coords);
}

TEST(InPlace, IsExplainedToACapsuleThatReturnsNothing) {
  const auto forgetful =
      make_capsule(speed_info(), [](const Frame&, DetectionNodes nodes, const auto&, auto&) {
        for (DetectionNode& node : nodes) node.extra_data["speed"] = 1;
        return DetectionNodes();
      });
  EXPECT_THAT([&] { forgetful->process_frame(frame_at(0), two_tracks()); },
              ThrowsError<TypeMismatch>(
                  ErrorCode::type_mismatch,
                  AllOf(HasSubstr("capsule speed returned nodes of size none; its declared size "
                                  "is all"),
                        HasSubstr("it can change the nodes that it was given, and return them"))));
}

}  // namespace
}  // namespace vcap::test
