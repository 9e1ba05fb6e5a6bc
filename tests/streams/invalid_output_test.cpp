// SPDX-License-Identifier: Apache-2.0
// What a pipeline does with output that its capsules do not declare.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "files/strict_json.hpp"
#include "records/record_line.hpp"
#include "support/isolated_capsule.hpp"
#include "support/operation_helpers.hpp"
#include "support/pipeline_helpers.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// "capsule code" of each.
std::vector<std::string> brief_texts(const std::vector<FrameRecord::CapsuleError>& errors) {
  std::vector<std::string> texts;
  for (const auto& error : errors) texts.push_back(error.capsule + " " + error.code);
  return texts;
}

/// Paints each person, in a colour that it does not declare at frame 1.
std::shared_ptr<Capsule> make_painter(Size size) {
  CapsuleInfo info =
      size == Size::all ? all_info("painter", "person") : single_info("painter", "person");
  info.output_type.attributes["color"] = {"red", "blue"};
  return make_capsule(info, [](const Frame& frame, DetectionNodes nodes, const auto&, auto&) {
    for (DetectionNode& node : nodes) node.attributes["color"] = frame.index == 1 ? "mauve" : "red";
    return nodes;
  });
}

/// Asks for the colour.
std::shared_ptr<Capsule> make_innocent() {
  CapsuleInfo info = single_info("innocent", "person");
  info.input_type.attributes["color"] = info.output_type.attributes["color"] = {"red", "blue"};
  return make_capsule(info, give_back);
}

TEST(InvalidOutput, IsDiscardedAndTheInputPassesOn) {
  for (const Size size : {Size::single, Size::all}) {
    Pipeline pipeline(
        {make_detector("detector", "person", 2), make_painter(size), make_innocent()});
    const auto records = run(pipeline, {.source = make_source(3)});
    for (const FrameRecord& record : records) {
      const bool is_bad = record.frame.index == 1;
      EXPECT_EQ(brief_texts(record.errors), is_bad
                                                ? std::vector<std::string>{"painter invalid_output"}
                                                : std::vector<std::string>{});
      EXPECT_THAT(record.warnings, IsEmpty());
      ASSERT_THAT(record.objects, SizeIs(2));
      for (const DetectionNode& node : record.objects)
        EXPECT_EQ(node.attributes.contains("color"), !is_bad);
    }
    EXPECT_THAT(
        records[1].errors[0].message,
        AllOf(HasSubstr("capsule painter gave node /0 \"person\""),
              HasSubstr("attribute \"color\" is \"mauve\""), HasSubstr("\"blue\", \"red\"")));
  }
}

TEST(InvalidOutput, IsNotWhatOneOfSeveralDeclaredNamesLacksAndNobodyIsBlamed) {
  CapsuleInfo mixed = giving(detector_info("mixed", "person"), "color", {"red", "blue"});
  mixed.output_type.detections = {"person", "vehicle"};
  const auto detector = make_capsule(mixed, [](const Frame& frame, auto&&...) {
    DetectionNode person{.name = "person"};
    if (frame.index != 1) person.attributes["color"] = "red";
    return DetectionNodes::all({person, {.name = "vehicle"}});
  });
  CapsuleInfo innocent = single_info("innocent", "person");
  innocent.input_type.attributes["color"] = {"red", "blue"};
  std::vector<std::int64_t> called;
  Pipeline pipeline({detector, make_capsule(innocent, [&called](const Frame& frame,
                                                                DetectionNodes nodes, auto&&...) {
                       called.push_back(frame.index);
                       return nodes;
                     })});
  const auto records = run(pipeline, {.source = make_source(3), .frames_in_flight = 1});
  for (const FrameRecord& record : records) {
    EXPECT_THAT(record.errors, IsEmpty());
    EXPECT_THAT(record.warnings, IsEmpty());
    EXPECT_THAT(names(record.objects), ElementsAre("person", "vehicle"));
  }
  EXPECT_THAT(called, ElementsAre(0, 2)) << "it is not called for a node without the colour";
}

TEST(InvalidOutput, CountsTowardsQuarantine) {
  Pipeline pipeline({make_capsule(detector_info("ghosts", "person"), [](auto&&...) {
    return DetectionNodes::all({{.name = "ghost"}});
  })});
  const auto records = run(
      pipeline, {.source = make_source(10), .frames_in_flight = 1, .quarantine = {.failures = 3}});
  EXPECT_THAT(brief_texts(records[2].errors), ElementsAre("ghosts invalid_output"));
  EXPECT_THAT(brief_texts(records[3].errors), ElementsAre("ghosts quarantined"));
  for (const FrameRecord& record : records) EXPECT_THAT(record.objects, IsEmpty());
}

TEST(InvalidOutput, IsKeptWithAWarningIfTheHostSaysSo) {
  Pipeline pipeline({make_detector("detector", "person", 2), make_painter(Size::single)},
                    {.outputs = OutputPolicy{.invalid = InvalidOutput::warn}});
  std::vector<FrameRecord> records;
  pipeline.open_stream(
      {.id = "s",
       .source = make_source(3),
       .sinks = {make_callback_sink([&](const FrameRecord& record) { records.push_back(record); })},
       .quarantine = {.failures = 1}});
  EXPECT_EQ(pipeline.wait("s").errors, 0);
  ASSERT_THAT(records, SizeIs(3));
  EXPECT_THAT(records[0].warnings, IsEmpty());
  EXPECT_THAT(brief_texts(records[1].warnings), ElementsAre("painter invalid_output"));
  EXPECT_THAT(records[1].warnings[0].message, AllOf(HasSubstr("mauve"), HasSubstr("(on 2 nodes)")));
  EXPECT_THAT(records[1].errors, IsEmpty());
  EXPECT_EQ(records[1].objects.at(1).attributes.at("color"), "mauve");
  EXPECT_EQ(records[2].objects.at(1).attributes.at("color"), "red") << "no quarantine";
  const nlohmann::json written = records[1];
  EXPECT_EQ(written.at("warnings").at(0).at("capsule"), "painter");
  EXPECT_FALSE(written.contains("errors"));
}

TEST(InvalidOutput, IsNotCheckedIfTheHostSaysSo) {
  Pipeline pipeline({make_detector("detector", "person"), make_painter(Size::all)},
                    {.outputs = OutputPolicy{.invalid = InvalidOutput::off}});
  const auto records = run(pipeline, {.source = make_source(3)});
  EXPECT_EQ(records[1].objects.at(0).attributes.at("color"), "mauve");
  EXPECT_THAT(records[1].warnings, IsEmpty());
}

TEST(InvalidOutput, IsCheckedByTheCapsulesOwnPolicyIfThePipelineHasNone) {
  class Ghosts final : public BaseCapsule {
    std::unique_ptr<Backend> load_backend(const CapsuleFiles&, const std::string&) override {
      class Giving final : public Backend {
        DetectionNodes process_frame(const Frame&, DetectionNodes, const OptionValues&,
                                     BaseStreamState&) override {
          return DetectionNodes::all({{.name = "ghost"}});
        }
      };
      return std::make_unique<Giving>();
    }
  };
  CapsuleInfo info = detector_info("ghosts", "person");
  info.version = 1;
  const std::shared_ptr<Capsule> capsule = test::kept_capsule_of(
      info, std::make_unique<Ghosts>(),
      Capsule::Setup{.devices = {"CPU:0"}, .outputs = {.invalid = InvalidOutput::off}});
  Pipeline trusting({capsule});
  EXPECT_THAT(run(trusting, {.source = make_source(1)})[0].objects, SizeIs(1));
  Pipeline strict({capsule}, {.outputs = OutputPolicy{}});
  EXPECT_THAT(run(strict, {.source = make_source(1)})[0].objects, IsEmpty());
}

TEST(InvalidOutput, PoliciesWithoutRoomAreRefused) {
  EXPECT_THAT(
      [] { Pipeline({make_detector("d", "x")}, {.outputs = OutputPolicy{.max_nodes = 0}}); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("max_nodes is 0")));
}

/// Gives each frame a red person, whom it was given until frame 3 and has kept since then.
std::shared_ptr<Capsule> make_keeper(int version) {
  struct Kept final : BaseStreamState {
    nlohmann::json save() const override { return {{"kept", 1}}; }
  };
  CapsuleInfo info = all_info("keeper", "person");
  info.version = version;
  info.stream_state = make_stream_state<Kept>();
  return make_capsule(info, [](auto&&...) {
    return DetectionNodes::all({{.name = "person", .attributes = {{"color", "red"}}}});
  });
}

TEST(InvalidOutput, IsNotWhatAnEarlierVersionOfTheStateWasGiven) {
  const auto painter =
      make_capsule(giving(detector_info("painter", "person"), "color", {"red"}),
                   [](const Frame& frame, auto&&...) {
                     DetectionNodes nodes = DetectionNodes::all();
                     if (frame.index < 3)
                       nodes.add({.name = "person", .attributes = {{"color", "red"}}});
                     return nodes;
                   });
  for (const bool keeps_state : {true, false}) {
    Pipeline pipeline({painter, make_keeper(1)});
    pipeline.open_stream(
        {.id = "s", .source = make_source(12), .frames_in_flight = 1, .pull = true});
    for (int i = 0; i < 5; ++i) EXPECT_THAT(pipeline.next("s")->errors, IsEmpty());
    pipeline.replace_capsule(make_keeper(2), {.keep_state = keeps_state});
    std::size_t errors = 0;
    while (const auto record = pipeline.next("s")) errors += record->errors.size();
    EXPECT_EQ(errors == 0, keeps_state);
  }
}

TEST(InvalidOutput, OfOneFrameFailsAloneAlsoAmongFramesTogether) {
  const auto result = [](const Frame& frame) {
    return DetectionNodes::all({{.name = frame.index == 5 ? "ghost" : "x"}});
  };
  for (const InvalidOutput choice : {InvalidOutput::error, InvalidOutput::warn}) {
    CapsuleInfo info = detector_info("d", "x");
    info.batch = {.maximum = 4};
    Pipeline pipeline(
        {make_batch_capsule(
            std::move(info),
            [result](std::span<const Frame> frames, auto) {
              std::vector<DetectionNodes> results;
              for (const Frame& frame : frames) results.push_back(result(frame));
              return std::optional(std::move(results));
            },
            [result](const Frame& frame, auto, const auto&, auto&) { return result(frame); })},
        {.outputs = OutputPolicy{.invalid = choice}});
    const bool is_kept = choice == InvalidOutput::warn;
    for (const FrameRecord& record : run(pipeline, {.source = make_source(40)})) {
      const bool is_bad = record.frame.index == 5;
      EXPECT_EQ(record.errors.size(), is_bad && !is_kept ? 1u : 0u) << record.frame.index;
      EXPECT_EQ(record.warnings.size(), is_bad && is_kept ? 1u : 0u) << record.frame.index;
      EXPECT_EQ(record.objects.size(), is_bad && !is_kept ? 0u : 1u) << record.frame.index;
    }
  }
}

Pipeline::Settings most_nodes(std::size_t nodes) {
  return {.outputs = OutputPolicy{.max_nodes = nodes}};
}

TEST(RecordBounds, DiscardTheNodesOfTheCapsuleThatExceedsThem) {
  Pipeline pipeline({make_detector("a", "x", 4), make_detector("b", "y", 4),
                     make_detector("c", "z", 4), make_detector("d", "v", 2)},
                    most_nodes(10));
  const FrameRecord record = run(pipeline, {.source = make_source(1)}).front();
  EXPECT_THAT(record.objects, SizeIs(10));
  EXPECT_THAT(brief_texts(record.errors), ElementsAre("c invalid_output"));
  EXPECT_THAT(
      record.errors[0].message,
      AllOf(HasSubstr("capsule c gave nodes with which the record"), HasSubstr("10 nodes")));
}

TEST(RecordBounds, CountReplacedNodesOnce) {
  std::vector<std::shared_ptr<Capsule>> capsules{make_detector("a", "x", 6)};
  for (int i = 0; i < 5; ++i) {
    capsules.push_back(make_capsule(all_info("all" + std::to_string(i), "x"), give_back));
    capsules.push_back(make_capsule(single_info("single" + std::to_string(i), "x"), give_back));
  }
  Pipeline pipeline(std::move(capsules), most_nodes(7));
  for (const FrameRecord& record : run(pipeline, {.source = make_source(3)})) {
    EXPECT_THAT(record.objects, SizeIs(6));
    EXPECT_THAT(record.errors, IsEmpty());
  }
}

TEST(RecordBounds, DiscardAllCallsOfASingleNodeCapsuleIfTogetherTheyExceedThem) {
  for (const std::size_t most : {15u, 14u, 11u}) {
    CapsuleInfo info = single_info("parts", "x");
    info.output_type.detections = {"x", "part"};
    const auto parts =
        make_capsule(info, [](const Frame&, DetectionNodes nodes, const auto&, auto&) {
          nodes.node().children.resize(4, {.name = "part"});
          return nodes;
        });
    Pipeline pipeline({make_detector("a", "x", 3), parts}, most_nodes(most));
    const FrameRecord record = run(pipeline, {.source = make_source(1)}).front();
    ASSERT_THAT(record.objects, SizeIs(3));
    const bool fits = most == 15;
    for (const DetectionNode& node : record.objects)
      EXPECT_THAT(node.children, SizeIs(fits ? 4 : 0)) << most;
    EXPECT_THAT(record.errors, SizeIs(fits ? 0 : 1)) << most;
  }
}

/// "leaf" below that many levels of "stem".
DetectionNode stem_with_leaf(std::size_t stems) {
  DetectionNode node{.name = "leaf"};
  for (; stems > 0; --stems) {
    DetectionNode stem{.name = "stem"};
    stem.children.push_back(std::move(node));
    node = std::move(stem);
  }
  return node;
}

TEST(RecordBounds, HoldForTheLevelsOfTheWholeRecord) {
  for (const std::size_t added : {24u, 25u}) {
    CapsuleInfo tree = detector_info("tree", "stem");
    tree.output_type.detections.push_back("leaf");
    CapsuleInfo grafter = single_info("grafter", "leaf");
    grafter.output_type.detections.push_back("stem");
    Pipeline pipeline(
        {make_capsule(tree, [](auto&&...) { return DetectionNodes::all({stem_with_leaf(39)}); }),
         make_capsule(grafter, [added](const Frame&, DetectionNodes nodes, const auto&, auto&) {
           nodes.node().children.push_back(stem_with_leaf(added - 1));
           return nodes;
         })});
    const FrameRecord record = run(pipeline, {.source = make_source(1)}).front();
    const bool fits = added == 24;
    EXPECT_EQ(brief_texts(record.errors), fits
                                              ? std::vector<std::string>{}
                                              : std::vector<std::string>{"grafter invalid_output"});
    // What is written can be read.
    const nlohmann::json read = parse_strictly(record_line(record), kMostRecordLevels);
    EXPECT_EQ(read.at("objects").at(0).get<DetectionNode>(), record.objects.at(0));
  }
}

TEST(RecordBounds, CountTheLevelsOfNodesThatASingleNodeCapsuleGivesBackOnce) {
  CapsuleInfo tree = detector_info("tree", "stem");
  tree.output_type.detections.push_back("leaf");
  Pipeline pipeline(
      {make_capsule(tree, [](auto&&...) { return DetectionNodes::all({stem_with_leaf(40)}); }),
       make_capsule(single_info("keeper", "stem"), give_back)});
  const FrameRecord record = run(pipeline, {.source = make_source(1)}).front();
  EXPECT_THAT(record.errors, IsEmpty());
  EXPECT_EQ(record.objects.at(0), stem_with_leaf(40));
}

TEST(RecordBounds, LetTheDeepestRecordBeReadAgain) {
  nlohmann::json lists = nlohmann::json::array();
  for (int i = 1; i < 63; ++i) lists = nlohmann::json::array({std::move(lists)});
  DetectionNode deepest{.name = "stem"};
  deepest.extra_data["lists"] = lists;
  for (int i = 1; i < 64; ++i) {
    DetectionNode stem{.name = "stem"};
    stem.children.push_back(std::move(deepest));
    deepest = std::move(stem);
  }
  Pipeline pipeline({make_capsule(detector_info("tree", "stem"), [deepest](auto&&...) {
    return DetectionNodes::all({deepest});
  })});
  const FrameRecord record = run(pipeline, {.source = make_source(1)}).front();
  EXPECT_THAT(record.errors, IsEmpty());
  const std::string line = record_line(record);
  EXPECT_EQ(parse_strictly(line, kMostRecordLevels), nlohmann::json(record));
  EXPECT_THROW(parse_strictly(line, kMostRecordLevels - 1), InvalidArgument)
      << "the bound is exact";
}

TEST(RecordBounds, LetTheStreamGoOnAfterHugeOutputs) {
  const TemporaryFolder folder;
  const auto huge = make_capsule(detector_info("huge", "x"), [](const Frame& frame, auto&&...) {
    std::vector<DetectionNode> nodes(frame.index == 1 ? 1'000'000u : 1u, {.name = "x"});
    if (frame.index == 2) nodes[0].extra_data["text"] = std::string(100'000'000, 'x');
    return DetectionNodes::all(std::move(nodes));
  });
  const std::string path = (folder / "a.jsonl").string();
  Pipeline pipeline({huge, make_detector("other", "y")});
  const std::shared_ptr<Sink> sink = make_json_lines_sink(path);
  run(pipeline, {.source = make_source(4), .sinks = {sink}});
  sink->close();

  const std::string text = read_file(path);
  EXPECT_LT(text.size(), 100'000u);
  std::istringstream lines(text);
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json record = parse_strictly(line, kMostRecordLevels);
    std::string words;
    for (const nlohmann::json& node : record.at("objects"))
      words += node.at("name").get<std::string>();
    for (const nlohmann::json& error : record.value("errors", nlohmann::json::array()))
      words +=
          " " + error.at("capsule").get<std::string>() + " " + error.at("code").get<std::string>();
    found.push_back(words);
  }
  EXPECT_THAT(found, ElementsAre("xy", "y huge invalid_output", "y huge invalid_output", "xy"));
}

TEST(CapsuleError, HasAMessageOfBoundedSize) {
  Pipeline pipeline({make_capsule(detector_info("talker", "x"),
                                  [](const Frame& frame, auto&&...) -> DetectionNodes {
                                    const std::string text(50'000'000, 'x');
                                    if (frame.index == 0) throw std::runtime_error(text);
                                    throw InvalidArgument(ErrorCode::invalid_argument, text);
                                  })});
  for (const FrameRecord& record : run(pipeline, {.source = make_source(2)})) {
    ASSERT_THAT(record.errors, SizeIs(1));
    EXPECT_LT(record.errors[0].message.size(), 4200u);
    EXPECT_THAT(record.errors[0].message, HasSubstr("(50000000 bytes, cut)"));
  }
}

}  // namespace
}  // namespace vcap::test
