// SPDX-License-Identifier: Apache-2.0
// Tests of cameras by RTSP that end, freeze and return. The server is other software (GStreamer),
// in its own process.
#include <gmock/gmock.h>

#include <algorithm>
#include <condition_variable>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "support/clip_writer.hpp"
#include "support/live_helpers.hpp"
#include "support/pipeline_helpers.hpp"
#include "support/rtsp_server.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"

namespace vcap::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A server takes a second or so to start; attempts continue for half a minute.
constexpr ReconnectPolicy kAgain{
    .first_delay = milliseconds(50), .max_delay = milliseconds(100), .max_attempts = 400};
constexpr SourceOptions kPatient{.reconnect = kAgain};
constexpr SourceOptions kWatchful{.reconnect = kAgain, .silence_limit = milliseconds(3000)};

/// Reads `count` more frames.
std::vector<Frame> read_some(Source& source, int count) {
  std::vector<Frame> frames;
  while (count-- > 0)
    if (std::optional<Frame> frame = source.read()) frames.push_back(*std::move(frame));
  return frames;
}

/// The distance from a time to the nearest multiple of a step.
nanoseconds distance_to_multiple(nanoseconds time, nanoseconds step) {
  const nanoseconds beyond = (time % step + step) % step;
  return std::min(beyond, step - beyond);
}

/// Reads until the first frame after a reconnection, and five more.
std::vector<Frame> read_past_reconnection(Source& source) {
  std::vector<Frame> frames;
  do {
    std::optional<Frame> frame = source.read();
    if (!frame) return frames;
    frames.push_back(*std::move(frame));
  } while (frames.back().discontinuity != Discontinuity::reconnect);
  for (Frame& frame : read_some(source, 5)) frames.push_back(std::move(frame));
  return frames;
}

/// Expects one stream that was lost once: its indexes and times continue.
void expect_one_reconnection(std::vector<Frame> before, std::vector<Frame> after) {
  for (Frame& frame : after) before.push_back(std::move(frame));
  expect_one_stream(before);
  EXPECT_EQ(frames_with(Discontinuity::reconnect, before).size(), 1u);
  EXPECT_EQ(frames_with(Discontinuity::start, before).size(), 1u);
}

class RtspSource : public testing::Test {
 protected:
  const KeptLog log_;
};

TEST_F(RtspSource, GivesPicturesWithRisingTimes) {
  const RtspServer server;
  const auto source = open_source(server.url(), kPatient);
  EXPECT_TRUE(source->info().live);
  EXPECT_EQ(source->info().size, cv::Size(64, 48));
  EXPECT_EQ(source->info().codec, "mjpeg");
  // More than were sent while the source was opened.
  const std::vector<Frame> frames = read_some(*source, 40);
  ASSERT_EQ(frames.size(), 40u);
  expect_one_stream(frames);
  for (std::size_t i = 1; i < frames.size(); ++i)
    EXPECT_GT(cv::norm(frames[i].image, frames[i - 1].image, cv::NORM_INF), 50)
        << "the picture moves";
  for (const Frame& frame : frames)
    EXPECT_LT(distance_to_multiple(frame.pts, milliseconds(40)), std::chrono::microseconds(20))
        << frame.pts.count() << ": by the camera's clock, whose ticks are 1/90000 s";
}

TEST_F(RtspSource, StartsMidwayWithoutADamagedPicture) {
  const TemporaryFolder folder;
  const std::string clip = folder / "clip.mkv";
  // A keyframe every 34 pictures, or 1.36 s.
  std::map<std::string, std::string> options = b_frames(false);
  options["x264-params"] += ":keyint=34";
  write_clip(clip, {.frames = 500, .options = options});
  std::vector<Frame> whole = read_to_failure(*open_source(clip)).first;
  ASSERT_EQ(whole.size(), 500u);

  const RtspServer server("0", clip);
  const auto first = open_source(server.url("clip"), kPatient);
  EXPECT_EQ(first->info().codec, "h264");
  read_some(*first, 40);  // from now on the server sends whether anyone reads or not
  const auto late = open_source(server.url("clip"), kPatient);
  const std::vector<Frame> frames = read_some(*late, 60);
  ASSERT_EQ(frames.size(), 60u);
  expect_one_stream(frames);
  const auto is_first = [&](const Frame& frame) {
    return cv::norm(frame.image, frames[0].image, cv::NORM_INF) == 0;
  };
  const auto begin = std::ranges::find_if(whole, is_first);
  ASSERT_NE(begin, whole.end()) << "the first picture must be an undamaged picture of the clip";
  const std::int64_t index = begin->index;
  EXPECT_GT(index, 0);
  EXPECT_EQ(index % 34, 0) << "the first picture must be a keyframe";
  for (std::size_t i = 0; i < frames.size() && begin + static_cast<std::ptrdiff_t>(i) < whole.end();
       ++i) {
    const Frame& same = begin[static_cast<std::ptrdiff_t>(i)];
    EXPECT_EQ(cv::norm(frames[i].image, same.image, cv::NORM_INF), 0) << i;
    EXPECT_LT(distance_to_multiple(frames[i].pts - (same.pts - begin->pts), std::chrono::hours(1)),
              std::chrono::microseconds(50))
        << i;
    EXPECT_EQ(frames[i].discontinuity, i == 0 ? Discontinuity::start : Discontinuity::none) << i;
  }
}

TEST_F(RtspSource, ReconnectsToAServerThatWasRestarted) {
  auto server = std::make_unique<RtspServer>();
  const std::string port = server->port();
  const auto source = open_source(server->url(), kPatient);
  std::vector<Frame> before = read_some(*source, 5);
  server.reset();
  auto reading = std::async(std::launch::async, [&] { return read_past_reconnection(*source); });
  EXPECT_TRUE(log_.wait_for("reconnecting"));
  server = std::make_unique<RtspServer>(port);
  expect_one_reconnection(std::move(before), reading.get());
}

TEST_F(RtspSource, ReconnectsToAServerThatFroze) {
  const RtspServer server;
  const auto source = open_source(server.url(), kWatchful);
  std::vector<Frame> before = read_some(*source, 5);
  const auto frozen = std::chrono::steady_clock::now();
  server.freeze();
  auto reading = std::async(std::launch::async, [&] { return read_past_reconnection(*source); });
  EXPECT_TRUE(log_.wait_for("it was silent for 3.0 s"));
  EXPECT_GE(std::chrono::steady_clock::now() - frozen, kWatchful.silence_limit - milliseconds(100));
  EXPECT_LT(std::chrono::steady_clock::now() - frozen, std::chrono::seconds(15));
  server.thaw();
  expect_one_reconnection(std::move(before), reading.get());
}

TEST_F(RtspSource, ReconnectsWhenAFrozenServerIsRestarted) {
  auto server = std::make_unique<RtspServer>();
  const std::string port = server->port();
  const auto source = open_source(server->url(), kWatchful);
  std::vector<Frame> before = read_some(*source, 5);
  server->freeze();
  auto reading = std::async(std::launch::async, [&] { return read_past_reconnection(*source); });
  EXPECT_TRUE(log_.wait_for("it was silent for 3.0 s"));
  server.reset();
  server = std::make_unique<RtspServer>(port);
  expect_one_reconnection(std::move(before), reading.get());
}

TEST_F(RtspSource, GivesUpAfterTheMaximumNumberOfAttempts) {
  auto server = std::make_unique<RtspServer>();
  const auto source = open_source(
      server->url(), {.reconnect = {.first_delay = milliseconds(10), .max_attempts = 3}});
  read_some(*source, 1);
  server.reset();
  EXPECT_THAT([&] { read_some(*source, 1000); },
              ThrowsError<SourceError>(
                  ErrorCode::source_read,
                  AllOf(HasSubstr("URL rtsp://joe:***@127.0.0.1:"), HasSubstr("Connection refused"),
                        HasSubstr("3 attempts to reconnect failed"))));
}

TEST_F(RtspSource, IsRefusedIfTheServerDoesNotHaveThePath) {
  const RtspServer server;
  EXPECT_THAT([&] { open_source(server.url("other"), kPatient); },
              ThrowsError<SourceError>(
                  ErrorCode::source_open,
                  AllOf(HasSubstr("rtsp://joe:***@127.0.0.1:" + server.port() + "/other"),
                        HasSubstr("404"), Not(HasSubstr("secret")))));
}

/// The records of a stream, and a way to wait for them.
struct Received {
  std::mutex mutex;
  std::condition_variable grown;
  std::vector<FrameRecord> records;

  void add(const FrameRecord& record) {
    const std::lock_guard lock(mutex);
    records.push_back(record);
    grown.notify_all();
  }
  void wait_for_more(std::size_t count) {
    std::unique_lock lock(mutex);
    const std::size_t wanted = records.size() + count;
    EXPECT_TRUE(
        grown.wait_for(lock, std::chrono::seconds(30), [&] { return records.size() >= wanted; }));
  }
};

TEST_F(RtspSource, LeavesOtherStreamsAloneWhenItsServerDies) {
  auto dying = std::make_unique<RtspServer>();
  const RtspServer lasting;
  Received doomed;
  Received going_on;
  Pipeline pipeline({make_detector("detector", "person")});
  const auto open = [&](const std::string& id, const RtspServer& server, Received& received) {
    pipeline.open_stream(
        {.id = id,
         .source = open_source(server.url(),
                               {.reconnect = {.first_delay = milliseconds(10), .max_attempts = 2}}),
         .sinks = {make_callback_sink([&](const FrameRecord& record) { received.add(record); })},
         .overflow = OverflowPolicy::wait});
  };
  open("doomed", *dying, doomed);
  open("going on", lasting, going_on);
  doomed.wait_for_more(5);
  going_on.wait_for_more(5);
  dying.reset();
  EXPECT_THAT(pipeline.wait("doomed").failure.value_or(""),
              HasSubstr("2 attempts to reconnect failed"));
  going_on.wait_for_more(30);
  pipeline.stop();
  EXPECT_EQ(pipeline.wait("going on").failure, std::nullopt);
  for (std::size_t i = 0; i < going_on.records.size(); ++i) {
    EXPECT_EQ(going_on.records[i].frame.index, static_cast<std::int64_t>(i))
        << "a frame is missing";
    EXPECT_EQ(going_on.records[i].frame.discontinuity,
              i == 0 ? Discontinuity::start : Discontinuity::none);
  }
}

}  // namespace
}  // namespace vcap::test
