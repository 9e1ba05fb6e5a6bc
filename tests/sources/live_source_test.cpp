// SPDX-License-Identifier: Apache-2.0
// Cameras on the network, and what happens to a stream when they disconnect or fall silent.
#include <gmock/gmock.h>

#include <deque>
#include <future>
#include <string>
#include <thread>

#include "sources/live_source.hpp"
#include "support/camera.hpp"
#include "support/live_helpers.hpp"
#include "support/pipeline_helpers.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Visits = std::vector<Camera::Visit>;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(LiveSource, HasRisingTimesAndFailsWhenTheCameraDisconnects) {
  const Camera camera(50);
  const auto source = open_source(camera.url(), {.reconnect = {.max_attempts = 0}});
  EXPECT_TRUE(source->info().live);
  EXPECT_EQ(source->info().size, cv::Size(64, 48));
  EXPECT_FALSE(source->info().frames);
  std::vector<Frame> frames;
  EXPECT_THAT(
      [&] {
        while (std::optional<Frame> frame = source->read()) frames.push_back(*std::move(frame));
      },
      ThrowsError<SourceError>(
          ErrorCode::source_read,
          AllOf(HasSubstr("URL " + camera.url()), HasSubstr("sent no more frames after"))));
  ASSERT_GT(frames.size(), 1u);
  EXPECT_EQ(frames[0].pts.count(), 0);
  EXPECT_EQ(frames[0].discontinuity, Discontinuity::start);
  for (std::size_t i = 1; i < frames.size(); ++i) {
    EXPECT_EQ(frames[i].index, static_cast<std::int64_t>(i));
    EXPECT_GT(frames[i].pts, frames[i - 1].pts);
  }
}

TEST(LiveSource, EndsItsStreamWithItsError) {
  const Camera camera(50);
  Pipeline pipeline({make_detector("detector", "person")});
  pipeline.open_stream(
      {.id = "camera", .source = open_source(camera.url(), {.reconnect = {.max_attempts = 0}})});
  const StreamReport report = pipeline.wait("camera");
  ASSERT_TRUE(report.failure);
  EXPECT_THAT(*report.failure, HasSubstr("check the camera and its connection"));
  EXPECT_GT(report.frames, 0);
}

TEST(LiveSource, EndsWithoutAnErrorWhenItIsInterrupted) {
  const Camera camera(50);
  const auto source = open_source(camera.url());
  EXPECT_TRUE(source->read());
  source->interrupt();
  EXPECT_FALSE(source->read());
}

constexpr ReconnectPolicy kAtOnce{
    .first_delay = milliseconds(1), .max_delay = milliseconds(2), .max_attempts = 3};

class LiveSourceOnANetwork : public testing::Test {
 protected:
  const KeptLog log_;
};

TEST_F(LiveSourceOnANetwork, ReconnectsToACameraThatDisconnected) {
  const Camera camera(Visits{{.pictures = 30}, {.pictures = 30}});
  const auto [frames, failure] =
      read_to_failure(*open_source(camera.url(), {.reconnect = kAtOnce}));
  const auto again = frames_with(Discontinuity::reconnect, frames);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_GT(again[0], 20);
  EXPECT_GT(frames.size(), static_cast<std::size_t>(again[0]) + 20);
  expect_one_stream(frames);
  EXPECT_THAT(failure, HasSubstr("3 attempts to reconnect failed"));
  EXPECT_THAT(log_.text(), AllOf(HasSubstr("is lost after"), HasSubstr("reconnecting")));
}

TEST_F(LiveSourceOnANetwork, ReconnectsToACameraThatFroze) {
  const Camera camera(Visits{{.pictures = 30, .freezes = true}, {.pictures = 30}});
  const auto [frames, failure] = read_to_failure(
      *open_source(camera.url(), {.reconnect = kAtOnce, .silence_limit = milliseconds(2000)}));
  EXPECT_EQ(frames_with(Discontinuity::reconnect, frames).size(), 1u);
  expect_one_stream(frames);
  EXPECT_THAT(log_.text(), HasSubstr("it was silent for 2.0 s"));
}

TEST_F(LiveSourceOnANetwork, ReconnectsToACameraThatWasRestarted) {
  auto camera = std::make_unique<Camera>(Visits{{.freezes = true}});
  const std::uint16_t port = camera->port();
  const auto source = open_source(
      camera->url(), {.reconnect = {.first_delay = milliseconds(1), .max_attempts = 8}});
  ASSERT_TRUE(source->read());
  camera.reset();  // this ends its connections
  camera = std::make_unique<Camera>(Visits{{}, {}}, port);
  std::optional<Frame> frame;
  do frame = source->read();
  while (frame && frame->discontinuity != Discontinuity::reconnect);
  EXPECT_TRUE(frame);
}

TEST_F(LiveSourceOnANetwork, FailsWhenACameraFreezesAndReconnectingIsOff) {
  const Camera camera(Visits{{.freezes = true}});
  const auto [frames, failure] = read_to_failure(*open_source(
      camera.url(), {.reconnect = {.max_attempts = 0}, .silence_limit = milliseconds(2000)}));
  EXPECT_GT(frames.size(), 20u);
  EXPECT_THAT(failure,
              AllOf(HasSubstr("sent no more frames after"), HasSubstr("it was silent for 2.0 s")));
}

TEST_F(LiveSourceOnANetwork, IsRefusedIfTheCameraIsSilentFromTheBeginning) {
  const Camera camera(Visits{{.pictures = 0, .freezes = true}});
  EXPECT_THAT([&] { open_source(camera.url(), {.silence_limit = milliseconds(500)}); },
              ThrowsError<SourceError>(ErrorCode::source_open, HasSubstr("silent for 0.5 s")));
}

TEST_F(LiveSourceOnANetwork, IsRefusedIfTheServerNeverGrantsASession) {
  const Camera camera(Visits{{.freezes = true, .answer = "RTSP/1.0 200 OK\r\n"}});
  const std::string url = "rtsp://joe:secret" + camera.url().replace(0, 7, "@");
  EXPECT_THAT(
      [&] { open_source(url, {.silence_limit = milliseconds(500)}); },
      ThrowsError<SourceError>(ErrorCode::source_open, AllOf(HasSubstr("rtsp://joe:***@127.0.0.1:"),
                                                             HasSubstr("silent for 0.5 s"))));
}

TEST_F(LiveSourceOnANetwork, ReportsTheAnswerOfTheServer) {
  const Camera camera(Visits{{.answer = "HTTP/1.0 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"}});
  EXPECT_THAT([&] { open_source(camera.url()); },
              ThrowsError<SourceError>(ErrorCode::source_open,
                                       AllOf(HasSubstr("401"), HasSubstr("user and password"))));
}

TEST_F(LiveSourceOnANetwork, IsInterruptedWhileItWaitsForAPicture) {
  const Camera camera(Visits{{.freezes = true}});
  const auto source = open_source(camera.url(), {.silence_limit = std::chrono::hours(1)});
  ASSERT_TRUE(source->read());
  std::chrono::steady_clock::time_point at;
  {
    const std::jthread other([&] {
      at = std::chrono::steady_clock::now();
      source->interrupt();
    });
    while (source->read()) {
    }
  }
  // It takes about 0.1 s; the rest is margin for busy machines.
  EXPECT_LT(std::chrono::steady_clock::now() - at, std::chrono::seconds(5));
}

TEST_F(LiveSourceOnANetwork, IsInterruptedWhileItWaitsToConnectAgain) {
  const Camera camera(30);
  const std::unique_ptr<Source> source = open_source(
      camera.url(),
      {.reconnect = {.first_delay = std::chrono::hours(1), .max_delay = std::chrono::hours(1)}});
  const std::jthread other([&] { source->interrupt(); });
  while (source->read()) {
  }
}

TEST_F(LiveSourceOnANetwork, IsInterruptedWhileItConnectsAgain) {
  const Camera camera(Visits{{.pictures = 30}, {.pictures = 0, .freezes = true}});
  const auto source =
      open_source(camera.url(), {.reconnect = kAtOnce, .silence_limit = std::chrono::hours(1)});
  const std::jthread other([&] {
    camera.wait_for_visit(2);
    source->interrupt();
  });
  while (source->read()) {
  }
}

TEST_F(LiveSourceOnANetwork, RefusesRangesAndSamplers) {
  for (const auto& [options, named] : std::vector<std::pair<SourceOptions, std::string>>{
           {{.start = std::chrono::seconds(2)}, "start (2.0 s)"},
           {{.end = std::chrono::seconds(3)}, "end (3.0 s)"},
           {{.stride = 4}, "stride (4)"},
           {{.sampler = Sampler::repeat(2)}, "sampler"},
           {{.loop = 0}, "loop (0)"}}) {
    const Camera camera(30);
    const auto call = [&camera, &options = options] { open_source(camera.url(), options); };
    EXPECT_THAT(call, ThrowsError<InvalidArgument>(
                          ErrorCode::invalid_argument,
                          AllOf(HasSubstr(camera.url() + " is live"), HasSubstr(named))));
  }
}

/// Gives a number of pictures; then the connection is lost.
class ShortFeed final : public LiveFeed {
 public:
  explicit ShortFeed(int pictures) : left_(pictures) {}
  SourceInfo info() const override { return {.description = "camera"}; }
  LivePicture next() override {
    if (left_-- == 0) throw SourceError(ErrorCode::source_read, "a cable");
    return {.image = cv::Mat(2, 2, CV_8UC3, cv::Scalar::all(1))};
  }

 private:
  int left_;
};

/// Makes sources over feeds. A feed is a number of pictures; below 0, that attempt to connect
/// fails.
class LiveSourceOnATestClock : public LiveSourceOnANetwork {
 protected:
  std::unique_ptr<LiveSource> source(std::deque<int> feeds, ReconnectPolicy policy,
                                     std::function<void()> while_waiting = {}) {
    feeds_ = std::move(feeds);
    return std::make_unique<LiveSource>(std::make_unique<ShortFeed>(2), connect(), policy,
                                        std::stop_source(),
                                        std::make_unique<TestClock>(waits_, while_waiting));
  }
  /// The same for a source that begins without a connection.
  std::unique_ptr<LiveSource> later(std::deque<int> feeds, ReconnectPolicy policy) {
    feeds_ = std::move(feeds);
    return std::make_unique<LiveSource>(
        SourceInfo{.description = "a camera to come"}, connect(), policy, std::stop_source(),
        std::make_unique<TestClock>(waits_, std::function<void()>()));
  }
  LiveSource::Connect connect() {
    return [this](const std::stop_token&) -> std::unique_ptr<LiveFeed> {
      ++connects_;
      const int pictures = feeds_.empty() ? -1 : feeds_.front();
      if (!feeds_.empty()) feeds_.pop_front();
      if (pictures < 0) throw SourceError(ErrorCode::source_open, "a wall");
      return std::make_unique<ShortFeed>(pictures);
    };
  }
  std::deque<int> feeds_;
  std::vector<nanoseconds> waits_;
  int connects_ = 0;
};

TEST_F(LiveSourceOnATestClock, WaitsLongerAfterEachFailedAttempt) {
  const auto live = source({-1, -1, -1, 1}, {.first_delay = milliseconds(100),
                                             .factor = 3,
                                             .max_delay = milliseconds(1000),
                                             .jitter = 0,
                                             .max_attempts = 5});
  EXPECT_EQ(read_to_failure(*live).first.size(), 3u);
  waits_.resize(5);
  EXPECT_THAT(waits_, ElementsAre(milliseconds(100), milliseconds(300), milliseconds(900),
                                  milliseconds(1000), milliseconds(100)))
      << "the delays must begin again after a frame";
}

TEST_F(LiveSourceOnATestClock, ShortensEachDelayAtRandom) {
  const auto live =
      source({}, {.first_delay = milliseconds(100), .jitter = 0.4, .max_attempts = 1});
  read_to_failure(*live);
  EXPECT_THAT(waits_, ElementsAre(milliseconds(80)));
}

TEST_F(LiveSourceOnATestClock, ContinuesAsOneStream) {
  const auto live = source({2, 0, 2}, {.max_attempts = 2});
  const auto [frames, failure] = read_to_failure(*live);
  ASSERT_EQ(frames.size(), 6u);
  expect_one_stream(frames);
  EXPECT_THAT(frames_with(Discontinuity::start, frames), ElementsAre(0));
  EXPECT_THAT(frames_with(Discontinuity::reconnect, frames), ElementsAre(2, 4));
}

TEST_F(LiveSourceOnATestClock, CountsAConnectionWithoutAPictureAsAFailedAttempt) {
  const auto live = source({0, 0, 0, 5}, {.max_attempts = 3});
  const auto [frames, failure] = read_to_failure(*live);
  EXPECT_EQ(frames.size(), 2u);
  EXPECT_EQ(connects_, 3);
  EXPECT_THAT(failure, AllOf(HasSubstr("camera sent no more frames after 2 (a cable)"),
                             HasSubstr("3 attempts to reconnect failed")));
}

TEST_F(LiveSourceOnATestClock, SaysWhyTheLastAttemptFailed) {
  EXPECT_THAT(read_to_failure(*source({}, {.max_attempts = 2})).second, HasSubstr("(a wall)"));
}

TEST_F(LiveSourceOnATestClock, ConnectsLaterToACameraThatIsOff) {
  const auto live =
      later({-1, -1, 2, 1},
            {.first_delay = milliseconds(100), .factor = 2, .jitter = 0, .max_attempts = 3});
  EXPECT_TRUE(live->info().live);
  const auto [frames, failure] = read_to_failure(*live);
  ASSERT_EQ(frames.size(), 3u);
  expect_one_stream(frames);
  EXPECT_THAT(frames_with(Discontinuity::start, frames), ElementsAre(0));
  EXPECT_THAT(frames_with(Discontinuity::reconnect, frames), ElementsAre(2));
  ASSERT_GE(waits_.size(), 3u);
  EXPECT_THAT(std::vector(waits_.begin(), waits_.begin() + 3),
              ElementsAre(milliseconds(100), milliseconds(200), milliseconds(100)))
      << "the first attempt is made at once";
  EXPECT_THAT(log_.text(), AllOf(HasSubstr("a camera to come cannot be reached (a wall)"),
                                 HasSubstr("camera is lost after 2 frames")));
}

TEST_F(LiveSourceOnATestClock, SaysThatItNeverReachedACamera) {
  const auto [frames, failure] = read_to_failure(*later({}, {.max_attempts = 2}));
  EXPECT_TRUE(frames.empty());
  EXPECT_EQ(connects_, 3);
  EXPECT_THAT(failure, AllOf(HasSubstr("a camera to come could not be reached (a wall)"),
                             HasSubstr("2 attempts to reconnect failed")));
  EXPECT_THAT(read_to_failure(*later({}, {.max_attempts = 0})).second,
              HasSubstr("could not be reached (a wall); check the camera"));
}

TEST_F(LiveSourceOnANetwork, ConnectsLaterOnRequest) {
  std::uint16_t port = 0;
  std::string url;
  {
    const Camera camera(50);
    port = camera.port();
    url = camera.url();
  }  // now the camera is off
  const auto source = open_source(url, {.reconnect = {.first_delay = milliseconds(20),
                                                      .max_attempts = ReconnectPolicy::endless},
                                        .connect_later = true});
  EXPECT_EQ(source->info().size, cv::Size());
  auto reading = std::async(std::launch::async, [&] { return source->read(); });
  EXPECT_TRUE(log_.wait_for("cannot be reached"));
  const Camera camera(Visits{{}}, port);
  const std::optional<Frame> frame = reading.get();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->discontinuity, Discontinuity::start);
  EXPECT_EQ(source->info().size, cv::Size(64, 48));
  EXPECT_THAT([&] { open_source(url, {.stride = 2, .connect_later = true}); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(url)));
}

/// Gives the pictures of a test; then the connection is lost.
class TimedFeed final : public LiveFeed {
 public:
  explicit TimedFeed(std::deque<LivePicture> pictures) : pictures_(std::move(pictures)) {}
  SourceInfo info() const override { return {.description = "camera"}; }
  LivePicture next() override {
    if (pictures_.empty()) throw SourceError(ErrorCode::source_read, "a cable");
    LivePicture picture = std::move(pictures_.front());
    pictures_.pop_front();
    picture.image = cv::Mat(2, 2, CV_8UC3, cv::Scalar::all(1));
    return picture;
  }

 private:
  std::deque<LivePicture> pictures_;
};

TEST_F(LiveSourceOnATestClock, HasTheTimesOfTheCameraAndMarksMissingPictures) {
  using std::chrono::seconds;
  std::deque<std::deque<LivePicture>> feeds{
      {{.time = seconds(90)},
       {.time = seconds(91)},
       {.time = seconds(92)},
       {.time = seconds(99)},
       {.time = seconds(100), .follows_damage = true, .broken = {.count = 2}}},
      {{.time = seconds(3), .follows_damage = true, .broken = {.count = 1}}, {.time = seconds(4)}}};
  const LiveSource::Connect connect = [&](const std::stop_token&) -> std::unique_ptr<LiveFeed> {
    if (feeds.empty()) throw SourceError(ErrorCode::source_open, "a wall");
    auto feed = std::make_unique<TimedFeed>(std::move(feeds.front()));
    feeds.pop_front();
    return feed;
  };
  LiveSource live(connect({}), connect,
                  {.first_delay = seconds(30), .jitter = 0, .max_attempts = 1}, std::stop_source(),
                  std::make_unique<TestClock>(waits_));
  const auto [frames, failure] = read_to_failure(live);
  ASSERT_EQ(frames.size(), 7u);
  expect_one_stream(frames);
  std::vector<nanoseconds> times;
  for (const Frame& frame : frames) times.push_back(frame.pts);
  EXPECT_THAT(std::vector(times.begin(), times.begin() + 5),
              ElementsAre(seconds(0), seconds(1), seconds(2), seconds(9), seconds(10)));
  EXPECT_GE(times[5], seconds(30)) << "times must follow this machine's clock across the loss";
  EXPECT_EQ(times[6] - times[5], seconds(1));
  EXPECT_THAT(frames_with(Discontinuity::gap, frames), ElementsAre(3, 4));
  EXPECT_EQ(live.broken_pictures().count, 3);
  EXPECT_THAT(frames_with(Discontinuity::reconnect, frames), ElementsAre(5));
}

TEST_F(LiveSourceOnATestClock, SaysSinceWhenItIsConnectedOrLost) {
  using Connection = SourceState::Connection;
  std::vector<SourceState> waiting;
  std::unique_ptr<LiveSource> live;
  const auto now = [&] { return live->state().value(); };
  live = source({-1, 0, 1},
                {.first_delay = milliseconds(500), .factor = 2, .jitter = 0, .max_attempts = 9},
                [&] { waiting.push_back(now()); });
  EXPECT_EQ(now().connection, Connection::connecting) << "it has no picture yet";
  ASSERT_TRUE(live->read());
  EXPECT_EQ(now().connection, Connection::running);
  EXPECT_EQ(now().losses, 0);
  EXPECT_EQ(now().last_failure, "");
  ASSERT_TRUE(live->read());
  ASSERT_TRUE(live->read());  // after a failed attempt, and a connection without a picture
  ASSERT_EQ(waiting.size(), 3u);
  std::vector<int> attempts;
  for (const SourceState& state : waiting) {
    EXPECT_EQ(state.connection, Connection::reconnecting);
    EXPECT_EQ(state.losses, 1);
    attempts.push_back(state.attempts);
  }
  EXPECT_THAT(attempts, ElementsAre(1, 2, 3));
  EXPECT_EQ(waiting[0].last_failure, "a cable");
  EXPECT_EQ(waiting[1].last_failure, "a wall");
  EXPECT_GE(waiting[2].lasts, milliseconds(3500))
      << "the time since the loss, not the last attempt";
  const SourceState found = now();
  EXPECT_EQ(found.connection, Connection::running);
  EXPECT_LT(found.lasts, milliseconds(500));
  EXPECT_EQ(found.attempts, 0);
  EXPECT_EQ(found.last_failure, "a cable") << "it stays, for those who look later";
}

TEST_F(LiveSourceOnATestClock, HidesPasswordsInItsState) {
  LiveSource live(
      SourceInfo{.description = "a camera to come"},
      [](const std::stop_token&) -> std::unique_ptr<LiveFeed> {
        throw SourceError(ErrorCode::source_open, "rtsp://joe:secret@door/1 does not answer");
      },
      {.max_attempts = 1}, std::stop_source(), std::make_unique<TestClock>(waits_));
  read_to_failure(live);
  EXPECT_EQ(live.state()->connection, SourceState::Connection::connecting);
  EXPECT_EQ(live.state()->attempts, 2);
  EXPECT_EQ(live.state()->last_failure, "rtsp://joe:***@door/1 does not answer");
}

TEST_F(LiveSourceOnANetwork, ShowsThatItsCameraIsLostInTheStatistics) {
  auto camera = std::make_unique<Camera>(Visits{{.pictures = 50, .freezes = true}});
  Pipeline pipeline({make_detector("detector", "person")});
  pipeline.open_stream(
      {.id = "camera",
       .source = open_source(camera->url(), {.reconnect = {.first_delay = std::chrono::hours(1),
                                                           .max_delay = std::chrono::hours(1)}})});
  const auto is = [&](SourceState::Connection connection) {
    const auto state = pipeline.stats().streams.at(0).source_state;
    return state && state->connection == connection;
  };
  yield_until("a picture", [&] { return is(SourceState::Connection::running); });
  camera.reset();
  yield_until("the loss", [&] { return is(SourceState::Connection::reconnecting); });
  const StreamStats stats = pipeline.stats().streams.at(0);
  EXPECT_FALSE(stats.ended);
  EXPECT_EQ(stats.source_state->losses, 1);
  EXPECT_NE(stats.source_state->last_failure, "");
  pipeline.stop();
  yield_until("the end", [&] { return pipeline.stats().streams.at(0).ended; });
  EXPECT_FALSE(pipeline.stats().streams.at(0).source_state);
}

TEST_F(LiveSourceOnATestClock, EndsWhenItIsInterruptedDuringAWait) {
  std::unique_ptr<LiveSource> live;
  live = source({5}, {}, [&] { live->interrupt(); });
  const auto [frames, failure] = read_to_failure(*live);
  EXPECT_EQ(frames.size(), 2u);
  EXPECT_EQ(failure, "");
  EXPECT_EQ(connects_, 0);
}

}  // namespace
}  // namespace vcap::test
