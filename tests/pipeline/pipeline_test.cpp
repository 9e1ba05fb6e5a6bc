// SPDX-License-Identifier: Apache-2.0
// Tests of how a pipeline handles the nodes of a frame.
#include "vcap/pipeline/pipeline.hpp"

#include <gmock/gmock.h>

#include <set>

#include <nlohmann/json.hpp>

#include "support/pipeline_helpers.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Pipeline, GivesEveryFrameARecordInOrder) {
  Pipeline pipeline({make_detector("detector", "person", 2)});
  const std::vector<FrameRecord> records = run(pipeline, {.source = make_source(200)});
  ASSERT_THAT(records, SizeIs(200));
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].frame.index, static_cast<std::int64_t>(i));
    ASSERT_THAT(records[i].objects, SizeIs(2));
    EXPECT_EQ(records[i].objects[0].bbox().x1, static_cast<double>(i));
  }
}

TEST(Pipeline, RecordsUnchangedFramesWithoutCapsules) {
  Pipeline pipeline({});
  EXPECT_THAT(run(pipeline, {.source = make_source(3)}), SizeIs(3));
}

TEST(Pipeline, AddsTheNodesOfEachDetectorToTheRoots) {
  Pipeline pipeline({make_detector("a", "person"), make_detector("b", "car")});
  const auto records = run(pipeline, {.source = make_source(1)});
  EXPECT_THAT(names(records[0].objects), ElementsAre("person", "car"));
}

TEST(Pipeline, CallsASingleNodeCapsuleOnceForEachNodeThatItsInputDescribes) {
  std::atomic<int> calls{0};
  const auto marker =
      make_capsule(giving(single_info("marker", "person"), "mark"),
                   [&](const Frame&, DetectionNodes nodes, const OptionValues&, BaseStreamState&) {
                     ++calls;
                     nodes.node().attributes["mark"] = "yes";
                     return nodes;
                   });
  Pipeline pipeline({make_detector("a", "person", 3), make_detector("b", "car"), marker});
  const auto records = run(pipeline, {.source = make_source(5)});
  EXPECT_EQ(calls, 15);
  EXPECT_THAT(names(records[4].objects), ElementsAre("person", "person", "person", "car"));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(records[4].objects[i].attributes.at("mark"), "yes");
    EXPECT_EQ(records[4].objects[i].bbox().y1, 20.0 * static_cast<double>(i))
        << "the results are in another order";
  }
  EXPECT_THAT(records[4].objects[3].attributes, IsEmpty());
}

TEST(Pipeline, MakesTheCallsOfOneFrameAtOnce) {
  constexpr int kNodes = 4;
  std::atomic<int> inside{0};
  Latch all_inside;
  const auto meeting =
      make_capsule(single_info("meeting", "person"),
                   [&](const Frame&, DetectionNodes nodes, const OptionValues&, BaseStreamState&) {
                     if (++inside == kNodes) all_inside.open();
                     all_inside.wait("the other calls of the frame");
                     return nodes;
                   });
  Pipeline pipeline({make_detector("detector", "person", kNodes), meeting},
                    {.workers = kNodes, .max_concurrent_calls = {{"meeting", kNodes}}});
  EXPECT_THAT(run(pipeline, {.source = make_source(1)}), SizeIs(1));
}

TEST(Pipeline, FinishesManyCallsWithASingleWorker) {
  const auto marker = make_capsule(single_info("marker", "person"), give_back);
  Pipeline pipeline({make_detector("detector", "person", 50), marker}, {.workers = 1});
  EXPECT_THAT(run(pipeline, {.source = make_source(20)}), SizeIs(20));
}

TEST(Pipeline, CallsAnAllNodesCapsuleEvenIfThereAreNoNodes) {
  std::atomic<int> calls{0};
  const auto detector =
      make_capsule(detector_info("detector", "person"),
                   [](const Frame& frame, DetectionNodes, const OptionValues&, BaseStreamState&) {
                     DetectionNodes nodes = DetectionNodes::all();
                     if (frame.index % 2 == 0) nodes.add(node_at("person", 0, 0));
                     return nodes;
                   });
  const auto tracker = make_capsule(
      all_info("tracker", "person"),
      [&](const Frame& frame, DetectionNodes nodes, const OptionValues&, BaseStreamState&) {
        ++calls;
        EXPECT_EQ(nodes.size(), frame.index % 2 == 0 ? 1u : 0u);
        return nodes;
      });
  Pipeline pipeline({detector, tracker});
  run(pipeline, {.source = make_source(10)});
  EXPECT_EQ(calls, 10);
}

TEST(Pipeline, FindsNodesThatAppearBelowOthers) {
  const auto faces =
      make_capsule({.name = "faces",
                    .input_type = {.size = Size::single, .detections = {"person"}},
                    .output_type = {.size = Size::single, .detections = {"person", "face"}}},
                   [](const Frame&, DetectionNodes nodes, const OptionValues&, BaseStreamState&) {
                     nodes.node().children.push_back(node_at("face", 1, 1));
                     return nodes;
                   });
  const auto marker =
      make_capsule(giving(single_info("marker", "face"), "mark"),
                   [](const Frame&, DetectionNodes nodes, const OptionValues&, BaseStreamState&) {
                     nodes.node().attributes["mark"] = "yes";
                     return nodes;
                   });
  Pipeline pipeline({make_detector("detector", "person", 2), faces, marker});
  const auto records = run(pipeline, {.source = make_source(1)});
  ASSERT_THAT(records[0].objects, SizeIs(2));
  for (const DetectionNode& person : records[0].objects)
    EXPECT_EQ(person.children.at(0).attributes.at("mark"), "yes");
}

TEST(Pipeline, KeepsTheNamesOfNodesThroughACapsuleWhoseOutputListsNone) {
  CapsuleInfo detector = detector_info("detector", "person");
  detector.output_type.detections.emplace_back("car");
  const CapsuleInfo speedometer{.name = "speedometer",
                                .input_type = {.size = Size::all},
                                .output_type = {.size = Size::all, .extra_data = {"speed"}}};
  CapsuleInfo reader = all_info("reader", "person");
  reader.input_type.extra_data = {"speed"};
  reader.output_type.extra_data = {"fine"};
  Pipeline pipeline(
      {make_capsule(reader,
                    [](const Frame&, DetectionNodes nodes, const OptionValues&, BaseStreamState&) {
                      for (DetectionNode& node : nodes)
                        node.extra_data["fine"] = 10 * node.extra_data.at("speed").get<int>();
                      return nodes;
                    }),
       make_capsule(
           speedometer,
           [](const Frame& frame, DetectionNodes nodes, const OptionValues&, BaseStreamState&) {
             for (DetectionNode& node : nodes) node.extra_data["speed"] = frame.index;
             return nodes;
           }),
       make_capsule(detector,
                    [](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState&) {
                      return DetectionNodes::all({node_at("person", 1, 1), node_at("car", 30, 1)});
                    })});
  for (const FrameRecord& record : run(pipeline, {.source = make_source(3)})) {
    EXPECT_THAT(record.errors, IsEmpty());
    EXPECT_THAT(record.warnings, IsEmpty());
    ASSERT_THAT(names(record.objects), ElementsAre("person", "car"));
    for (const DetectionNode& node : record.objects)
      EXPECT_EQ(node.extra_data.at("speed"), record.frame.index);
    EXPECT_EQ(record.objects[0].extra_data.at("fine"), 10 * record.frame.index);
    EXPECT_FALSE(record.objects[1].extra_data.contains("fine")) << "only persons are read";
  }
}

TEST(Pipeline, RecordsExceptionsOfACapsuleAndContinues) {
  const auto failing = make_capsule(
      giving(all_info("failing", "person"), "mark"),
      [](const Frame& frame, DetectionNodes nodes, const OptionValues&, BaseStreamState&) {
        for (DetectionNode& node : nodes) node.attributes["mark"] = "yes";
        if (frame.index == 7) throw std::runtime_error("seven is too much");
        if (frame.index == 8) throw DeviceError(ErrorCode::no_device, "gone");
        if (frame.index == 9) throw 9;
        return nodes;
      });
  const auto later =
      make_capsule(giving(single_info("later", "person"), "later"),
                   [](const Frame&, DetectionNodes nodes, const OptionValues&, BaseStreamState&) {
                     nodes.node().attributes["later"] = "yes";
                     return nodes;
                   });
  Pipeline pipeline({make_detector("detector", "person"), failing, later});
  const auto records = run(pipeline, {.source = make_source(20)});
  ASSERT_THAT(records, SizeIs(20));
  for (const FrameRecord& record : records) {
    const bool failed = record.frame.index >= 7 && record.frame.index <= 9;
    EXPECT_EQ(record.errors.size(), failed ? 1u : 0u);
    ASSERT_THAT(record.objects, SizeIs(1)) << "the node is lost";
    EXPECT_EQ(record.objects[0].attributes.contains("mark"), !failed)
        << "the node must be unchanged if its call failed";
    EXPECT_TRUE(record.objects[0].attributes.contains("later"))
        << "the next capsule must get the node";
  }
  EXPECT_EQ(records[7].errors[0].capsule, "failing");
  EXPECT_EQ(records[7].errors[0].code, "exception");
  EXPECT_EQ(records[7].errors[0].message, "seven is too much");
  EXPECT_EQ(records[8].errors[0].code, "no_device");
  EXPECT_EQ(records[9].errors[0].code, "exception");
}

TEST(Pipeline, CountsFramesWithErrorsInTheReport) {
  const auto failing =
      make_capsule(detector_info("failing", "person"),
                   [](const Frame& frame, DetectionNodes, const OptionValues&, BaseStreamState&) {
                     if (frame.index % 4 == 0) throw std::runtime_error("no");
                     return DetectionNodes::all();
                   });
  Pipeline pipeline({failing});
  pipeline.open_stream({.id = "a", .source = make_source(20)});
  const StreamReport report = pipeline.wait("a");
  EXPECT_EQ(report.frames, 20);
  EXPECT_EQ(report.errors, 5);
  EXPECT_FALSE(report.failure);
}

TEST(Pipeline, LeavesOnlyTheNodesUnchangedOnWhichACapsuleFails) {
  const auto failing =
      make_capsule(giving(single_info("failing", "person"), "mark"),
                   [](const Frame&, DetectionNodes nodes, const OptionValues&, BaseStreamState&) {
                     if (nodes.node().bbox().y1 > 0) throw std::runtime_error("too low");
                     nodes.node().attributes["mark"] = "yes";
                     return nodes;
                   });
  Pipeline pipeline({make_detector("detector", "person", 3), failing});
  const auto records = run(pipeline, {.source = make_source(1)});
  ASSERT_THAT(records[0].errors, SizeIs(1)) << "the same failure must be reported once";
  EXPECT_EQ(records[0].errors[0].message, "too low (on 2 nodes)");
  ASSERT_THAT(records[0].objects, SizeIs(3));
  EXPECT_TRUE(records[0].objects[0].attributes.contains("mark"));
  EXPECT_FALSE(records[0].objects[1].attributes.contains("mark"));
}

TEST(Pipeline, RecordsAnAttributeOutsideTheInputsListAndWhoProvidesIt) {
  CapsuleInfo painter = single_info("painter", "person");
  painter.output_type.attributes["color"] = {"red", "mauve"};
  CapsuleInfo reader = single_info("reader", "person");
  reader.input_type.attributes["color"] = {"red"};
  reader.output_type.attributes["color"] = {"red"};
  Pipeline pipeline({make_detector("detector", "person"),
                     make_capsule(painter,
                                  [](const Frame& frame, DetectionNodes nodes, const OptionValues&,
                                     BaseStreamState&) {
                                    nodes.node().attributes["color"] =
                                        frame.index == 1 ? "mauve" : "red";
                                    return nodes;
                                  }),
                     make_capsule(reader, give_back)});
  const auto records = run(pipeline, {.source = make_source(3)});
  EXPECT_THAT(records[0].errors, IsEmpty());
  ASSERT_THAT(records[1].errors, SizeIs(1));
  EXPECT_EQ(records[1].errors[0].capsule, "reader");
  EXPECT_EQ(records[1].errors[0].code, "invalid_node");
  EXPECT_THAT(records[1].errors[0].message,
              AllOf(HasSubstr("mauve"), HasSubstr("capsule painter provides attribute color")));
  EXPECT_EQ(records[1].objects[0].attributes.at("color"), "mauve");
  EXPECT_THAT(records[2].errors, IsEmpty());
}

TEST(Pipeline, RefusesACapsuleWithoutBackends) {
  EXPECT_THAT(
      [] { Pipeline({make_capsule(detector_info("detector", "person"), give_back, false)}); },
      ThrowsError<CapsuleLoadError>(
          ErrorCode::no_backend,
          AllOf(HasSubstr("capsule detector"), HasSubstr("inference_mode = true"))));
}

TEST(Pipeline, RefusesAnEmptyPointer) {
  EXPECT_THAT([] { Pipeline({nullptr}); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           HasSubstr("capsule 1 of a pipeline is null")));
}

TEST(Pipeline, SendsAStreamThroughTheCapsulesThatItChooses) {
  Pipeline pipeline({make_capsule(single_info("later", "person"), give_back),
                     make_detector("people", "person"), make_detector("cars", "car")});
  EXPECT_EQ(names(run(pipeline, {.source = make_source(1)})[0].objects),
            (std::vector<std::string>{"person", "car"}));
  EXPECT_EQ(names(run(pipeline, {.source = make_source(1), .capsules = {{"cars"}}})[0].objects),
            std::vector<std::string>{"car"});
  EXPECT_EQ(
      names(
          run(pipeline, {.source = make_source(1), .capsules = {{"later", "people"}}})[0].objects),
      std::vector<std::string>{"person"});
  EXPECT_THAT(
      run(pipeline, {.source = make_source(1), .capsules = std::vector<std::string>{}})[0].objects,
      IsEmpty());
}

TEST(Pipeline, CanLeaveOutCapsulesThatDoNotFit) {
  Pipeline pipeline(
      {make_capsule(single_info("later", "bike"), give_back), make_detector("people", "person")},
      {.unfit = UnfitPolicy::leave_out});
  EXPECT_THAT(pipeline.plan().left_out(), SizeIs(1));
  EXPECT_THAT(run(pipeline, {.source = make_source(3)}), SizeIs(3));
  EXPECT_THAT([&] { pipeline.replace_capsule(make_detector("people", "car")); },
              testing::Not(testing::Throws<Error>()));
}

TEST(Pipeline, RefusesAnImpossibleChoiceOfCapsules) {
  Pipeline pipeline({make_capsule(single_info("later", "person"), give_back),
                     make_detector("people", "person"), make_detector("cars", "car")});
  EXPECT_THAT(
      [&] {
        pipeline.open_stream(
            {.id = "s", .source = make_source(1), .capsules = {{"later", "cars"}}});
      },
      ThrowsError<PlanError>(ErrorCode::unsatisfied_input, HasSubstr("later")));
  EXPECT_THAT(
      [&] { pipeline.open_stream({.id = "s", .source = make_source(1), .capsules = {{"bikes"}}}); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                   AllOf(HasSubstr("bikes"), HasSubstr("it has later, people"))));
  pipeline.open_stream({.id = "s", .source = make_source(-1), .capsules = {{"cars"}}});
  EXPECT_THAT(
      [&] { pipeline.set_option("s", "people", "x", true); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("does not go through")));
  pipeline.close_stream("s");
  EXPECT_THAT(pipeline.reports(), IsEmpty());
}

TEST(Pipeline, OrdersItsCapsulesByTheirPlan) {
  const Pipeline pipeline({make_capsule(single_info("later", "person"), give_back),
                           make_detector("detector", "person")});
  EXPECT_EQ(pipeline.plan().steps()[0].name, "detector");
  EXPECT_THAT([] { Pipeline({make_capsule(single_info("later", "person"), give_back)}); },
              ThrowsError<PlanError>(ErrorCode::unsatisfied_input, HasSubstr("later")));
}

}  // namespace
}  // namespace vcap::test
