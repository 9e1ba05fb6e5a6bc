// SPDX-License-Identifier: Apache-2.0
// A camera on the network: a server of this process on the loopback interface.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include <opencv2/imgcodecs.hpp>

#include "runtime/pipeline_helpers.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Answers one request with JPEG pictures, one after the other, as network cameras do, and then
/// hangs up.
class Camera {
 public:
  explicit Camera(int pictures) : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener_, 1) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("no server on the loopback interface");
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/live";
    thread_ = std::thread([this, pictures] { serve(pictures); });
  }
  ~Camera() {
    ::shutdown(listener_, SHUT_RDWR);  // ends an accept() that nobody came for
    thread_.join();
    ::close(listener_);
  }
  const std::string& url() const { return url_; }

 private:
  static void send_all(int client, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  void serve(int pictures) const {
    const int client = ::accept(listener_, nullptr, nullptr);
    if (client < 0) return;
    char request[4096];
    if (::recv(client, request, sizeof request, 0) <= 0) return;
    send_all(client,
             "HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace;boundary=picture\r\n\r\n");
    std::vector<uchar> jpeg;
    cv::imencode(".jpg", cv::Mat(48, 64, CV_8UC3, cv::Scalar::all(90)), jpeg);
    for (int i = 0; i < pictures; ++i) {
      send_all(client, "--picture\r\nContent-Type: image/jpeg\r\nContent-Length: " +
                           std::to_string(jpeg.size()) + "\r\n\r\n");
      send_all(client, {reinterpret_cast<const char*>(jpeg.data()), jpeg.size()});
      send_all(client, "\r\n");
    }
    ::close(client);
  }

  const int listener_;
  std::string url_;
  std::thread thread_;
};

TEST(LiveSource, HasTheTimesOfItsCaptureAndFailsWhereTheCameraHangsUp) {
  const Camera camera(50);
  const auto source = open_source(camera.url());
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
          AllOf(HasSubstr("URL " + camera.url()), HasSubstr("gave no more frames after"))));
  ASSERT_GT(frames.size(), 1u);
  EXPECT_EQ(frames[0].pts.count(), 0);
  EXPECT_EQ(frames[0].discontinuity, Discontinuity::start);
  for (std::size_t i = 1; i < frames.size(); ++i) {
    EXPECT_EQ(frames[i].index, static_cast<std::int64_t>(i));
    EXPECT_GT(frames[i].pts, frames[i - 1].pts);
  }
}

TEST(LiveSource, EndsItsStreamAloneWithItsError) {
  const Camera camera(50);
  Pipeline pipeline({make_detector("detector", "person")});
  pipeline.open_stream({.id = "camera", .source = open_source(camera.url())});
  const StreamReport report = pipeline.wait("camera");
  ASSERT_TRUE(report.failure);
  EXPECT_THAT(*report.failure, HasSubstr("check the camera and its connection"));
  EXPECT_GT(report.frames, 0);
}

TEST(LiveSource, EndsWithoutAnErrorWhereItIsInterrupted) {
  const Camera camera(50);
  const auto source = open_source(camera.url());
  EXPECT_TRUE(source->read());
  source->interrupt();
  EXPECT_FALSE(source->read());
}

}  // namespace
}  // namespace vcap::test
