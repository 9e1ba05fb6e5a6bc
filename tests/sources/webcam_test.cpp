// SPDX-License-Identifier: Apache-2.0
// Webcams, with a driver that the test provides, and with the kernel's loopback device if present.
#include "sources/webcam_source.hpp"

#include <gmock/gmock.h>

#include <deque>
#include <future>
#include <limits>
#include <string>

#include "support/live_helpers.hpp"
#include "support/loopback_webcam.hpp"
#include "support/runtime_fixtures.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"

namespace vcap::test {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ListWebcams, GivesIndexAndNameOfEachWebcam) {
  const TemporaryFolder folder;
  for (const char* name : {"video10", "video2", "video", "videos1", "video1x", "video1234", "null"})
    folder.write(std::string("dev/") + name, "");
  folder.write("sys/video2/name", "HD Camera: front\n");
  EXPECT_THAT(webcams_in(folder / "dev", folder / "sys"),
              ElementsAre(Webcam{2, "HD Camera: front"}, Webcam{10, ""}));
  EXPECT_THAT(webcams_in(folder / "nowhere", folder / "sys"), IsEmpty());
}

/// What a camera does in one connection: it gives `pictures` of `type`, then what `then` returns.
struct Connection {
  int pictures = 2;
  int type = CV_8UC3;
  std::optional<milliseconds> pace{};                        // of the driver's clock, if it has one
  std::function<cv::Mat()> then = [] { return cv::Mat(); };  // empty: unplugged, or silent
};

/// Camera 3 and its connections, one after the other. After the last one it cannot be opened.
class FakeDriver final : public WebcamDriver {
 public:
  explicit FakeDriver(std::deque<Connection> connections) : connections_(std::move(connections)) {}

  std::vector<Webcam> list() const override {
    if (plugged) return {{1, "front"}, {3, "back"}};
    return {{1, "front"}};
  }
  std::unique_ptr<WebcamDevice> open(int index) const override {
    EXPECT_EQ(index, 3);
    ++opened;
    EXPECT_EQ(open_now, 0) << "the lost connection must be closed first";
    if (connections_.empty()) return nullptr;
    auto device = std::make_unique<Device>(connections_.front(), open_now);
    connections_.pop_front();
    return device;
  }

  bool plugged = true;
  mutable int opened = 0;
  mutable int open_now = 0;

 private:
  class Device final : public WebcamDevice {
   public:
    Device(Connection connection, int& open_now)
        : connection_(std::move(connection)), open_now_(open_now) {
      ++open_now_;
    }
    ~Device() override { --open_now_; }
    cv::Size size() const override { return {8, 6}; }
    double frames_per_second() const override { return std::numeric_limits<double>::quiet_NaN(); }
    cv::Mat read() override {
      if (connection_.pictures-- <= 0) return connection_.then();
      ++taken_;
      return {6, 8, connection_.type, cv::Scalar::all(7)};
    }

    std::optional<std::chrono::nanoseconds> time() const override {
      if (!connection_.pace) return std::nullopt;
      return std::chrono::hours(100) + taken_ * *connection_.pace;
    }

   private:
    Connection connection_;
    int taken_ = 0;
    int& open_now_;
  };

  mutable std::deque<Connection> connections_;
};

class WebcamSource : public testing::Test {
 protected:
  std::unique_ptr<Source> open(std::deque<Connection> connections, int max_attempts = 3,
                               std::function<void()> while_waiting = {}) {
    driver_ = std::make_shared<FakeDriver>(std::move(connections));
    return open_webcam(3,
                       {.reconnect = {.first_delay = milliseconds(100),
                                      .jitter = 0,
                                      .max_attempts = max_attempts}},
                       driver_, std::make_unique<TestClock>(waits_, std::move(while_waiting)));
  }

  const KeptLog log_;
  std::shared_ptr<FakeDriver> driver_;
  std::vector<std::chrono::nanoseconds> waits_;
};

TEST_F(WebcamSource, GivesTheInformationOfItsDriver) {
  const SourceInfo info = open({{}})->info();
  EXPECT_EQ(info.description, "webcam 3");
  EXPECT_EQ(info.size, cv::Size(8, 6));
  EXPECT_EQ(info.frames_per_second, 0) << "the rate is unknown, whatever value the driver gives";
  EXPECT_TRUE(info.live);
}

TEST_F(WebcamSource, ConvertsPicturesOfAllTypesToBgr) {
  for (const int type : {CV_8UC3, CV_8UC1, CV_8UC4}) {
    const auto source = open({{.type = type}});
    const std::optional<Frame> frame = source->read();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->image.type(), CV_8UC3);
    EXPECT_EQ(frame->image.at<cv::Vec3b>(5, 7), cv::Vec3b(7, 7, 7));
    EXPECT_EQ(frame->discontinuity, Discontinuity::start);
  }
  EXPECT_THAT(read_to_failure(*open({{.type = CV_16UC1}}, 0)).second,
              HasSubstr("cannot be converted to 8-bit BGR"));
}

TEST_F(WebcamSource, HasTheTimesOfTheClockOfItsDriver) {
  const auto source = open({{.pictures = 3, .pace = milliseconds(33)}}, 0);
  const std::vector<Frame> frames = read_to_failure(*source).first;
  ASSERT_EQ(frames.size(), 3u);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(frames[static_cast<std::size_t>(i)].pts, i * milliseconds(33));
}

TEST_F(WebcamSource, IsRefusedIfTheIndexDoesNotExist) {
  const auto driver = std::make_shared<FakeDriver>(std::deque<Connection>{});
  EXPECT_THAT([&] { open_webcam(2, {}, driver); },
              ThrowsError<SourceError>(ErrorCode::source_open,
                                       "webcam 2 does not exist; this machine has 1, 3"));
  EXPECT_EQ(driver->opened, 0);
}

TEST_F(WebcamSource, IsRefusedIfItCannotBeOpened) {
  EXPECT_THAT([&] { open({}); },
              ThrowsError<SourceError>(ErrorCode::source_open,
                                       HasSubstr("webcam 3 cannot be opened; another program")));
}

TEST_F(WebcamSource, RefusesRanges) {
  const auto driver = std::make_shared<FakeDriver>(std::deque<Connection>{{}});
  EXPECT_THAT(
      [&] { open_webcam(3, {.stride = 2}, driver); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("webcam 3 is live")));
}

TEST_F(WebcamSource, ReconnectsAfterItWasUnplugged) {
  int waited = 0;
  const auto source = open({{.pictures = 3}, {.pictures = 2}}, 3, [&] {
    // The camera is gone at the first attempt and present at the second.
    driver_->plugged = waited++ != 0;
  });
  const auto [frames, failure] = read_to_failure(*source);
  ASSERT_EQ(frames.size(), 5u);
  expect_one_stream(frames);
  EXPECT_THAT(frames_with(Discontinuity::reconnect, frames), ElementsAre(3));
  waits_.resize(2);
  EXPECT_THAT(waits_, ElementsAre(milliseconds(100), milliseconds(200)));
  EXPECT_THAT(log_.text(),
              HasSubstr("warning: webcam 3 is lost after 3 frames (its driver gave no picture)"));
}

TEST_F(WebcamSource, GivesUpIfItStaysUnplugged) {
  const auto source = open({{}}, 2, [&] { driver_->plugged = false; });
  const auto [frames, failure] = read_to_failure(*source);
  EXPECT_EQ(frames.size(), 2u);
  EXPECT_THAT(failure,
              AllOf(HasSubstr("webcam 3 sent no more frames after 2 (webcam 3 does not exist; "
                              "this machine has 1)"),
                    HasSubstr("2 attempts to reconnect failed")));
  EXPECT_EQ(driver_->opened, 1);
}

TEST_F(WebcamSource, CountsASilentConnectionAsAFailedAttempt) {
  const auto source = open({{}, {.pictures = 0}, {.pictures = 0}}, 2);
  const auto [frames, failure] = read_to_failure(*source);
  EXPECT_EQ(frames.size(), 2u);
  EXPECT_EQ(driver_->opened, 3);
  EXPECT_THAT(failure, HasSubstr("(its driver gave no picture); 2 attempts to reconnect failed"));
}

TEST_F(WebcamSource, IsLostWhenItsDriverThrows) {
  const auto source =
      open({{.then = []() -> cv::Mat { CV_Error(cv::Error::StsError, "a jam"); }}}, 0);
  EXPECT_THAT(read_to_failure(*source).second, HasSubstr("after 2 (a jam)"));
}

TEST_F(WebcamSource, EndsAfterAnInterruptOnceItsDriverAnswers) {
  Latch asked;
  Latch answered;
  const auto source = open({{.pictures = 1, .then = [&] {
                               asked.open();
                               answered.wait();
                               return cv::Mat();
                             }}});
  auto reading = std::async(std::launch::async, [&] { return read_to_failure(*source); });
  asked.wait();
  source->interrupt();
  answered.open();
  const auto [frames, failure] = reading.get();
  EXPECT_EQ(frames.size(), 1u);
  EXPECT_EQ(failure, "");
  EXPECT_EQ(driver_->opened, 1);
}

TEST(Webcam, GivesThePicturesWrittenToALoopbackDevice) {
  const std::optional<int> index = LoopbackWebcam::find();
  if (!index)
    GTEST_SKIP() << "this machine has no /dev/video* of the kernel's v4l2loopback that may be "
                    "written to (modprobe v4l2loopback)";
  const LoopbackWebcam webcam(*index, 60);
  const auto source = open_source(std::to_string(*index), {.reconnect = {.max_attempts = 0}});
  EXPECT_EQ(source->info().size, LoopbackWebcam::size());
  std::vector<Frame> frames;
  for (int i = 0; i < 10; ++i)
    if (std::optional<Frame> frame = source->read()) frames.push_back(*std::move(frame));
  ASSERT_EQ(frames.size(), 10u);
  expect_one_stream(frames);
  // The written grey is in limited range.
  EXPECT_NEAR(frames.back().image.at<cv::Vec3b>(100, 100)[1], (60 - 16) * 255 / 219, 4);
}

}  // namespace
}  // namespace vcap::test
