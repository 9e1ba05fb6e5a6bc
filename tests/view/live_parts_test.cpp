// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <latch>

#include <nlohmann/json.hpp>

#include "support/live_helpers.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "view/live_errors.hpp"
#include "view/live_log.hpp"
#include "view/live_recordings.hpp"
#include "view/live_records.hpp"
#include "view/live_routes.hpp"
#include "view/live_sources.hpp"
#include "view/live_viewer.hpp"
#include "view/live_work.hpp"

namespace vcap::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

FrameRecord live_record(std::int64_t index, const std::string& stream = "gate") {
  FrameRecord record{.stream_id = stream};
  record.frame.index = index;
  return record;
}

std::vector<std::int64_t> taken_frames(LiveRecords& records) {
  std::vector<std::int64_t> frames;
  for (const auto& taken : records.take({})) frames.push_back(taken.record.frame.index);
  return frames;
}

TEST(LiveRecords, KeepNothingOfAStreamThatNobodyLooksAt) {
  const LiveRecords::time_point start{1h};
  LiveRecords records;
  records.put(live_record(0), start);
  records.look("gate", 320, 0s, start);
  records.put(live_record(1), start);
  records.put(live_record(1, "yard"), start);
  const auto taken = records.take({});
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].record.frame.index, 1);
  EXPECT_EQ(taken[0].record.stream_id, "gate");
  EXPECT_TRUE(records.take({}).empty());
}

TEST(LiveRecords, GiveTheNewestRecordOfTheTimeAfterALook) {
  const LiveRecords::time_point start{1h};
  LiveRecords records;
  records.look("gate", 320, 0s, start);
  for (int i = 0; i < 3; ++i) records.put(live_record(i), start + LiveRecords::kLook);
  records.put(live_record(3), start + LiveRecords::kLook + 1ns);
  EXPECT_THAT(taken_frames(records), ElementsAre(2));
}

TEST(LiveRecords, AreCopiedAsOftenAsTheOneWhoWantsMostAsks) {
  const LiveRecords::time_point start{1h};
  LiveRecords records;
  records.look("gate", 320, 1s, start);
  records.look("gate", 640, 100ms, start);
  std::vector<std::int64_t> frames;
  for (int i = 0; i < 100; ++i) {
    records.put(live_record(i), start + i * 10ms);
    for (const std::int64_t frame : taken_frames(records)) frames.push_back(frame);
  }
  EXPECT_THAT(frames, ElementsAre(0, 10, 20, 30, 40, 50, 60, 70, 80, 90));
}

TEST(LiveRecords, TellWhichWidthsAreLookedAt) {
  const LiveRecords::time_point start{1h};
  LiveRecords records;
  records.look("gate", 320, 0s, start);
  records.look("gate", 1280, 0s, start + 1s);
  records.put(live_record(0), start + 1s);
  EXPECT_THAT(records.take({})[0].widths, ElementsAre(320, 1280));
  records.put(live_record(1), start + 2500ms);  // the first look is over
  EXPECT_THAT(records.take({})[0].widths, ElementsAre(1280));
}

LivePicture live_picture(std::int64_t frame, const std::string& stream = "gate", int width = 320) {
  return {.stream = stream,
          .frame = frame,
          .width = width,
          .jpeg = std::make_shared<const std::string>("jpeg " + std::to_string(frame))};
}

/// The messages that a viewer would get now: their first lines, and the bytes.
std::vector<std::pair<nlohmann::json, std::string>> messages_of(LiveViewer& viewer) {
  std::vector<std::pair<nlohmann::json, std::string>> messages;
  while (const auto head = viewer.next()) {
    EXPECT_EQ(head->back(), '\n');
    const auto body = viewer.next();
    messages.emplace_back(nlohmann::json::parse(*head), *body);
    EXPECT_EQ(messages.back().first["bytes"], body->size());
  }
  return messages;
}

TEST(LiveViewer, ThatReadsSlowlyGetsTheNewestPictureAndTheCountOfTheOthers) {
  LiveViewer viewer({.interval = 0s}, std::nullopt);
  const LiveViewer::time_point start{1h};
  for (int i = 0; i < 5; ++i) viewer.offer(live_picture(i), start + i * 1s);
  const auto messages = messages_of(viewer);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].first["frame"], 4);
  EXPECT_EQ(messages[0].first["dropped"], 4);
  EXPECT_EQ(messages[0].second, "jpeg 4");
}

TEST(LiveViewer, GetsTheStreamsInTurns) {
  LiveViewer viewer({.interval = 0s}, std::nullopt);
  const LiveViewer::time_point now{1h};
  std::string order;
  for (int i = 0; i < 3; ++i) {
    for (const char* stream : {"a", "b", "c"}) viewer.offer(live_picture(i, stream), now);
    order += nlohmann::json::parse(*viewer.next())["stream"].get<std::string>();
    viewer.next();
  }
  EXPECT_EQ(order, "abc");
}

TEST(LiveViewer, GetsNoPictureOfAStreamThatItsTokenIsNotFor) {
  LiveViewer viewer({.interval = 0s, .large = "yard"}, {{"gate"}});
  const LiveViewer::time_point now{1h};
  viewer.offer(live_picture(0, "yard"), now);
  viewer.offer(live_picture(0, "yard", kLargeWidth), now);
  EXPECT_FALSE(viewer.width_of("yard"));
  EXPECT_FALSE(viewer.next());
  EXPECT_EQ(viewer.width_of("gate"), 320);
}

TEST(LiveViewer, GetsItsRate) {
  LiveViewer viewer({.interval = 100ms}, std::nullopt);
  int pictures = 0;
  for (int i = 0; i < 100; ++i) {
    viewer.offer(live_picture(i), LiveViewer::time_point{1h} + i * 10ms);
    pictures += static_cast<int>(messages_of(viewer).size());
  }
  EXPECT_EQ(pictures, 10);
}

TEST(LiveViewer, GetsStatesAndRecordsBeforePictures) {
  LiveViewer viewer({.interval = 0s, .large = "gate"}, std::nullopt);
  EXPECT_TRUE(viewer.is_new());
  viewer.offer(live_picture(7, "gate", kLargeWidth), LiveViewer::time_point{1h});
  viewer.offer_record(live_record(7), std::make_shared<const std::string>("{}"));
  viewer.offer_state(std::make_shared<const std::string>("[]"));
  EXPECT_FALSE(viewer.is_new());
  std::string types;
  for (const auto& [head, body] : messages_of(viewer))
    types += head["type"].get<std::string>() + ' ';
  EXPECT_EQ(types, "state record picture ");
}

TEST(LiveErrors, KeepTheNewestDifferentOnesWithTheirCount) {
  LiveErrors errors;
  for (int i = 0; i < 20; ++i) {
    FrameRecord record = live_record(i);
    record.errors = {{.capsule = "c", .code = "exception", .message = "always"},
                     {.capsule = "c", .code = "exception", .message = std::to_string(i)}};
    errors.add(record);
  }
  const nlohmann::json kept = errors.json();
  ASSERT_EQ(kept["gate"].size(), LiveErrors::kMostOfAStream);
  EXPECT_EQ(kept["gate"][0]["message"], "19");
  EXPECT_EQ(kept["gate"][1], (nlohmann::json{{"frame", 19},
                                             {"capsule", "c"},
                                             {"code", "exception"},
                                             {"message", "always"},
                                             {"count", 20}}));
  errors.keep({"yard"});
  EXPECT_TRUE(errors.json().empty());
}

TEST(LiveLog, HasTheNewestLinesWithoutPasswords) {
  LiveLog log;
  for (std::size_t i = 1; i <= LiveLog::kMostLines + 5; ++i)
    log.add(LogLevel::warning, "line " + std::to_string(i));
  log.add(LogLevel::error, "lost rtsp://anna:secret@10.0.0.1/gate");
  nlohmann::json lines = log.json(0);
  EXPECT_EQ(lines["lines"].size(), LiveLog::kMostLines);
  EXPECT_EQ(lines["lines"][0]["text"], "line 7");
  EXPECT_EQ(lines["lines"][0]["number"], 7);
  EXPECT_THAT(lines.dump(), Not(HasSubstr("secret")));
  lines = log.json(lines["next"].get<std::uint64_t>() - 1);
  ASSERT_EQ(lines["lines"].size(), 1u);
  EXPECT_EQ(lines["lines"][0]["level"], "error");
}

class KeptSink final : public Sink {
 public:
  void write(const FrameRecord& record) override {
    if (record.frame.index == fails_at) throw OutputError(ErrorCode::output_write, "disk full");
    frames.push_back(record.frame.index);
  }
  void close() override { ++closed; }

  std::int64_t fails_at = -1;
  std::vector<std::int64_t> frames{};
  int closed = 0;
};

TEST(LiveRecordings, WriteWhatComesWhileTheyRun) {
  const auto sink = std::make_shared<KeptSink>();
  LiveRecordings recordings;
  recordings.write(live_record(0));
  EXPECT_TRUE(recordings.start("gate", {.files = {"a.jsonl"}, .sinks = {sink}}));
  EXPECT_FALSE(recordings.start("gate", {}));
  recordings.write(live_record(1));
  recordings.write(live_record(2, "yard"));
  EXPECT_EQ(recordings.json(), (nlohmann::json{{"gate", {"a.jsonl"}}}));
  EXPECT_EQ(recordings.stop("gate"), (std::vector<std::string>{"a.jsonl"}));
  recordings.write(live_record(3));
  EXPECT_FALSE(recordings.stop("gate"));
  EXPECT_THAT(sink->frames, ElementsAre(1));
  EXPECT_EQ(sink->closed, 1);
}

TEST(LiveRecordings, EndWithALogLineIfTheirSinkFails) {
  const KeptLog log;
  const auto sink = std::make_shared<KeptSink>();
  sink->fails_at = 1;
  LiveRecordings recordings;
  recordings.start("gate", {.sinks = {sink}});
  for (int i = 0; i < 3; ++i) recordings.write(live_record(i));
  EXPECT_THAT(sink->frames, ElementsAre(0));
  EXPECT_FALSE(recordings.has("gate"));
  EXPECT_THAT(log.text(), HasSubstr("the recording of stream \"gate\" has ended: disk full"));
}

TEST(LiveRecordings, AreCompletedAtTheEnd) {
  const auto sink = std::make_shared<KeptSink>();
  {
    LiveRecordings recordings;
    recordings.start("gate", {.sinks = {sink}});
  }
  EXPECT_EQ(sink->closed, 1);
}

TEST(LiveWork, RunsSeveralAtATimeAndRefusesTooMuch) {
  std::latch begun(LiveWork::kThreads);
  std::latch go(1);
  std::atomic<int> done = 0;
  {
    LiveWork work;
    const auto wait = [&] {
      begun.count_down();
      go.wait();
      ++done;
    };
    for (std::size_t i = 0; i < LiveWork::kThreads; ++i) EXPECT_TRUE(work.add(wait));
    begun.wait();
    for (std::size_t i = 0; i < LiveWork::kWaiting; ++i) EXPECT_TRUE(work.add([&] { ++done; }));
    EXPECT_FALSE(work.add([] {}));
    go.count_down();
  }
  EXPECT_GE(done, static_cast<int>(LiveWork::kThreads));  // the rest may have been dropped
}

TEST(AllowedSources, AreFilesBelowFoldersAndUrlsOfSchemes) {
  const TemporaryFolder folder;
  namespace fs = std::filesystem;
  fs::create_directories(folder.path() / "in" / "deep");
  fs::create_directory(folder.path() / "out");
  const auto refused = [](const ViewSources& allowed, const std::string& name) -> std::string {
    try {
      open_allowed_source(allowed, name);
      return "opened";
    } catch (const LiveRefusal& refusal) {
      EXPECT_EQ(refusal.status(), 403u);
      return refusal.what();
    } catch (const Error&) {  // allowed, but there is nothing in it
      return "allowed";
    }
  };
  fs::create_symlink(folder.path() / "out", folder.path() / "in" / "link");
  const ViewSources allowed{.schemes = {"rtsp"}, .folders = {(folder.path() / "in").string()}};
  const std::string in = (folder.path() / "in").string();
  EXPECT_EQ(refused(allowed, in + "/deep"), "allowed");
  EXPECT_EQ(refused(allowed, "rtsp://127.0.0.1:1/gate"), "opened");
  for (const std::string& name :
       {in + "/link", in + "/../out", (folder.path() / "out").string(), in + "/none",
        std::string("/etc/passwd"), std::string("0"), std::string("file:///etc/passwd"),
        "hls:" + in + "/deep", "ffconcat:" + in + "/deep", in + "-other", std::string(),
        std::string("http://127.0.0.1/a"), std::string("RTSPS://127.0.0.1/a")})
    EXPECT_THAT(refused(allowed, name), HasSubstr("is not allowed")) << name;
  EXPECT_EQ(refused(allowed, "RTSP://127.0.0.1:1/gate"), "opened");
  EXPECT_THAT(refused({}, "rtsp://anna:secret@127.0.0.1/"),
              testing::AllOf(HasSubstr("without sources"), Not(HasSubstr("secret"))));
}

TEST(LiveCall, TellsWhereJsonIsWrong) {
  LiveCall call;
  call.request.body = "{\"line\":\n  [1, }";
  EXPECT_THAT([&] { call.body(); },
              testing::ThrowsMessage<LiveRefusal>(HasSubstr("line 2, column 7")));
}

}  // namespace
}  // namespace vcap::test
