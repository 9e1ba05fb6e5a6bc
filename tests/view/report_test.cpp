// SPDX-License-Identifier: Apache-2.0
#include "vcap/view/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <regex>
#include <tuple>

#include "support/clip_writer.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "view/page_parts.hpp"
#include "view/stream_section.hpp"
#include "view/stream_summary.hpp"
#include "view/svg.hpp"

namespace vcap {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

DetectionNode person(double x, std::optional<Uuid> track = {}) {
  DetectionNode node{.name = "person", .coords = rect_to_coords(cv::Rect2d(x, 10, 20, 30))};
  node.track_id = track;
  return node;
}

/// A frame at 10 a second.
FrameRecord record(std::int64_t index, std::vector<DetectionNode> objects = {},
                   const std::string& stream = "gate") {
  FrameRecord record{.stream_id = stream};
  record.frame.index = index;
  record.frame.pts = 100ms * index;
  record.resolution = {64, 48};
  record.objects = std::move(objects);
  return record;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

/// The tags that are open at the end, which there must not be.
std::vector<std::string> unclosed_tags(const std::string& html) {
  static const std::regex tag("<(/?)([a-z0-9]+)[^>]*?(/?)>");
  std::vector<std::string> open;
  for (std::sregex_iterator at(html.begin(), html.end(), tag), end; at != end; ++at) {
    if ((*at)[3].length() > 0) continue;
    if ((*at)[1].length() == 0)
      open.push_back((*at)[2]);
    else if (!open.empty() && open.back() == (*at)[2])
      open.pop_back();
    else
      open.push_back("/" + (*at)[2].str());
  }
  return open;
}

TEST(Report, ShowsCountsTracksAttributesAndDrops) {
  std::mt19937_64 random(1);
  const Uuid track = Uuid::random(random);
  Report report;
  for (int i = 0; i < 20; ++i) {
    FrameRecord one = record(i, {person(i, track)});
    one.objects[0].attributes["color"] = "red";
    if (i == 4) one.drops = {{.frame_index = 3, .reason = "overload", .count = 7}};
    if (i == 6) one.errors = {{"finder", "exception", "no luck"}};
    report.add(one);
  }
  const std::string html = report.html();
  EXPECT_EQ(report.records(), 20u);
  for (const char* part : {"<h2>gate</h2>", "<td>person</td><td class=\"number\">20</td>",
                           "<td>overload</td><td class=\"number\">7</td>",
                           "<td>color</td><td>red</td><td class=\"number\">20</td>", "no luck",
                           "<td>64 × 48 pixels</td>", "Dwell times", "0:01.9"})
    EXPECT_THAT(html, HasSubstr(part));
  EXPECT_THAT(html, HasSubstr("<td>" + track.to_string().substr(0, 8) + "</td>"));
  EXPECT_THAT(unclosed_tags(html), testing::IsEmpty());
}

TEST(Report, ShowsMarkupAsText) {
  const std::string hostile = "<script>alert(1)</script>\"'&\x1b[2J\xff";
  Report report({.title = hostile});
  for (int i = 0; i < 2; ++i) {
    FrameRecord one = record(i, {person(1, Uuid())}, hostile);
    one.objects[0].name = hostile;
    one.objects[0].attributes[hostile] = hostile;
    one.drops = {{.frame_index = 0, .reason = hostile}};
    one.errors = {{hostile, hostile, hostile}};
    one.warnings = one.errors;
    one.option_changes = {{hostile, hostile, hostile}};
    one.replacements = {{hostile, 1, 2}};
    one.config_changes = {{hostile, {{hostile, hostile}}, true}};
    report.add(one);
  }
  const std::string html = report.html();
  EXPECT_THAT(html, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("\x1b")), Not(HasSubstr("\xff")),
                          HasSubstr("&lt;script&gt;alert(1)")));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
}

TEST(Report, NeedsNothingFromOutside) {
  Report report;
  report.add(record(0, {person(1)}));
  const std::string html = report.html();
  for (const char* part : {"http://", "https://", "<script", "<link", "@import", "url("})
    EXPECT_THAT(html, Not(HasSubstr(part)));
}

TEST(Report, HasATableOfAllStreamsAndTheFirstInFull) {
  Report report({.most_streams = 3});
  for (int stream = 0; stream < 5; ++stream)
    for (int i = 0; i < 4; ++i) report.add(record(i, {}, "cam" + std::to_string(stream)));
  const std::string html = report.html();
  EXPECT_EQ(count_of(html, "<section>"), 3u);
  EXPECT_THAT(html,
              AllOf(HasSubstr("<td>cam4</td>"), HasSubstr("The first 3 of 5 streams in full")));
  EXPECT_THAT(report.streams(), testing::SizeIs(5));
}

TEST(Report, KeepsGroupsApart) {
  Report report;
  for (int group = 0; group < 2; ++group) {
    FrameRecord one = record(0);
    one.group = group;
    report.add(one);
  }
  EXPECT_THAT(report.html(), AllOf(HasSubstr("gate, group 0"), HasSubstr("gate, group 1")));
  EXPECT_THAT(report.streams(), testing::ElementsAre("gate"));
}

TEST(Report, TakesPicturesFromTheClipAndLinksIntoIt) {
  const test::TemporaryFolder folder;
  test::write_clip(folder / "a clip.mp4",
                   {.size = {64, 48}, .frames = 20, .options = test::b_frames(false)});
  Report report;
  for (int i = 0; i < 20; ++i) report.add(record(i, {person(i, Uuid())}));
  EXPECT_EQ(count_of(report.html(), "data:image/jpeg;base64,"), 0u);

  report.set_clip("gate", (folder / "a clip.mp4").string(), "a clip.mp4");
  const std::string html = report.html();
  EXPECT_EQ(count_of(html, "data:image/jpeg;base64,/9j/"), 2u)
      << "the track, and the whole picture";
  EXPECT_THAT(html, HasSubstr("<a href=\"./a%20clip.mp4#t=0.0\">0:00.0</a>"));
}

TEST(Report, RefusesClipsOfUnknownStreamsAndClipsThatCannotBeRead) {
  Report report;
  report.add(record(0));
  EXPECT_THAT([&] { report.set_clip("gat", "a.mp4"); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           HasSubstr("did you mean \"gate\"?")));
  report.set_clip("gate", "/nowhere.mp4");
  EXPECT_THAT([&] { static_cast<void>(report.html()); },
              ThrowsError<SourceError>(ErrorCode::source_open, HasSubstr("/nowhere.mp4")));
}

TEST(Report, IsWrittenWhole) {
  const test::TemporaryFolder folder;
  Report report;
  report.add(record(0));
  report.write((folder / "report.html").string());
  EXPECT_EQ(test::read_file(folder / "report.html"), report.html());
  EXPECT_THAT([&] { report.write((folder / "none" / "report.html").string()); },
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("report.html")));
}

TEST(StreamSummary, KeepsABoundedNumberOfEverything) {
  std::mt19937_64 random(7);
  StreamSummary summary(10);
  for (int i = 0; i < 3000; ++i) {
    const std::string own = std::to_string(i) + std::string(1000, 'x');
    FrameRecord one = record(i, {person(1, Uuid::random(random))});
    one.objects[0].name = own;
    one.objects[0].attributes[own] = own;
    one.drops = {{.frame_index = i, .reason = own}};
    one.errors = {{"finder", "exception", own}};
    one.option_changes = {{"finder", "threshold", 0.5}};
    summary.add(one);
  }
  EXPECT_EQ(summary.names().size(), StreamSummary::kMostNames);
  EXPECT_EQ(summary.objects(), 3000);
  std::int64_t objects = 0;
  for (const std::int64_t count : summary.objects_by_name()) objects += count;
  EXPECT_EQ(objects, 3000);
  EXPECT_EQ(summary.other_values(), 3000 - static_cast<std::int64_t>(StreamSummary::kMostValues));
  EXPECT_EQ(summary.errors().size(), StreamSummary::kMostMessages);
  EXPECT_EQ(summary.other_errors(), 3000 - static_cast<std::int64_t>(StreamSummary::kMostMessages));
  EXPECT_EQ(summary.changes().size(), StreamSummary::kMostChanges);
  EXPECT_EQ(summary.dropped(), 3000);
  EXPECT_LE(summary.drops().size(), 33u);
  EXPECT_LT(stream_section("gate", summary, {}).size(), 1'000'000u);
}

TEST(Links, AreURLsOfHttpOrPaths) {
  EXPECT_EQ(link_to("https://host/a b.mp4"), "https://host/a b.mp4");
  EXPECT_EQ(link_to("clips/a b.mp4"), "./clips/a%20b.mp4");
  EXPECT_EQ(link_to("/clips/é.mp4"), "/clips/%C3%A9.mp4");
  EXPECT_EQ(link_to("../a\"b#c.mp4"), "../a%22b%23c.mp4");
  EXPECT_EQ(link_to("javascript:alert(1)"), "./javascript%3Aalert%281%29") << "a path, no script";
}

TEST(ClockText, RoundsAndCarries) {
  for (const auto& [seconds, digits, text] :
       std::vector<std::tuple<double, int, const char*>>{{0, 0, "0:00"},
                                                         {59.4, 0, "0:59"},
                                                         {59.6, 0, "1:00"},
                                                         {3599.96, 1, "1:00:00.0"},
                                                         {3661, 0, "1:01:01"},
                                                         {61.25, 2, "1:01.25"},
                                                         {-3, 1, "0:00.0"},
                                                         {59.94, 1, "0:59.9"}})
    EXPECT_EQ(clock_text(seconds, digits), text) << seconds;
}

}  // namespace
}  // namespace vcap
