// SPDX-License-Identifier: Apache-2.0
#include "vcap/view/comparison.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <tuple>

#include <nlohmann/json.hpp>

#include "support/clip_writer.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

constexpr ComparisonSide kA = ComparisonSide::a;
constexpr ComparisonSide kB = ComparisonSide::b;

DetectionNode thing(const std::string& name, double x, double y = 10) {
  return {.name = name, .coords = rect_to_coords(cv::Rect2d(x, y, 20, 30))};
}

FrameRecord record_of(std::int64_t index, std::vector<DetectionNode> objects = {},
                      const std::string& stream = "gate") {
  FrameRecord record{.stream_id = stream};
  record.frame.index = index;
  record.frame.pts = 100ms * index;
  record.resolution = {640, 480};
  record.objects = std::move(objects);
  return record;
}

/// The comparison of two runs whose records come in turns.
Comparison compared(const std::vector<FrameRecord>& a, const std::vector<FrameRecord>& b,
                    ComparisonOptions options = {}) {
  Comparison comparison(std::move(options));
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i < a.size()) comparison.add(kA, a[i]);
    if (i < b.size()) comparison.add(kB, b[i]);
  }
  comparison.finish();
  return comparison;
}

/// The comparison of one frame.
Comparison compared(std::vector<DetectionNode> a, std::vector<DetectionNode> b,
                    ComparisonOptions options = {}) {
  return compared({record_of(0, std::move(a))}, {record_of(0, std::move(b))}, std::move(options));
}

TEST(Comparison, SaysClearlyThatRunsAreIdentical) {
  std::vector<FrameRecord> records;
  for (int i = 0; i < 20; ++i) {
    records.push_back(record_of(i, {thing("person", i), thing("car", 200)}));
    records.back().errors = {{"finder", "exception", "no luck"}};
  }
  const Comparison comparison = compared(records, records);
  EXPECT_EQ(comparison.verdict(), ComparisonVerdict::identical);
  const ComparisonTotals totals = comparison.totals();
  EXPECT_EQ(totals.frames, 20);
  EXPECT_EQ(totals.equal, 20);
  EXPECT_EQ(totals.objects.at("person"), (ComparedObjects{.in_a = 20, .in_b = 20, .same = 20}));
  EXPECT_THAT(comparison.html(), AllOf(HasSubstr("Identical: both runs have the same 20 frames"),
                                       Not(HasSubstr("Frames that differ most"))));
}

TEST(Comparison, CountsWhatAppearedVanishedMovedAndWasRenamed) {
  const Comparison comparison =
      compared({thing("person", 0), thing("person", 100), thing("person", 200), thing("cat", 300)},
               {thing("person", 0), thing("person", 105), thing("dog", 300), thing("person", 500)});
  const ComparisonTotals totals = comparison.totals();
  const ComparedObjects person = totals.objects.at("person");
  EXPECT_EQ(std::tuple(person.in_a, person.in_b, person.same, person.moved, person.appeared,
                       person.vanished, person.renamed),
            std::tuple(3, 3, 1, 1, 1, 1, 0));
  EXPECT_DOUBLE_EQ(person.largest_move, 5);
  EXPECT_DOUBLE_EQ(person.iou_of_moved, 15.0 / 25);
  EXPECT_EQ(totals.objects.at("cat").renamed, 1);
  EXPECT_EQ(totals.objects.at("dog").in_b, 1);
  EXPECT_EQ(totals.different, 1);
  EXPECT_EQ(comparison.verdict(), ComparisonVerdict::different);
  EXPECT_THAT(comparison.html(),
              AllOf(HasSubstr("Different: 1 of 1 frame"), HasSubstr("person appeared"),
                    HasSubstr("person vanished"), HasSubstr("cat became dog"),
                    HasSubstr("person moved by 5.0 pixels, IoU 0.6")));
}

TEST(Comparison, PairsObjectsSoThatAsManyAsPossibleHaveAPartner) {
  // The nearest partner of the first would leave the second without one.
  const Comparison comparison = compared({thing("person", 10), thing("person", 18)},
                                         {thing("person", 14), thing("person", 0)});
  EXPECT_EQ(comparison.totals().objects.at("person").moved, 2);
}

TEST(Comparison, TakesSmallMovesForEqualWithinTheTolerance) {
  for (const auto& [tolerance, verdict] :
       {std::pair(0.5, ComparisonVerdict::alike), std::pair(0.1, ComparisonVerdict::different)}) {
    const Comparison comparison =
        compared({thing("person", 10)}, {thing("person", 10.25)}, {.tolerance = tolerance});
    EXPECT_EQ(comparison.verdict(), verdict) << tolerance;
    EXPECT_EQ(comparison.totals().equal, 0) << "not identical in any case";
  }
  const Comparison alike = compared({thing("person", 10)}, {thing("person", 10.25)});
  EXPECT_THAT(alike.totals().other_fields, ElementsAre(Pair("coords", 1)));
  EXPECT_THAT(alike.html(), HasSubstr("Alike: both runs have the same 1 frame."));
}

TEST(Comparison, ComparesAttributesOfPairsAndOfChildren) {
  DetectionNode a = thing("person", 0), b = a;
  a.attributes = {{"color", "red"}, {"hat", "yes"}};
  b.attributes = {{"color", "blue"}, {"bag", "no"}};
  a.children = {thing("face", 5)};
  b.children = {thing("face", 5)};
  b.children[0].attributes["mood"] = "glad";
  const Comparison comparison = compared({a}, {b});
  EXPECT_EQ(comparison.totals().objects.at("person").attributes, 3);
  EXPECT_EQ(comparison.totals().objects.at("face").attributes, 1);
  EXPECT_THAT(comparison.html(),
              AllOf(HasSubstr("<td>person</td><td>color</td><td>red</td><td>blue</td>"),
                    HasSubstr("<td>face</td><td>mood</td><td>(none)</td><td>glad</td>")));
}

TEST(Comparison, ComparesErrorsWarningsAndDropsByFrame) {
  std::vector<FrameRecord> a{record_of(0), record_of(1), record_of(2)}, b = a;
  a[0].errors = b[0].errors = {{"finder", "exception", "shared fault"}};
  a[1].errors = {{"finder", "exception", "only before"}};
  b[2].warnings = {{"finder", "invalid_output", "only now"}};
  b[2].drops = {{.frame_index = 1, .reason = "overload"}};
  const Comparison comparison = compared(a, b);
  const ComparisonTotals totals = comparison.totals();
  EXPECT_EQ(std::tuple(totals.errors_a, totals.errors_b, totals.equal, totals.different),
            std::tuple(1, 1, 1, 2));
  EXPECT_THAT(comparison.html(), AllOf(HasSubstr("only before"), HasSubstr("only now"),
                                       Not(HasSubstr("shared fault"))));
}

TEST(Comparison, NamesFieldsThatAreNotCompared) {
  DetectionNode a = thing("person", 0), b = a;
  a.extra_data["confidence"] = 0.5;
  b.extra_data["confidence"] = 0.75;
  b.encoding = std::vector<float>{1};
  std::vector<FrameRecord> one{record_of(0, {a}), record_of(1, {a, thing("car", 200)})};
  std::vector<FrameRecord> other{record_of(0, {b}), record_of(1, {thing("car", 200), a})};
  other[0].frame.pts += 1ms;
  const Comparison comparison = compared(one, other);
  EXPECT_EQ(comparison.verdict(), ComparisonVerdict::alike);
  EXPECT_THAT(comparison.totals().other_fields,
              ElementsAre(Pair("confidence", 1), Pair("encoding", 1), Pair("extra_data", 1),
                          Pair("pts_ns", 1), Pair("the order of objects", 1)));
}

TEST(Comparison, TellsOtherIdsOfTracksFromTracksThatSwitch) {
  std::mt19937_64 random(1);
  const Uuid own = Uuid::random(random), other = Uuid::random(random), third = Uuid::random(random);
  std::vector<FrameRecord> a, b;
  for (int i = 0; i < 6; ++i) {
    a.push_back(record_of(i, {thing("person", i)}));
    b.push_back(a.back());
    a.back().objects[0].track_id = own;
    b.back().objects[0].track_id = other;
  }
  const Comparison renamed = compared(a, b);
  EXPECT_EQ(renamed.verdict(), ComparisonVerdict::alike);
  EXPECT_EQ(renamed.totals().other_fields.at("track_id"), 6);

  for (const std::size_t i : {4u, 5u}) b[i].objects[0].track_id = third;
  const Comparison switched = compared(a, b);
  EXPECT_EQ(switched.verdict(), ComparisonVerdict::different);
  EXPECT_EQ(switched.totals().track_switches, 1);
  EXPECT_EQ(switched.totals().different, 1);
}

TEST(Comparison, NamesAndCountsFramesAndStreamsOfOneSide) {
  std::vector<FrameRecord> a, b;
  for (int i = 0; i < 10; ++i) {
    if (i != 3 && i != 4) a.push_back(record_of(i));
    if (i < 8) b.push_back(record_of(i));
    b.push_back(record_of(i, {}, "yard"));
  }
  const Comparison comparison = compared(a, b);
  const ComparisonTotals totals = comparison.totals();
  EXPECT_EQ(std::tuple(totals.frames, totals.only_a, totals.only_b), std::tuple(6, 2, 12));
  EXPECT_THAT(totals.streams_only_a, ElementsAre());
  EXPECT_THAT(totals.streams_only_b, ElementsAre("yard"));
  EXPECT_THAT(comparison.html(),
              AllOf(HasSubstr("1 stream only in B: &quot;yard&quot;"),
                    HasSubstr("<td>B</td><td>3 to 4</td><td class=\"number\">2</td>"),
                    HasSubstr("<td>A</td><td>8 to 9</td><td class=\"number\">2</td>")));
}

TEST(Comparison, MatchesFramesByTimeIfToldSo) {
  std::vector<FrameRecord> a, b;
  for (int i = 0; i < 10; ++i) {
    a.push_back(record_of(i));
    b.push_back(record_of(i + 7));  // a live camera that was opened earlier
    b.back().frame.pts = a.back().frame.pts + 8ms;
  }
  EXPECT_EQ(compared(a, b).totals().frames, 3);
  const auto by_time = compared(a, b, {.match_by = ComparisonOptions::MatchBy::pts}).totals();
  EXPECT_EQ(std::tuple(by_time.frames, by_time.only_a, by_time.only_b), std::tuple(10, 0, 0));
}

TEST(Comparison, MatchesAStreamThatBeganAnew) {
  std::vector<FrameRecord> records;
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 5; ++i) records.push_back(record_of(i));
  std::vector<FrameRecord> shorter = records;
  shorter.erase(shorter.begin() + 3, shorter.begin() + 5);  // the first round ends early
  const ComparisonTotals totals = compared(records, shorter).totals();
  EXPECT_EQ(std::tuple(totals.frames, totals.only_a, totals.only_b), std::tuple(8, 2, 0));
}

TEST(Comparison, DoesNotDependOnHowStreamsInterleave) {
  constexpr int kStreams = 3, kFrames = 40;
  std::vector<FrameRecord> rounds, blocks;
  for (int i = 0; i < kFrames; ++i)
    for (int stream = 0; stream < kStreams; ++stream)
      rounds.push_back(record_of(i, {thing("person", i)}, "cam" + std::to_string(stream)));
  for (int stream = kStreams; stream-- > 0;)
    for (int i = 0; i < kFrames; ++i)
      blocks.push_back(record_of(i, {thing("person", i)}, "cam" + std::to_string(stream)));
  Comparison comparison;
  for (std::size_t a = 0, b = 0; a < rounds.size() || b < blocks.size();) {
    if ((comparison.wanted() == kA && a < rounds.size()) || b == blocks.size())
      comparison.add(kA, rounds[a++]);
    else
      comparison.add(kB, blocks[b++]);
  }
  comparison.finish();
  EXPECT_EQ(comparison.verdict(), ComparisonVerdict::identical);
  EXPECT_EQ(comparison.totals().frames, kStreams * kFrames);
}

TEST(Comparison, KeepsOnDiskWhatDoesNotFitInMemory) {
  // 200,000 nodes of some 0.7 KB wait for their partners.
  constexpr int kFrames = 200;
  const std::vector<DetectionNode> many(1000, DetectionNode{.name = "scene"});
  Comparison comparison;
  for (int i = 0; i < kFrames; ++i) comparison.add(kA, record_of(i, many));
  EXPECT_EQ(comparison.wanted(), kB);
  for (int i = 0; i < kFrames; ++i) comparison.add(kB, record_of(i, many));
  comparison.finish();
  EXPECT_EQ(comparison.verdict(), ComparisonVerdict::identical);
  EXPECT_EQ(comparison.totals().objects.at("scene").same, 1000 * kFrames);
}

TEST(Comparison, ShowsOnlyTheFrameThatDiffersMostOfEachSecond) {
  std::vector<FrameRecord> a, b;
  for (int i = 0; i < 40; ++i) {  // ten a second
    a.push_back(record_of(i));
    b.push_back(record_of(i, {thing("person", 0)}));
  }
  b[17].objects.push_back(thing("person", 300));
  const std::string html = compared(a, b, {.most_frames = 2}).html();
  EXPECT_THAT(html, AllOf(HasSubstr("frame 17, 0:01.7"), Not(HasSubstr("frame 16,")),
                          Not(HasSubstr("frame 18,"))));
}

TEST(Comparison, LaysBoxesOverThePicturesOfTheClip) {
  const test::TemporaryFolder folder;
  test::write_clip(folder / "gate.mp4",
                   {.size = {64, 48}, .frames = 20, .options = test::b_frames(false)});
  Comparison comparison = compared({record_of(5)}, {record_of(5, {thing("person", 0)})});
  EXPECT_THAT(comparison.html(), Not(HasSubstr("data:image/jpeg")));
  comparison.set_clip("gate", (folder / "gate.mp4").string(), "gate.mp4");
  EXPECT_THAT(comparison.html(),
              AllOf(HasSubstr("href=\"data:image/jpeg;base64,/9j/"), HasSubstr("gate.mp4#t=0.5")));
  EXPECT_THAT([&] { comparison.set_clip("gat", "a.mp4"); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           HasSubstr("did you mean \"gate\"?")));
}

TEST(Comparison, ShowsMarkupAsText) {
  const std::string hostile = "<script>alert(1)</script>\"'&\x1b[2J\xff";
  std::vector<FrameRecord> a{record_of(0, {thing(hostile, 0)}, hostile)}, b = a;
  a[0].objects[0].attributes[hostile] = hostile;
  a[0].errors = {{hostile, hostile, hostile}};
  b.push_back(record_of(1, {thing(hostile, 0)}, hostile + "2"));
  const std::string html =
      compared(a, b, {.title = hostile, .name_a = hostile, .name_b = hostile}).html();
  EXPECT_THAT(html, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("\x1b")), Not(HasSubstr("\xff")),
                          HasSubstr("&lt;script&gt;alert(1)"), HasSubstr("default-src 'none'")));
}

TEST(Comparison, KeepsABoundedNumberOfEverything) {
  Comparison comparison;
  for (int i = 0; i < 2000; ++i) {
    const std::string own = std::to_string(i) + std::string(500, 'x');
    FrameRecord a = record_of(2 * i, {thing(own, 0)}), b = a;
    a.objects[0].attributes[own] = own;
    a.errors = {{own, own, own}};
    comparison.add(kA, a);
    comparison.add(kB, b);
    comparison.add(kA, record_of(2 * i + 1));
  }
  comparison.finish();
  const ComparisonTotals totals = comparison.totals();
  EXPECT_EQ(totals.objects.size(), 64u);
  std::int64_t objects = 0;
  for (const auto& [name, counts] : totals.objects) objects += counts.in_a;
  EXPECT_EQ(objects, 2000);
  EXPECT_EQ(totals.errors_a, 2000);
  EXPECT_EQ(totals.only_a, 2000);
  EXPECT_LT(comparison.html().size(), 1'000'000u);
}

TEST(Comparison, RefusesOptionsThatMakeNoSense) {
  for (const auto& [options, message] : std::vector<std::pair<ComparisonOptions, const char*>>{
           {{.tolerance = -1}, "tolerance of a comparison is -1.0"},
           {{.min_iou = 0}, "min_iou of a comparison is 0.0"},
           {{.min_iou = 1.5}, "min_iou"},
           {{.time_tolerance = -1ns}, "time_tolerance"}})
    EXPECT_THAT([&wrong = options] { const Comparison comparison(wrong); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(message)));
}

}  // namespace
}  // namespace vcap
