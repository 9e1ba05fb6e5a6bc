// SPDX-License-Identifier: Apache-2.0
// vcap run --events.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <opencv2/videoio.hpp>

#include "cli/command.hpp"
#include "cli/images.hpp"
#include "vcap/records/event_record.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// A person who stays in the picture for 0.2 s, which is five images.
constexpr const char* kStayRules = R"({"schema": "vcap.event-rules/1",
  "rules": [{"name": "stays", "kind": "stay", "at_least": 0.2}]})";
/// A zone on the left, and a line on the right that leads downwards.
constexpr const char* kDoorRules = R"({"schema": "vcap.event-rules/1", "unit": "relative",
  "zones": [{"name": "door", "polygon": [[0.25, 0.25], [0.5, 0.25], [0.5, 0.75], [0.25, 0.75]]}],
  "lines": [{"name": "path", "from": [0.75, 0.25], "to": [0.75, 0.75]}],
  "rules": [{"name": "comes", "kind": "enter", "zone": "door"},
            {"name": "passes", "kind": "cross", "line": "path"}]})";
constexpr const char* kOtherRules = R"({"schema": "vcap.event-rules/1",
  "rules": [{"name": "stays here", "kind": "stay", "at_least": 0.4}]})";

class EventsRun : public testing::Test {
 protected:
  std::vector<std::string> arguments(std::vector<std::string> more,
                                     std::vector<std::string> events = {}) const {
    std::vector<std::string> words{"run",       "--capsule",         capsule("finder"),
                                   "--capsule", capsule("follower"), "--source",
                                   source_};
    for (const std::string& one : events.empty() ? std::vector{rules_} : events)
      words.insert(words.end(), {"--events", one});
    words.insert(words.end(), {"--event-log", log_});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  /// "stays begin@5" and "stays end@19 stream_end".
  std::vector<std::string> events() const {
    std::vector<std::string> texts;
    for (const EventRecord& record : read_event_journal(log_).records) {
      const Event& event = record.event;
      std::string text =
          record.stream_id + ' ' + event.rule + ' ' + std::string(to_string(record.phase));
      if (event.end || !event.reason)
        text += '@' + std::to_string((event.end ? *event.end : event.begin).frame_index);
      if (event.reason) text += ' ' + std::string(to_string(*event.reason));
      texts.push_back(text);
    }
    return texts;
  }

  const TemporaryFolder folder_;
  const std::string source_ = images(folder_, "shots", 20);
  const std::string rules_ = folder_.write("rules.json", kStayRules).string();
  const std::string log_ = (folder_ / "events.jsonl").string();
};

TEST_F(EventsRun, WritesAJournalThatGrowsWithEachRun) {
  for (int run = 0; run < 2; ++run) {
    const Result result = vcap(arguments({}));
    ASSERT_EQ(result.exit_code, 0) << result;
  }
  EXPECT_THAT(events(), ElementsAre("shots stays begin@5", "shots stays end@19 stream_end",
                                    "shots stays begin@5", "shots stays end@19 stream_end"));
}

TEST_F(EventsRun, HasRulesForSingleStreams) {
  const std::string other = folder_.write("other.json", kOtherRules).string();
  const Result result = vcap(arguments({"--source", source_}, {rules_, "shots-2=" + other}));
  ASSERT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(events(), testing::UnorderedElementsAre(
                            "shots stays begin@5", "shots stays end@19 stream_end",
                            "shots-2 stays here begin@10", "shots-2 stays here end@19 stream_end"));
}

TEST_F(EventsRun, SaysHowManyClipsWereLost) {
  // A folder in which nobody can create a file, not even root.
  const Result result = vcap(arguments({"--event-clips", "/proc", "--when-output-fails", "skip"}));
  ASSERT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(events(), ElementsAre("shots stays begin@5", "shots stays end@19 stream_end"));
  EXPECT_THAT(result.out, HasSubstr("clips of events lost to " + log_ +
                                    ": missing 1; the last failure: output /proc/"));
}

TEST_F(EventsRun, WritesSnapshots) {
  const std::filesystem::path pictures = folder_ / "pictures";
  std::filesystem::create_directory(pictures);
  const Result result = vcap(arguments({"--event-snapshots", pictures.string()}));
  ASSERT_EQ(result.exit_code, 0) << result;
  const auto records = read_event_journal(log_).records;
  ASSERT_THAT(records, SizeIs(2));
  const cv::Mat image = cv::imread((pictures / records[1].snapshot).string());
  EXPECT_EQ(image.size(), cv::Size(64, 48));
  EXPECT_NEAR(cv::mean(image)[0], 50, 2) << "the sixth image";
}

class DrawnEventsRun : public EventsRun {
 protected:
  /// Runs with these options, and gives the first picture of a clip.
  cv::Mat picture_of(std::vector<std::string> options, const std::string& clip = "clip.mkv") const {
    options.insert(options.end(), {"--source", wide_, "--video", (folder_ / "clip.mkv").string(),
                                   "--video-quality", "0"});
    const Result result = vcap(without_source(arguments(options, {door_})));
    EXPECT_EQ(result.exit_code, 0) << result;
    return first_of(clip);
  }
  cv::Mat first_of(const std::string& clip) const {
    cv::Mat first;
    EXPECT_TRUE(cv::VideoCapture((folder_ / clip).string()).read(first)) << clip;
    return first;
  }
  std::vector<std::string> without_source(std::vector<std::string> words) const {
    const auto source = std::ranges::find(words, source_);
    words.erase(source - 1, source + 1);
    return words;
  }
  /// Whether the black picture is drawn on there. The border of the door, and the line.
  static bool is_drawn(const cv::Mat& picture, int x, int y) {
    const cv::Vec3b color = picture.at<cv::Vec3b>(y, x);
    return std::max({color[0], color[1], color[2]}) > 60;
  }
  static bool has_door(const cv::Mat& picture) {
    return is_drawn(picture, 80, 150) && is_drawn(picture, 160, 150) && is_drawn(picture, 120, 180);
  }
  static bool has_path(const cv::Mat& picture) { return is_drawn(picture, 240, 150); }

  const std::string wide_ = images(folder_, "wide", 3, {320, 240});
  const std::string door_ = folder_.write("door.json", kDoorRules).string();
};

TEST_F(DrawnEventsRun, ShowsZonesAndLinesOnTheClip) {
  const cv::Mat usual = picture_of({});
  EXPECT_TRUE(has_door(usual));
  EXPECT_TRUE(has_path(usual));
  EXPECT_TRUE(is_drawn(usual, 229, 120)) << "the arrow: right of the way down is left";
  EXPECT_FALSE(is_drawn(usual, 251, 120));
  const cv::Mat same = picture_of({"--draw", "zones,boxes,polygons,labels"});
  EXPECT_EQ(cv::norm(usual, same, cv::NORM_INF), 0);
}

TEST_F(DrawnEventsRun, ShowsOnlyWhatAListNames) {
  const cv::Mat boxes = picture_of({"--draw", "boxes"});
  EXPECT_FALSE(has_door(boxes));
  EXPECT_FALSE(has_path(boxes));
  EXPECT_TRUE(is_drawn(boxes, 2, 6)) << "the person";
  const cv::Mat path = picture_of({"--draw", "zones:path"});
  EXPECT_FALSE(has_door(path));
  EXPECT_TRUE(has_path(path));
  EXPECT_FALSE(is_drawn(path, 2, 6));
}

TEST_F(DrawnEventsRun, ShowsEachStreamItsOwnZones) {
  const std::string clip = (folder_ / "clip.mkv").string();
  const Result result = vcap(without_source(
      arguments({"--source", wide_, "--source", wide_, "--video", clip}, {"wide-2=" + door_})));
  ASSERT_EQ(result.exit_code, 0) << result;
  EXPECT_FALSE(has_door(first_of("clip-wide.mkv"))) << "it has no rules";
  EXPECT_TRUE(has_door(first_of("clip-wide-2.mkv")));
}

TEST_F(DrawnEventsRun, RefusesZonesThatNoRulesHave) {
  const std::string clip = (folder_ / "clip.mkv").string();
  const Result unknown = vcap(arguments({"--video", clip, "--draw", "zones:paht"}, {door_}));
  EXPECT_EQ(unknown.exit_code, 2) << unknown;
  EXPECT_THAT(unknown.err, HasSubstr("have no zone or line \"paht\"; did you mean \"path\"?"));
  const Result none = vcap({"run", "--capsule", capsule("finder"), "--source", source_, "--video",
                            clip, "--draw", "boxes,zones"});
  EXPECT_EQ(none.exit_code, 2) << none;
  EXPECT_THAT(none.err, HasSubstr("give them by --events"));
  EXPECT_FALSE(std::filesystem::exists(clip));
  EXPECT_FALSE(std::filesystem::exists(log_));
}

TEST_F(EventsRun, EndsEachEventOnceAfterAKill) {
  const std::string gate = (folder_ / "gate").string();
  ASSERT_EQ(::mkfifo(gate.c_str(), 0600), 0);
  {
    Command command(arguments({"--config", R"(finder={"gate_at":10,"gate":")" + gate + "\"}"}));
    await_files("the begin of the event", [&] {
      return std::filesystem::exists(log_) && read_file(log_).find('\n') != std::string::npos;
    });
    const Result beside = vcap(arguments({}));
    EXPECT_EQ(beside.exit_code, 7) << "two runs must not write one journal; " << beside;
    EXPECT_THAT(beside.err, AllOf(HasSubstr("another run"), HasSubstr(log_)));
    command.send(SIGKILL);
    command.wait();
  }
  EXPECT_THAT(events(), ElementsAre("shots stays begin@5"));
  const Result result = vcap(arguments({}));
  ASSERT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.err, HasSubstr("1 open event ended now, as interrupted"));
  EXPECT_THAT(events(), ElementsAre("shots stays begin@5", "shots stays end interrupted",
                                    "shots stays begin@5", "shots stays end@19 stream_end"));
}

TEST_F(EventsRun, RefusesWhatItCannotUse) {
  const auto expect_refused = [&](const std::vector<std::string>& words, int code,
                                  const std::string& why) {
    const Result result = vcap(words);
    EXPECT_EQ(result.exit_code, code) << result;
    EXPECT_THAT(result.err, HasSubstr(why));
    EXPECT_FALSE(std::filesystem::exists(log_));
  };
  expect_refused(arguments({}, {"gate=" + rules_}), 2, "the streams are \"shots\"");
  expect_refused(arguments({}, {rules_, rules_}), 2, "there are rules for all streams already");
  expect_refused(arguments({}, {"shots=" + rules_, "shots=" + rules_}), 2,
                 "the stream has rules already");
  expect_refused({"run", "--capsule", capsule("finder"), "--source", source_, "--events", rules_},
                 2, "--event-log");
  expect_refused({"run", "--capsule", capsule("finder"), "--source", source_, "--event-log", log_},
                 2, "--events");
  expect_refused(arguments({"--event-snapshots", (folder_ / "none").string()}), 7,
                 "create it first");
  expect_refused(arguments({"--jsonl", log_}), 2, "is given twice");
  const std::string wrong = folder_
                                .write("wrong.json", R"({"schema": "vcap.event-rules/1", "rules": [
        {"name": "a", "kind": "enter", "zone": "door"}]})")
                                .string();
  expect_refused(arguments({}, {wrong}), 2, "wrong.json: event rule \"a\": zone is \"door\"");
}

}  // namespace
}  // namespace vcap::test
