// SPDX-License-Identifier: Apache-2.0
// Events in reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "vcap/view/report.hpp"
#include "view/event_table.hpp"

namespace vcap {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

class EventTableTest : public testing::Test {
 protected:
  EventRecord begin(EventKind kind, const std::string& rule, std::chrono::nanoseconds pts) {
    EventRecord record{.stream_id = "gate", .phase = EventChange::Phase::begin};
    record.event = {.id = Uuid::random(random_), .kind = kind, .rule = rule};
    record.event.zone = "yard";
    record.event.object = "person";
    record.event.track_id = Uuid::random(random_);
    record.event.begin = {pts / 100ms, pts};
    return record;
  }
  static EventRecord end(EventRecord record, EventEnd reason, std::chrono::nanoseconds pts) {
    record.phase = EventChange::Phase::end;
    record.event.reason = reason;
    record.event.end = EventMoment{pts / 100ms, pts};
    return record;
  }

  std::mt19937_64 random_{3};
  EventTable table_;
};

TEST_F(EventTableTest, CountsEventsAndDwellByRulePlaceAndObject) {
  for (int i = 0; i < 3; ++i) {
    const EventRecord one = begin(EventKind::enter, "comes", 1s * i);
    table_.add(one);
    table_.add(end(one, EventEnd::left, 1s * i + 2s));
  }
  EventRecord car = begin(EventKind::enter, "comes", 5s);
  car.event.object = "car";
  table_.add(car);
  ASSERT_THAT(table_.counts(), SizeIs(2));
  const EventTable::Count& people =
      table_.counts().at({"comes", EventKind::enter, "yard", "", "person"});
  EXPECT_EQ(people.events, 3);
  EXPECT_EQ(people.open, 0);
  EXPECT_EQ(people.dwell_ms.count(), 3u);
  EXPECT_NEAR(people.dwell_ms.mean(), 2000, 70);
  EXPECT_EQ(table_.counts().at({"comes", EventKind::enter, "yard", "", "car"}).open, 1);
  EXPECT_EQ(table_.events(), 4);
}

TEST_F(EventTableTest, CountsDwellFromWhenTheTrackCameAndNoneOfMomentaryEvents) {
  EventRecord stay = begin(EventKind::stay, "waits", 10s);
  stay.event.since = EventMoment{0, 0s};
  table_.add(stay);
  table_.add(end(stay, EventEnd::left, 12s));
  const EventRecord cross = begin(EventKind::cross, "passes", 3s);
  table_.add(cross);
  table_.add(end(cross, EventEnd::momentary, 3s));
  EXPECT_NEAR(table_.counts().begin()->second.dwell_ms.mean(), 0, 0) << "passes";
  EXPECT_NEAR(std::next(table_.counts().begin())->second.dwell_ms.mean(), 12'000, 400) << "waits";
}

TEST_F(EventTableTest, LinksToThePictureAndTheClipOfAnEvent) {
  EventRecord open = begin(EventKind::enter, "comes", 3s);
  open.snapshot = "open.jpg";
  open.clip = "open.mp4";
  table_.add(open);
  EventRecord whole = begin(EventKind::enter, "comes", 10s);
  whole.snapshot = "whole.jpg";
  table_.add(whole);
  whole.clip = "whole.mp4";
  whole.clip_start = 4s;
  table_.add(end(whole, EventEnd::left, 12s));
  EventRecord elsewhere = begin(EventKind::enter, "comes", 20s);
  elsewhere.clip = "../secret.mp4";
  table_.add(elsewhere);
  table_.add(end(elsewhere, EventEnd::left, 21s));
  const std::string html =
      event_section(table_, 0s, 30s, {.snapshots = "pictures", .event_clips = "my clips/"});
  EXPECT_THAT(html, AllOf(HasSubstr("<a href=\"./pictures/open.jpg\">picture</a>"),
                          HasSubstr("<a href=\"./pictures/whole.jpg\">picture</a>, "
                                    "<a href=\"./my%20clips/whole.mp4#t=6.0\">clip</a>"),
                          Not(HasSubstr("open.mp4")), Not(HasSubstr("secret"))));
  EXPECT_THAT(event_section(table_, 0s, 30s, {}), Not(HasSubstr("whole.mp4")));
}

TEST_F(EventTableTest, CountsAnEndWithoutABeginOnce) {
  table_.add(end(begin(EventKind::enter, "comes", 1s), EventEnd::left, 2s));
  EXPECT_EQ(table_.events(), 1);
  ASSERT_THAT(table_.kept(), SizeIs(1));
  EXPECT_EQ(table_.kept()[0].event.end->pts, 2s);
}

TEST_F(EventTableTest, KeepsABoundedNumberAndCountsAll) {
  for (int i = 0; i < 3000; ++i) {
    const EventRecord one =
        begin(EventKind::enter, std::to_string(i) + std::string(1000, 'x'), 1s * i);
    table_.add(one);
    table_.add(end(one, EventEnd::left, 1s * i + 1s));
  }
  EXPECT_EQ(table_.events(), 3000);
  EXPECT_THAT(table_.kept(), SizeIs(EventTable::kMostEvents));
  EXPECT_THAT(table_.counts(), SizeIs(EventTable::kMostKinds));
  EXPECT_EQ(table_.other_kinds(), 3000 - static_cast<std::int64_t>(EventTable::kMostKinds));
  EXPECT_LT(event_section(table_, 0s, 3000s, {}).size(), 1'000'000u);
}

TEST_F(EventTableTest, IsShownInTheReportOfItsStream) {
  Report report;
  FrameRecord record{.stream_id = "gate"};
  record.frame.pts = 20s;
  report.add(record);
  EXPECT_THAT(report.html(), Not(HasSubstr("<h3>Events</h3>")));
  EventRecord cross = begin(EventKind::cross, "passes", 3s);
  cross.event.zone.clear();
  cross.event.line = "path";
  cross.event.direction = "in";
  report.add(cross);
  report.add(end(cross, EventEnd::momentary, 3s));
  report.add(begin(EventKind::stay, "waits", 10s));
  report.set_clip("gate", "", "gate.mp4");
  EXPECT_THAT(report.html(),
              AllOf(HasSubstr("<h3>Events</h3>"), HasSubstr("<td>line path</td><td>in</td>"),
                    HasSubstr("<td>open</td>"), HasSubstr("gate.mp4#t=10.0"),
                    HasSubstr("<td>passes</td><td>cross</td><td>path</td><td>in</td>"
                              "<td>person</td><td class=\"number\">1</td>")));
}

TEST_F(EventTableTest, ShowsMarkupAsText) {
  const std::string hostile = "<script>alert(1)</script>\"'&\x1b[2J\xff";
  for (const EventKind kind : {EventKind::attribute, EventKind::cross, EventKind::enter}) {
    EventRecord one = begin(kind, hostile, 1s);
    Event& event = one.event;
    event.zone = event.line = event.object = event.direction = event.category = hostile;
    event.from = event.to = hostile;
    table_.add(one);
  }
  EXPECT_THAT(event_section(table_, 0s, 9s, {.clip = hostile}),
              AllOf(Not(HasSubstr("<script")), Not(HasSubstr("\x1b")), Not(HasSubstr("\xff"))));
}

}  // namespace
}  // namespace vcap
