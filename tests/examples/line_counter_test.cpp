// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <map>

#include <nlohmann/json.hpp>

#include "examples/streams.hpp"
#include "support/throws_error.hpp"

namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

struct Counts {
  std::int64_t in = 0, out = 0;
  bool operator==(const Counts&) const = default;
};

std::ostream& operator<<(std::ostream& stream, const Counts& counts) {
  return stream << counts.in << " in, " << counts.out << " out";
}

const vcap::Uuid kAnn = vcap::Uuid::parse("f81d4fae-7dec-41d0-a765-00a0c91e6bf6");
const vcap::Uuid kBob = vcap::Uuid::parse("0b9c7a52-6f53-4c39-9d0f-2a2f3f9d9a11");

const json kAcross = json::parse("[[0, 0.5], [1, 0.5]]");  // from left to right: "in" is downwards

/// Sends a stream through the counter: a frame a second, of 100 × 100 pixels, so a pixel is 0.01.
class DoorStream {
 public:
  DoorStream(std::shared_ptr<vcap::Capsule> capsule, const json& config, json saved = {})
      : capsule_(std::move(capsule)) {
    capsule_->open_stream(
        {.id = "door", .config = config, .saved = std::move(saved), .saved_by = 1});
  }
  ~DoorStream() { capsule_->clean_up("door"); }
  DoorStream(const DoorStream&) = delete;
  DoorStream& operator=(const DoorStream&) = delete;

  using Feet = std::map<vcap::Uuid, cv::Point2d>;

  /// Shows persons who stand at `feet`; gives the marked crossings by person.
  std::map<vcap::Uuid, std::string> show(
      const Feet& feet, vcap::Discontinuity discontinuity = vcap::Discontinuity::none) {
    vcap::DetectionNodes persons = vcap::DetectionNodes::all();
    for (const auto& [id, foot] : feet) {
      persons.add(examples::person({foot.x - 5, foot.y - 20, 10, 20}));
      persons[persons.size() - 1].track_id = id;
    }
    return show(std::move(persons), discontinuity);
  }

  std::map<vcap::Uuid, std::string> show(
      vcap::DetectionNodes persons, vcap::Discontinuity discontinuity = vcap::Discontinuity::none) {
    const vcap::Frame frame{.image = image,
                            .index = second_,
                            .pts = std::chrono::seconds(second_),
                            .discontinuity = discontinuity};
    ++second_;
    std::map<vcap::Uuid, std::string> crossed;
    const std::size_t before = persons.size();
    std::vector<vcap::DetectionNode> nodes =
        capsule_->process_frame(frame, std::move(persons), {}, "door").take();
    EXPECT_EQ(nodes.size(), before + 1);
    line = nodes.back();
    EXPECT_EQ(line.name, "line");
    nodes.pop_back();
    for (const vcap::DetectionNode& node : nodes) {
      EXPECT_EQ(node.name, "person");
      if (node.attributes.contains("crossed"))
        crossed[node.track_id.value()] = node.attributes.at("crossed");
    }
    return crossed;
  }

  void pass(std::int64_t seconds) { second_ += seconds; }

  Counts counts() const { return {line.extra_data.at("in"), line.extra_data.at("out")}; }
  json saved() const { return capsule_->save_state("door"); }

  cv::Mat image{100, 100, CV_8UC3, cv::Scalar::all(0)};
  vcap::DetectionNode line{};

 private:
  std::shared_ptr<vcap::Capsule> capsule_;
  std::int64_t second_ = 0;
};

class LineCounter : public testing::Test {
 protected:
  std::shared_ptr<vcap::Capsule> capsule_ = examples::load("line_counter");
};

struct WayCase {
  const char* what;
  json line;
  std::vector<cv::Point2d> way;
  Counts counts;
};

TEST_F(LineCounter, CountsCrossingsInEachDirection) {
  const json back = json::parse("[[1, 0.5], [0, 0.5]]");
  const json upwards = json::parse("[[0.5, 1], [0.5, 0]]");
  const json slope = json::parse("[[0, 0], [1, 1]]");
  const json door = json::parse("[[0.3, 0.5], [0.7, 0.5]]");
  const WayCase cases[] = {
      {"down", kAcross, {{50, 40}, {50, 60}}, {1, 0}},
      {"up", kAcross, {{50, 60}, {50, 40}}, {0, 1}},
      {"down, drawn from the right", back, {{50, 40}, {50, 60}}, {0, 1}},
      {"to the right", upwards, {{40, 50}, {60, 50}}, {1, 0}},
      {"to the left", upwards, {{60, 50}, {40, 50}}, {0, 1}},
      {"down over a slope", slope, {{60, 40}, {40, 60}}, {1, 0}},
      {"along a slope", slope, {{20, 10}, {90, 80}}, {0, 0}},
      {"above it all the way", kAcross, {{10, 40}, {50, 45}, {90, 30}}, {0, 0}},
      {"in one leap", kAcross, {{0, 0}, {100, 100}}, {1, 0}},
      {"there and back", kAcross, {{50, 40}, {50, 60}, {60, 40}}, {1, 1}},
      {"in at the bottom edge", kAcross, {{50, 40}, {50, 120}}, {1, 0}},
      {"seen once", kAcross, {{50, 60}}, {0, 0}},
      {"through the door", door, {{50, 40}, {50, 60}}, {1, 0}},
      {"past the door", door, {{20, 40}, {20, 60}}, {0, 0}},
      {"past its other side", door, {{80, 60}, {80, 40}}, {0, 0}},
      {"slantwise through it", door, {{10, 20}, {80, 70}}, {1, 0}},
      {"slantwise past it", door, {{10, 40}, {40, 90}}, {0, 0}},
      {"around its end and back through it",
       door,
       {{50, 40}, {90, 40}, {90, 60}, {50, 60}, {50, 40}},
       {0, 1}},
      {"touching it", kAcross, {{50, 40}, {50, 50}, {50, 40}}, {0, 0}},
      {"resting on it", kAcross, {{50, 40}, {50, 50}, {50, 50}, {50, 60}}, {1, 0}},
      {"coming from it", kAcross, {{50, 50}, {50, 60}}, {0, 0}},
      {"trembling on it",
       kAcross,
       {{50, 40}, {50, 49.2}, {50, 50.8}, {50, 49.5}, {50, 50.9}, {50, 60}},
       {1, 0}},
      {"trembling on it and back",
       kAcross,
       {{50, 40}, {50, 50.8}, {50, 49.5}, {50, 50.9}, {50, 40}},
       {0, 0}},
  };
  for (const WayCase& one : cases) {
    DoorStream stream(capsule_, {{"line", one.line}});
    for (const cv::Point2d& foot : one.way) stream.show({{kAnn, foot}});
    EXPECT_EQ(stream.counts(), one.counts) << one.what;
  }
}

TEST_F(LineCounter, MarksPersonsAtTheFrameOfTheirCrossing) {
  DoorStream stream(capsule_, {{"line", kAcross}});
  EXPECT_THAT(stream.show({{kAnn, {30, 40}}, {kBob, {70, 60}}}), IsEmpty());
  EXPECT_THAT(stream.show({{kAnn, {30, 60}}, {kBob, {70, 40}}}),
              UnorderedElementsAre(std::pair(kAnn, "in"), std::pair(kBob, "out")));
  EXPECT_THAT(stream.show({{kAnn, {30, 70}}, {kBob, {70, 30}}}), IsEmpty());
  EXPECT_EQ(stream.counts(), (Counts{1, 1}));
}

TEST_F(LineCounter, ChangesNothingElseOfPersons) {
  DoorStream stream(capsule_, {{"line", kAcross}});
  vcap::DetectionNode person = examples::person({45, 20, 10, 20});
  person.track_id = kAnn;
  person.attributes = {{"upper_color", "red"}, {"crossed", "in"}};
  person.extra_data["detection_confidence"] = 0.75;
  const vcap::Frame frame{.image = stream.image};
  const vcap::DetectionNodes nodes =
      capsule_->process_frame(frame, vcap::DetectionNodes::all({person}), {}, "door");
  person.attributes.erase("crossed");  // set by another counter, or by another run
  EXPECT_EQ(nodes[0], person);
}

TEST_F(LineCounter, ReportsTheLineInEveryFrame) {
  DoorStream stream(capsule_, {{"line", {{0.25, 0.5}, {1, 0.75}}}, {"name", "gate"}});
  stream.image = cv::Mat(200, 400, CV_8UC3, cv::Scalar::all(0));
  stream.show(DoorStream::Feet());
  ASSERT_EQ(stream.line.coords.size(), 4u);
  const auto middle = [&](std::size_t one, std::size_t other) {
    return (stream.line.coords[one] + stream.line.coords[other]) / 2;
  };
  EXPECT_LT(cv::norm(middle(0, 3) - cv::Point2d(100, 100)), 1e-9);
  EXPECT_LT(cv::norm(middle(1, 2) - cv::Point2d(400, 150)), 1e-9);
  EXPECT_EQ(stream.line.extra_data, (json{{"line", "gate"}, {"in", 0}, {"out", 0}}));
}

TEST_F(LineCounter, OutlinesThePlacesOnTheLine) {
  DoorStream stream(capsule_, {{"line", {{0.5, 0.25}, {0.5, 0.75}}}, {"margin", 0.25}});
  stream.image = cv::Mat(200, 400, CV_8UC3, cv::Scalar::all(0));
  stream.show(DoorStream::Feet());
  EXPECT_EQ(stream.line.coords, (vcap::Coords{{300, 50}, {300, 150}, {100, 150}, {100, 50}}));
}

TEST_F(LineCounter, UsesTheMarginOfItsConfig) {
  DoorStream exact(capsule_, {{"line", kAcross}, {"margin", 0}});
  for (const double y : {49.9, 50.1, 50.0, 49.9, 50.0, 50.1}) exact.show({{kAnn, {50, y}}});
  EXPECT_EQ(exact.counts(), (Counts{2, 1}));
}

TEST_F(LineCounter, CountsAPersonWhoWasMissedWhileCrossing) {
  DoorStream stream(capsule_, {{"line", kAcross}});
  stream.show({{kAnn, {50, 40}}});
  stream.pass(50);
  EXPECT_EQ(stream.show({{kAnn, {50, 60}}}).size(), 1u);
}

TEST_F(LineCounter, ForgetsAPersonWhoWasNotSeenForAMinute) {
  DoorStream stream(capsule_, {{"line", kAcross}});
  stream.show({{kAnn, {50, 40}}});
  stream.pass(60);
  EXPECT_THAT(stream.show({{kAnn, {50, 60}}}), IsEmpty());
}

TEST_F(LineCounter, RemembersAPersonWhoStandsOnTheLine) {
  DoorStream stream(capsule_, {{"line", kAcross}});
  stream.show({{kAnn, {50, 40}}});
  for (int i = 0; i < 100; ++i) stream.show({{kAnn, {50, 50}}});
  EXPECT_EQ(stream.show({{kAnn, {50, 60}}}).size(), 1u);
}

TEST_F(LineCounter, KeepsNoMoreThanAMinuteOfTracks) {
  DoorStream stream(capsule_, {{"line", kAcross}});
  for (int i = 0; i < 2000; ++i) {
    const vcap::Uuid id = vcap::Uuid::random();
    stream.show({{id, {50, 40}}});
    stream.show({{id, {50, 60}}});
  }
  EXPECT_EQ(stream.counts(), (Counts{2000, 0}));
  EXPECT_LE(stream.saved().at("tracks").size(), 31u) << "each track lasts two seconds";
}

TEST_F(LineCounter, KeepsItsCountsAfterDiscontinuities) {
  using enum vcap::Discontinuity;
  DoorStream stream(capsule_, {{"line", kAcross}});
  stream.show({{kAnn, {50, 40}}}, start);
  stream.show({{kAnn, {50, 60}}});
  for (const auto discontinuity : {gap, seek, reconnect, loop})
    stream.show(DoorStream::Feet(), discontinuity);
  EXPECT_EQ(stream.counts(), (Counts{1, 0}));
}

TEST_F(LineCounter, HandlesPicturesOfAnotherSize) {
  DoorStream stream(capsule_, {{"line", kAcross}});
  stream.show({{kAnn, {50, 40}}});
  stream.image = cv::Mat(400, 300, CV_8UC3, cv::Scalar::all(0));
  EXPECT_THAT(stream.show({{kAnn, {150, 160}}}), IsEmpty()) << "the same place";
  EXPECT_EQ(stream.show({{kAnn, {150, 240}}}).size(), 1u);
}

TEST_F(LineCounter, ContinuesFromAStateThatAnotherVersionSaved) {
  DoorStream stream(capsule_, {{"line", kAcross}});
  stream.show({{kAnn, {50, 40}}});
  stream.show({{kAnn, {50, 60}}, {kBob, {70, 60}}});
  DoorStream newer(examples::load("line_counter"), {{"line", kAcross}}, stream.saved());
  EXPECT_EQ(newer.show({{kBob, {70, 40}}}).size(), 1u) << "the new version lost the tracks";
  EXPECT_EQ(newer.counts(), (Counts{1, 1})) << "the new version lost the counts";
  EXPECT_EQ(newer.saved().at("counts"), (json{{"in", 1}, {"out", 1}}));
}

struct WrongConfig {
  json config;
  const char* place;
};

TEST_F(LineCounter, RefusesConfigsThatDescribeNoLine) {
  const WrongConfig cases[] = {
      {json::object(), "/line is missing"},
      {{{"line", "across"}}, "/line"},
      {{{"line", {{0.1, 0.5}}}}, "/line"},
      {{{"line", {{0.1, 0.5}, {0.1, 0.5}}}}, "/line"},
      {{{"line", {{0.1, 0.5}, {0.9}}}}, "/line/1"},
      {{{"line", {{0.1, 0.5}, {640, 0.5}}}}, "/line/1/0"},
      {{{"line", {{-0.1, 0.5}, {1, 0.5}}}}, "/line/0/0"},
      {{{"line", kAcross}, {"margin", 0.6}}, "/margin"},
      {{{"line", kAcross}, {"name", ""}}, "/name"},
      {{{"line", kAcross}, {"lines", 2}}, "/lines"},
  };
  for (const WrongConfig& one : cases)
    EXPECT_THAT([&] { capsule_->open_stream({.id = "door", .config = one.config}); },
                vcap::ThrowsError<vcap::InvalidArgument>(
                    vcap::ErrorCode::invalid_config,
                    AllOf(HasSubstr("line_counter"), HasSubstr(one.place))))
        << one.config;
}

}  // namespace
