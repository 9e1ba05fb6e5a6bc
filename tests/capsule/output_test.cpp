// SPDX-License-Identifier: Apache-2.0
// What a capsule gives is held against what it declares.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "capsule/fake_capsule.hpp"
#include "capsule/output_check.hpp"
#include "support/live_helpers.hpp"
#include "support/nested_nodes.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/capsule/output_policy.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
const Uuid kTrack = Uuid::parse("f81d4fae-7dec-41d0-a765-00a0c91e6bf6");

/// A detector that declares something of every kind.
CapsuleInfo declaring_info() {
  CapsuleInfo info = detector_info();
  info.output_type.attributes = {{"color", {"red", "blue"}}, {"pose", {"stands", "sits"}}};
  info.output_type.encoded = true;
  info.output_type.tracked = true;
  info.output_type.keypoints = {"nose", "left_knee"};
  info.output_type.extra_data = {"score"};
  info.recognition_threshold = 0.5;
  return info;
}

/// A node that has all of it.
DetectionNode declared_node() {
  DetectionNode node{.name = "person", .coords = rect_to_coords(cv::Rect2d(1, 2, 30, 40))};
  node.attributes = {{"color", "red"}, {"pose", "sits"}};
  node.keypoints = {{.name = "nose", .point = {5, 6}, .z = -1.0, .confidence = 1.0}};
  node.encoding = {0.25f, -1e30f};
  node.track_id = kTrack;
  node.extra_data = {
      {"score", 7}, {"confidence", 1.0}, {"more", {1, "two", nullptr, {{"a", 2.5}}}}};
  return node;
}

std::unique_ptr<Capsule> capsule_giving(CapsuleInfo info, DetectionNodes nodes,
                                        OutputPolicy policy = {}) {
  return test::kept_capsule_of(
      std::move(info),
      author_of([nodes = std::move(nodes)](const CapsuleFiles&, const std::string&) {
        auto backend = std::make_unique<FakeBackend>();
        backend->process = [nodes](auto&&...) { return nodes; };
        return backend;
      }),
      Capsule::Setup{.devices = {"CPU:0"}, .outputs = policy});
}

/// The nodes after they have left a capsule that gives them.
DetectionNodes after_leaving(CapsuleInfo info, std::vector<DetectionNode> nodes,
                             OutputPolicy policy = {}) {
  return capsule_giving(std::move(info), DetectionNodes::all(std::move(nodes)), policy)
      ->process_frame(frame_at(0));
}

TEST(CapsuleOutput, IsKeptIfItIsAsDeclared) {
  std::vector<DetectionNode> nodes{declared_node(), declared_node()};
  nodes[0].children = {declared_node()};
  nodes[1].coords.clear();
  nodes[1].keypoints.clear();
  nodes[1].detection_bbox = {0, 0, 5, 5};
  nodes[1].extra_data["confidence"] = 1.0f + 1e-6f;  // a sum of softmax
  const DetectionNodes expected = DetectionNodes::all(nodes);
  EXPECT_EQ(after_leaving(declaring_info(), std::move(nodes)), expected);
}

struct SpoiltNode {
  const char* what;
  std::function<void(DetectionNode&)> spoil;
  std::vector<std::string> words;  ///< of the message
  bool can_be_kept = true;         ///< by InvalidOutput::warn
};

const std::vector<SpoiltNode> kSpoiltNodes{
    {"Name",
     [](auto& node) { node.name = "persn"; },
     {R"(node /0 "persn")", "its name is not declared", R"(are "person"; did you mean "person"?)"}},
    {"Attribute",
     [](auto& node) { node.attributes["colour"] = "red"; },
     {R"(attribute "colour" with the value "red" is not declared)", R"("color", "pose")",
      R"(did you mean "color"?)"}},
    {"AttributeBeforeAllOthers", [](auto& node) { node.attributes["age"] = "9"; }, {R"("age")"}},
    {"AttributeAfterAllOthers", [](auto& node) { node.attributes["zone"] = "9"; }, {R"("zone")"}},
    {"AttributeValue",
     [](auto& node) { node.attributes["color"] = "bleu"; },
     {R"(attribute "color" is "bleu")", R"("blue", "red")", R"(did you mean "blue"?)"}},
    {"MissingFirstAttribute",
     [](auto& node) { node.attributes.erase("color"); },
     {R"(attribute "color" is missing)", R"("blue", "red")", R"(the node has "pose")"}},
    {"MissingLastAttribute",
     [](auto& node) { node.attributes.erase("pose"); },
     {R"(attribute "pose" is missing)"}},
    {"MissingTrack", [](auto& node) { node.track_id.reset(); }, {"it has no track_id"}},
    {"MissingEncoding", [](auto& node) { node.encoding.reset(); }, {"it has no encoding"}},
    {"MissingKeyOfExtraData",
     [](auto& node) { node.extra_data->erase("score"); },
     {R"(extra_data has no "score")", R"("confidence", "more")"}},
    {"NoExtraData", [](auto& node) { node.extra_data = nullptr; }, {R"(has no "score")"}},
    {"Keypoint",
     [](auto& node) { node.keypoints.push_back({.name = "left_kne"}); },
     {R"(keypoint "left_kne" is not declared)", R"(did you mean "left_knee"?)"}},
    {"OutlineOfOnePoint", [](auto& node) { node.coords.resize(1); }, {"coords has 1 point,"}},
    {"OutlineOfTwoPoints", [](auto& node) { node.coords.resize(2); }, {"coords has 2 points"}},
    {"NoNumberInOutline",
     [](auto& node) { node.coords[2].y = kNoNumber; },
     {"point 2 of coords is x 31.0, y NaN"},
     false},
    {"InfinityInOutline", [](auto& node) { node.coords[0].x = -INFINITY; }, {"x -infinity"}, false},
    {"OutlineWhoseWidthIsInfinite",
     [](auto& node) {
       node.coords[0].x = -1.7e308;
       node.coords[1].x = 1.7e308;
     },
     {"no place in pixels"},
     false},
    {"NoNumberInDetectionBox",
     [](auto& node) {
       node.detection_bbox = BoundingBox{0, 0, kNoNumber, 1};
     },
     {"detection_bbox", "x2 NaN"},
     false},
    {"NoNumberInKeypoint",
     [](auto& node) { node.keypoints[0].point.x = kNoNumber; },
     {R"(keypoint "nose" is at x NaN, y 6.0, z -1.0)"},
     false},
    {"NoNumberInDepth", [](auto& node) { node.keypoints[0].z = kNoNumber; }, {"z NaN"}, false},
    {"ConfidenceOfKeypoint",
     [](auto& node) { node.keypoints[0].confidence = 1.01; },
     {"confidence 1.01", "not within 0 to 1"}},
    {"NoNumberAsConfidenceOfKeypoint",
     [](auto& node) { node.keypoints[0].confidence = kNoNumber; },
     {"confidence NaN"},
     false},
    {"Confidence",
     [](auto& node) { node.extra_data["confidence"] = -0.5; },
     {"confidence in extra_data is -0.5", "not within 0 to 1"}},
    {"DetectionConfidence",
     [](auto& node) { node.extra_data["detection_confidence"] = 3; },
     {"detection_confidence in extra_data is 3.0"}},
    {"NoNumberInEncoding",
     [](auto& node) { (*node.encoding)[1] = NAN; },
     {"element 1 of 2 of its encoding is NaN"},
     false},
    {"InfinityInEncoding",
     [](auto& node) { (*node.encoding)[0] = -INFINITY; },
     {"element 0 of 2", "-infinity"},
     false},
    {"ListAsExtraData",
     [](auto& node) { node.extra_data = nlohmann::json::array({1}); },
     {"extra_data is JSON of type array", "give an object"},
     false},
    {"DiscardedExtraData",
     [](auto& node) { node.extra_data = nlohmann::json(nlohmann::json::value_t::discarded); },
     {"of type discarded"},
     false},
    {"DiscardedValue",
     [](auto& node) {
       node.extra_data["more"][2] = nlohmann::json(nlohmann::json::value_t::discarded);
     },
     {"extra_data/more/2 is of type discarded"},
     false},
    {"BinaryValue",
     [](auto& node) {
       node.extra_data["raw"] = nlohmann::json::binary({1, 2});
     },
     {"extra_data/raw is of type binary"},
     false},
    {"NoNumberInExtraData",
     [](auto& node) { node.extra_data["more"][3]["a/b"] = kNoNumber; },
     {"extra_data/more/3/a~1b is NaN"},
     false},
    {"TextThatIsNotUtf8",
     [](auto& node) { node.extra_data["more"][1] = "gr\xfc\xdf"; },
     {"the text at extra_data/more/1 is not UTF-8 at byte 2"}},
    {"KeyThatIsNotUtf8",
     [](auto& node) { node.extra_data["\xff"] = 1; },
     {"the key at extra_data/", "is not UTF-8 at byte 0"},
     false},
    {"CategoryThatIsNotUtf8",
     [](auto& node) { node.attributes["\xff"] = "red"; },
     {"with the value \"red\" is not declared"},
     false},
};

class SpoiltOutput : public testing::TestWithParam<SpoiltNode> {
 protected:
  std::vector<DetectionNode> nodes() const {
    std::vector<DetectionNode> nodes{declared_node()};
    GetParam().spoil(nodes.front());
    return nodes;
  }
  void expect_refused(InvalidOutput choice) const {
    try {
      after_leaving(declaring_info(), nodes(), {.invalid = choice});
      ADD_FAILURE() << "it was kept";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_output);
      EXPECT_THAT(error.what(), testing::StartsWith("capsule detector_fake gave node /0 "));
      for (const std::string& word : GetParam().words) EXPECT_THAT(error.what(), HasSubstr(word));
    }
  }
};

TEST_P(SpoiltOutput, IsRefused) { expect_refused(InvalidOutput::error); }

TEST_P(SpoiltOutput, IsOnlyReportedIfTheHostSaysSoAndARecordCanHoldIt) {
  if (!GetParam().can_be_kept) return expect_refused(InvalidOutput::warn);
  KeptLog log;
  EXPECT_EQ(after_leaving(declaring_info(), nodes(), {.invalid = InvalidOutput::warn}),
            DetectionNodes::all(nodes()));
  for (const std::string& word : GetParam().words) EXPECT_THAT(log.text(), HasSubstr(word));
}

TEST_P(SpoiltOutput, IsNotCheckedIfTheHostSaysSo) {
  KeptLog log;
  EXPECT_EQ(after_leaving(declaring_info(), nodes(), {.invalid = InvalidOutput::off}).size(), 1u);
  EXPECT_EQ(log.text(), "");
}

INSTANTIATE_TEST_SUITE_P(Nodes, SpoiltOutput, testing::ValuesIn(kSpoiltNodes),
                         [](const auto& test_info) { return test_info.param.what; });

TEST(CapsuleOutput, NamesThePlaceOfTheNodeAtFault) {
  std::vector<DetectionNode> nodes{declared_node(), declared_node()};
  nodes[1].children.resize(3, declared_node());
  nodes[1].children[2].children = {{.name = "face"}};
  EXPECT_THAT([&] { after_leaving(declaring_info(), nodes); },
              ThrowsError<Error>(ErrorCode::invalid_output,
                                 HasSubstr(R"(gave node /1/children/2/children/0 "face": its)")));
}

TEST(CapsuleOutput, LacksNothingOnChildrenEither) {
  std::vector<DetectionNode> nodes{declared_node()};
  nodes[0].children = {declared_node()};
  nodes[0].children[0].attributes.erase("pose");
  EXPECT_THAT([&] { after_leaving(declaring_info(), nodes); },
              ThrowsError<Error>(ErrorCode::invalid_output,
                                 AllOf(HasSubstr("node /0/children/0 "),
                                       HasSubstr("attribute \"pose\" is missing"))));
}

TEST(CapsuleOutput, IsReportedOnceInTheLogIfNobodyElseWantsToKnow) {
  KeptLog log;
  const auto capsule = capsule_giving(detector_info(), DetectionNodes::all({{.name = "persn"}}),
                                      {.invalid = InvalidOutput::warn});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(capsule->process_frame(frame_at(i)).size(), 1u);
  EXPECT_THAT(log.text(), HasSubstr("persn"));
  EXPECT_EQ(log.text().find("persn"), log.text().rfind("\"persn\"") + 1) << log.text();
}

TEST(CapsuleOutput, MayLackWhatOnlySomeOfSeveralDeclaredNamesHave) {
  CapsuleInfo info = declaring_info();
  info.output_type.detections = {"person", "line"};
  EXPECT_EQ(after_leaving(info, {declared_node(), {.name = "line"}}).size(), 2u);
  EXPECT_THAT(
      [&] {
        after_leaving(info, {{.name = "line", .attributes = {{"color", "pink"}}}});
      },
      ThrowsError<Error>(ErrorCode::invalid_output, HasSubstr("\"pink\"")));
}

TEST(CapsuleOutput, MayNotHaveATrackOrAnEncodingThatIsNotDeclared) {
  DetectionNode tracked{.name = "person", .track_id = kTrack};
  EXPECT_THAT([&] { after_leaving(detector_info(), {tracked}); },
              ThrowsError<Error>(ErrorCode::invalid_output,
                                 HasSubstr("it has a track_id, but output_type.tracked is false")));
  DetectionNode encoded{.name = "person"};
  encoded.encoding.emplace();
  EXPECT_THAT([&] { after_leaving(detector_info(), {encoded}); },
              ThrowsError<Error>(ErrorCode::invalid_output, HasSubstr("it has an encoding, but")));
}

/// A capsule that takes all persons, and gives what `process` makes of them.
CapsuleInfo taking_persons() {
  CapsuleInfo info = detector_info();
  info.input_type = {.size = NodeDescription::Size::all, .detections = {"person"}};
  info.output_type.attributes = {{"mood", {"good", "bad"}}};
  return info;
}

/// A person with what other capsules have added.
DetectionNode person_of_others() {
  DetectionNode node{.name = "person", .attributes = {{"color", "red"}}};
  node.keypoints = {{.name = "nose"}};
  node.encoding = {1.0f};
  node.track_id = kTrack;
  node.children = {{.name = "face", .attributes = {{"mood", "unsure"}}}};
  return node;
}

TEST(CapsuleOutput, MayHaveWhatTheNodesThatItWasGivenHave) {
  const auto capsule = make_capsule(
      taking_persons(), [](const Frame& frame, DetectionNodes nodes, const auto&, auto&) {
        if (frame.index == 0) nodes[0].attributes["mood"] = "good";
        if (frame.index == 1) nodes[0].attributes = {{"color", "red"}, {"mood", "unsure"}};
        if (frame.index == 2) nodes[0].attributes = {{"color", "blue"}, {"mood", "good"}};
        return nodes;
      });
  const auto given = [] { return DetectionNodes::all({person_of_others()}); };
  EXPECT_EQ(capsule->process_frame(frame_at(0), given()).size(), 1u);
  EXPECT_EQ(capsule->process_frame(frame_at(1), given()).size(), 1u)
      << "another capsule's value of an own attribute, on a child";
  EXPECT_THAT([&] { capsule->process_frame(frame_at(2), given()); },
              ThrowsError<Error>(ErrorCode::invalid_output,
                                 AllOf(HasSubstr("\"color\""), HasSubstr("\"blue\""))));
  EXPECT_THAT([&] { capsule->process_frame(frame_at(3), given()); },
              ThrowsError<Error>(ErrorCode::invalid_output, HasSubstr("\"mood\" is missing")));
}

TEST(CapsuleOutput, MayGiveNodesOfOtherNamesBackAsTheyAre) {
  CapsuleInfo info = taking_persons();
  info.input_type.detections = {};
  const auto capsule = make_capsule(
      info, [](const Frame&, DetectionNodes nodes, const auto&, auto&) { return nodes; });
  const DetectionNodes cars = DetectionNodes::all({{.name = "car"}});
  EXPECT_EQ(capsule->process_frame(frame_at(0), cars), cars);
}

TEST(CapsuleOutput, HasTheNamesThatCameInIfItsTypeListsNone) {
  CapsuleInfo info = detector_info();
  info.input_type = {.size = NodeDescription::Size::all};
  info.output_type = {.size = NodeDescription::Size::all, .extra_data = {"speed"}};
  check(info);
  const auto capsule =
      make_capsule(info, [](const Frame& frame, DetectionNodes nodes, const auto&, auto&) {
        for (DetectionNode& node : nodes)
          if (frame.index != 1) node.extra_data["speed"] = 3;
        if (frame.index == 2) nodes[0].name = "truck";
        return nodes;
      });
  const auto given = [] { return DetectionNodes::all({{.name = "car"}, {.name = "person"}}); };
  EXPECT_EQ(capsule->process_frame(frame_at(0), given()).size(), 2u);
  EXPECT_THAT([&] { capsule->process_frame(frame_at(1), given()); },
              ThrowsError<Error>(ErrorCode::invalid_output,
                                 AllOf(HasSubstr("\"car\""), HasSubstr("no \"speed\""))))
      << "each node has what the type lists";
  EXPECT_THAT([&] { capsule->process_frame(frame_at(2), given()); },
              ThrowsError<Error>(
                  ErrorCode::invalid_output,
                  AllOf(HasSubstr("\"truck\""), HasSubstr("no node that it was given has this "
                                                          "name"))));
}

/// What a stream's state remembers of what the capsule was given needs bounded memory.
TEST(PassedOn, CountsAllAsPassedOnOnceItsRoomIsFull) {
  for (const bool are_many : {true, false}) {
    detail::PassedOn passed_on;
    for (int i = 0; i < (are_many ? 256 : 255); ++i)
      passed_on.add_attribute("id", std::to_string(i));
    EXPECT_TRUE(passed_on.has_attribute("id", "254"));
    EXPECT_FALSE(passed_on.has_attribute("id", "256"));
    if (are_many)
      passed_on.add_attribute("id", "a");
    else
      passed_on.add_attribute("id", std::string(1025, 'x'));
    EXPECT_TRUE(passed_on.has_attribute("id", "256"));
    EXPECT_FALSE(passed_on.has_name("id"));
  }
}

TEST(CapsuleOutput, MayHaveWhatItWasGivenSinceItsStateWasMade) {
  CapsuleInfo info = taking_persons();
  info.output_type.attributes = {};
  info.stream_state = make_stream_state<BaseStreamState>();
  const auto capsule = make_capsule(info, [](const Frame&, DetectionNodes, const auto&, auto&) {
    return DetectionNodes::all({{.name = "person", .attributes = {{"color", "red"}}}});
  });
  const auto nodes = [] { return DetectionNodes::all({person_of_others()}); };
  const DetectionNodes none = DetectionNodes::all();
  EXPECT_THROW(capsule->process_frame(frame_at(0), none, {}, "a"), Error);
  EXPECT_NO_THROW(capsule->process_frame(frame_at(1), nodes(), {}, "a"));
  EXPECT_NO_THROW(capsule->process_frame(frame_at(2), none, {}, "a"));
  EXPECT_THROW(capsule->process_frame(frame_at(2), none, {}, "b"), Error) << "another stream";
  EXPECT_THROW(capsule->process_frame(frame_at(3, Discontinuity::gap), none, {}, "a"), Error)
      << "another state";
}

TEST(CapsuleOutput, IsCheckedForWindowsToo) {
  class Windows final : public Backend {
   public:
    DetectionNodes process_window(std::span<const Frame>, std::span<DetectionNodes> nodes,
                                  const OptionValues&, BaseStreamState&) override {
      return nodes[0].empty() ? DetectionNodes::all({{.name = "ghost"}}) : std::move(nodes[0]);
    }
  };
  CapsuleInfo info = taking_persons();
  info.output_type.attributes = {};
  info.stencil = {{-1, 0}};
  Capsule capsule =
      test::capsule_of(info, author_of([](auto&&...) { return std::make_unique<Windows>(); }),
                       Capsule::Setup{.devices = {"CPU:0"}});
  const std::vector<Frame> frames{frame_at(0), frame_at(1)};
  std::vector<DetectionNodes> nodes{DetectionNodes::all({person_of_others()}),
                                    DetectionNodes::all()};
  EXPECT_NO_THROW(capsule.process_window(frames[1], frames, nodes)) << "nodes of the frame before";
  nodes = {DetectionNodes::all(), DetectionNodes::all()};
  EXPECT_THAT([&] { capsule.process_window(frames[1], frames, nodes); },
              ThrowsError<Error>(ErrorCode::invalid_output, HasSubstr("\"ghost\"")));
}

TEST(CapsuleOutput, IsCheckedForFramesTogetherToo) {
  class Together final : public Backend {
   public:
    std::optional<std::vector<DetectionNodes>> process_frames(std::span<const Frame> frames,
                                                              std::span<DetectionNodes>,
                                                              const OptionValues&,
                                                              BaseStreamState&) override {
      std::vector<DetectionNodes> results(frames.size(), DetectionNodes::all());
      if (frames.back().index == 9) results.back().add({.name = "ghost"});
      return results;
    }
  };
  CapsuleInfo info = detector_info();
  info.batch = BatchSizes{.maximum = 4};
  Capsule capsule =
      test::capsule_of(info, author_of([](auto&&...) { return std::make_unique<Together>(); }),
                       Capsule::Setup{.devices = {"CPU:0"}});
  std::vector<DetectionNodes> nodes(2);
  EXPECT_EQ(capsule.process_frames(std::vector{frame_at(0), frame_at(1)}, nodes)->size(), 2u);
  EXPECT_THAT(
      [&] {
        capsule.process_frames(std::vector{frame_at(8), frame_at(9)}, nodes);
      },
      ThrowsError<Error>(ErrorCode::invalid_output, HasSubstr("\"ghost\"")));
}

/// Only moves what it gives, since copies of nodes and lists recurse.
std::unique_ptr<Capsule> capsule_moving(std::function<DetectionNode()> make, InvalidOutput choice) {
  return test::kept_capsule_of(
      detector_info(), author_of([make](const CapsuleFiles&, const std::string&) {
        auto backend = std::make_unique<FakeBackend>();
        backend->process = [make](auto&&...) {
          DetectionNodes nodes = DetectionNodes::all();
          nodes.add(make());
          return nodes;
        };
        return backend;
      }),
      Capsule::Setup{.devices = {"CPU:0"}, .outputs = {.invalid = choice}});
}

TEST(CapsuleOutput, HasABoundedNumberOfLevels) {
  for (const InvalidOutput choice :
       {InvalidOutput::error, InvalidOutput::warn, InvalidOutput::off}) {
    const auto giving_nodes = [&](std::size_t levels) {
      capsule_moving([levels] { return test::nested_person(levels); }, choice)
          ->process_frame(frame_at(0));
    };
    EXPECT_NO_THROW(giving_nodes(64));
    for (const std::size_t levels : {65u, 200'000u})
      EXPECT_THAT([&] { giving_nodes(levels); },
                  ThrowsError<Error>(ErrorCode::invalid_output, HasSubstr("64 levels")));
    const auto giving_data = [&](std::size_t levels) {
      const auto make = [levels] {
        DetectionNode node{.name = "person"};
        node.extra_data["deep"] = test::nested_lists(levels);
        return node;
      };
      capsule_moving(make, choice)->process_frame(frame_at(0));
    };
    EXPECT_NO_THROW(giving_data(63)) << "and the object around it";
    for (const std::size_t levels : {64u, 200'000u})
      EXPECT_THAT([&] { giving_data(levels); },
                  ThrowsError<Error>(ErrorCode::invalid_output, HasSubstr("more than 64 levels")));
  }
}

TEST(CapsuleOutput, HasABoundedNumberOfNodes) {
  std::vector<DetectionNode> nodes(3, {.name = "person"});
  nodes[2].children.resize(2, {.name = "person"});
  EXPECT_EQ(after_leaving(detector_info(), nodes, {.max_nodes = 5}).size(), 3u);
  for (const InvalidOutput choice : {InvalidOutput::error, InvalidOutput::warn})
    EXPECT_THAT(
        [&] {
          after_leaving(detector_info(), nodes, {choice, 4});
        },
        ThrowsError<Error>(ErrorCode::invalid_output,
                           AllOf(HasSubstr("capsule detector_fake gave 5 nodes or more"),
                                 HasSubstr("the host allows 4"))));
  EXPECT_EQ(after_leaving(detector_info(), nodes, {InvalidOutput::off, 4}).size(), 3u);
  EXPECT_THAT([] { after_leaving(detector_info(), std::vector<DetectionNode>(100'000)); },
              ThrowsError<Error>(ErrorCode::invalid_output, HasSubstr("the host allows 10000")));
}

TEST(CapsuleOutput, HasABoundedNumberOfBytes) {
  const std::vector<std::function<void(DetectionNode&)>> ways{
      [](auto& node) { node.extra_data["blob"] = std::string(3000, 'x'); },
      [](auto& node) { node.extra_data[std::string(3000, 'x')] = 1; },
      [](auto& node) { node.extra_data["list"] = std::vector<int>(1000, 7); },
      [](auto& node) { node.coords.resize(1000); },
      [](auto& node) { node.name = std::string(3000, 'x'); },
      [](auto& node) { node.encoding = std::vector<float>(1000); },
      [](auto& node) { node.keypoints.resize(1000); },
      [](auto& node) { node.attributes["color"] = std::string(3000, 'x'); },
  };
  for (std::size_t way = 0; way < ways.size(); ++way) {
    DetectionNode node{.name = "person"};
    ways[way](node);
    EXPECT_THAT(
        [&] {
          after_leaving(detector_info(), {node}, {InvalidOutput::warn, 10, 2000});
        },
        ThrowsError<Error>(
            ErrorCode::invalid_output,
            AllOf(HasSubstr("capsule detector_fake gave some"), HasSubstr("the host allows 2000"))))
        << way;
  }
  DetectionNode large{.name = "person"};
  large.extra_data["blob"] = std::string(20'000'000, 'x');
  EXPECT_THAT([&] { after_leaving(detector_info(), {large}); },
              ThrowsError<Error>(ErrorCode::invalid_output, HasSubstr("allows 16777216")));
}

TEST(CapsuleOutput, IsMeasuredAsInRecords) {
  DetectionNode node = declared_node();
  node.children.resize(3, declared_node());
  std::string warning;
  const std::vector<DetectionNode> nodes{node, node};
  const detail::NodesSize size =
      detail::OutputCheck(declaring_info()).check(DetectionNodes::all(nodes), {}, {}, warning);
  EXPECT_EQ(size, detail::size_of(nodes));
  EXPECT_EQ(size.nodes, 8u);
  EXPECT_EQ(size.levels, 2u);
  const std::size_t written = nlohmann::json(nodes).dump().size();
  EXPECT_GT(size.bytes, written / 2);
  EXPECT_LT(size.bytes, written * 2);
  EXPECT_EQ(detail::size_of({}), detail::NodesSize());
}

TEST(CapsuleOutput, HasMessagesOfBoundedSize) {
  CapsuleInfo info = detector_info();
  for (int i = 0; i < 5000; ++i) info.output_type.detections.push_back("n" + std::to_string(i));
  const auto error =
      error_of<Error>([&] { after_leaving(info, {{.name = std::string(1'000'000, 'x')}}); });
  EXPECT_LT(std::string_view(error.what()).size(), 4200u);
  EXPECT_THAT(
      [&] { after_leaving(info, {{.name = "m4321"}}); },
      ThrowsError<Error>(ErrorCode::invalid_output,
                         AllOf(HasSubstr("(5001 in all)"), HasSubstr("did you mean \"n4321\"?"))));
}

TEST(OutputPolicy, IsRefusedIfABoundIsZero) {
  EXPECT_THAT(
      [] { capsule_giving(detector_info(), {}, {.max_nodes = 0}); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("max_nodes is 0")));
  EXPECT_THAT(
      [] { capsule_giving(detector_info(), {}, {.max_bytes = 0}); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("max_bytes is 0")));
  EXPECT_EQ(capsule_giving(detector_info(), {}, {.max_nodes = 7})->output_policy().max_nodes, 7u);
}

TEST(OutputPolicy, NamesItsChoices) {
  EXPECT_EQ(to_string(InvalidOutput::error), "error");
  EXPECT_EQ(to_string(InvalidOutput::warn), "warn");
  EXPECT_EQ(to_string(InvalidOutput::off), "off");
}

/// For a stack of 8 MiB, whose levels cost some hundred bytes each.
TEST(DiscardNodes, DestroysAnyNumberOfLevels) {
  DetectionNodes nodes = DetectionNodes::all();
  nodes.add(test::nested_person(200'000));
  nodes.add(test::nested_person(3));
  detail::discard(std::move(nodes));
  EXPECT_TRUE(nodes.empty());  // NOLINT(bugprone-use-after-move): documented
}

}  // namespace
}  // namespace vcap::test
