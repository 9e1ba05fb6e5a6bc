// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/bounded_wait.hpp"
#include "support/http_get.hpp"
#include "support/http_service.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Piece = std::shared_ptr<const std::string>;

/// Pieces that any thread may add.
class PieceStream final : public HttpStream {
 public:
  void push(Piece piece) {
    const std::lock_guard lock(mutex_);
    pieces_.push_back(std::move(piece));
  }
  void push(const std::string& text) { push(std::make_shared<const std::string>(text)); }
  void end() { ended_ = true; }
  int closings() const { return closings_; }

  Piece next() override {
    const std::lock_guard lock(mutex_);
    if (pieces_.empty()) return nullptr;
    Piece piece = std::move(pieces_.front());
    pieces_.pop_front();
    if (!piece) throw std::runtime_error("no piece");
    return piece;
  }
  bool ended() const override { return ended_; }
  void closed() noexcept override { ++closings_; }

 private:
  std::mutex mutex_;
  std::deque<Piece> pieces_{};
  std::atomic<bool> ended_{false};
  std::atomic<int> closings_{0};
};

/// A server whose path `/N` is the stream N, and whose other paths are answered at once.
class StreamService {
 public:
  explicit StreamService(int streams, const ConnectionLimits& limits = kWideLimits)
      : streams_(make_streams(streams)),
        service_(
            admit_bodies(0),
            [streams = streams_](const HttpRequest& request, const HttpReply& reply) {
              const std::string name = request.path.substr(1);
              if (name.find_first_not_of("0123456789") != std::string::npos || name.empty())
                return reply.send({.text = "plain"});
              reply.send({.type = "application/x-pieces", .stream = streams.at(std::stoul(name))});
            },
            {.limits = limits}) {}

  std::uint16_t port() const { return service_.port(); }
  PieceStream& stream(std::size_t number) { return *streams_.at(number); }
  HttpServer& server() { return service_.server(); }
  void destroy() { service_.destroy(); }

  /// A client of the stream whose answer has begun.
  std::unique_ptr<LoopbackConnection> view(std::size_t number) {
    auto client = std::make_unique<LoopbackConnection>(port());
    client->send("GET /" + std::to_string(number) + " HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(client->read_through("\r\n\r\n"), HasSubstr("200 OK"));
    return client;
  }

 private:
  static std::vector<std::shared_ptr<PieceStream>> make_streams(int count) {
    std::vector<std::shared_ptr<PieceStream>> streams;
    for (int i = 0; i < count; ++i) streams.push_back(std::make_shared<PieceStream>());
    return streams;
  }

  const std::vector<std::shared_ptr<PieceStream>> streams_;
  HttpService service_;
};

TEST(HttpStreams, SendTheirPiecesInOrder) {
  constexpr std::size_t kViewers = 5;
  StreamService service(kViewers);
  std::vector<std::unique_ptr<LoopbackConnection>> viewers;
  for (std::size_t i = 0; i < kViewers; ++i) viewers.push_back(service.view(i));
  std::string expected;
  for (int n = 0; n < 200; ++n) {
    const auto piece = std::make_shared<const std::string>(
        static_cast<std::size_t>(n * 977 % 50'000), static_cast<char>('a' + n % 26));
    expected += *piece;
    for (std::size_t i = 0; i < kViewers; ++i) service.stream(i).push(piece);
    if (n % 3 == 0) service.server().wake();
  }
  for (std::size_t i = 0; i < kViewers; ++i) service.stream(i).end();
  service.server().wake();
  for (const auto& viewer : viewers) {
    const std::string body = viewer->read_all();
    EXPECT_EQ(without_chunks(body), expected);
    EXPECT_TRUE(body.ends_with("\r\n0\r\n\r\n"));
  }
  for (std::size_t i = 0; i < kViewers; ++i) EXPECT_EQ(service.stream(i).closings(), 1);
}

TEST(HttpStreams, HaveNoChunksForOldClients) {
  StreamService service(1);
  service.stream(0).push("one ");
  const LoopbackConnection viewer(service.port());
  viewer.send("GET /0 HTTP/1.0\r\n\r\n");
  EXPECT_THAT(viewer.read_through("\r\n\r\n"),
              AllOf(HasSubstr("Content-Type: application/x-pieces"), Not(HasSubstr("chunked"))));
  EXPECT_EQ(viewer.read_through("one "), "one ");
  service.stream(0).push("two");
  service.stream(0).push("");
  service.stream(0).end();
  service.server().wake();
  EXPECT_EQ(viewer.read_all(), "two");
}

TEST(HttpStreams, AreWokenFromManyThreads) {
  StreamService service(1);
  const auto viewer = service.view(0);
  constexpr int kThreads = 4;
  constexpr int kPieces = 500;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < kPieces; ++i) {
          service.stream(0).push("x");
          service.server().wake();
        }
      });
  }
  // The last wake must not be lost: nothing else asks the stream again.
  std::string content;
  while (content.size() < kThreads * kPieces) {
    const std::string chunk = viewer->read_through("x\r\n");
    ASSERT_FALSE(chunk.empty());
    content += without_chunks(chunk);
  }
  EXPECT_EQ(content, std::string(kThreads * kPieces, 'x'));
}

TEST(HttpStreams, GoOnWhileAnotherViewerReadsNothing) {
  StreamService service(2);
  const auto idle = service.view(0);
  const auto viewer = service.view(1);
  const auto piece = std::make_shared<const std::string>(100'000, 'x');
  for (int i = 0; i < 200; ++i)
    for (std::size_t s = 0; s < 2; ++s) service.stream(s).push(piece);
  service.stream(1).end();
  service.server().wake();
  EXPECT_EQ(without_chunks(viewer->read_all()).size(), 200 * piece->size());
  EXPECT_EQ(http_get(service.port(), "/plain").body, "plain");
  EXPECT_EQ(service.stream(0).closings(), 0);
  EXPECT_NE(service.stream(0).next(), nullptr) << "most of it waits in the stream";
}

TEST(HttpStreams, EndViewersThatTakeNothing) {
  ConnectionLimits limits = kWideLimits;
  limits.answer_deadline = std::chrono::milliseconds(300);
  StreamService service(1, limits);
  const auto idle = service.view(0);
  const auto piece = std::make_shared<const std::string>(100'000, 'x');
  for (int i = 0; i < 200; ++i) service.stream(0).push(piece);
  service.server().wake();
  yield_until("the end of the stream", [&] { return service.stream(0).closings() == 1; });
}

TEST(HttpStreams, KeepViewersThatReadSlowly) {
  ConnectionLimits limits = kWideLimits;
  limits.answer_deadline = std::chrono::seconds(1);
  StreamService service(1, limits);
  const auto viewer = service.view(0);
  const auto piece = std::make_shared<const std::string>(20'000'000, 'x');
  service.stream(0).push(piece);
  service.stream(0).end();
  service.server().wake();
  const auto end = std::chrono::steady_clock::now() + 2 * limits.answer_deadline;
  std::string body;
  while (std::chrono::steady_clock::now() < end) {
    body += viewer->read_some(50'000);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(service.stream(0).closings(), 0);
  body += viewer->read_all();
  EXPECT_EQ(without_chunks(body).size(), piece->size());
}

TEST(HttpStreams, MayHaveNothingToSendForLong) {
  ConnectionLimits limits = kWideLimits;
  limits.request_deadline = limits.answer_deadline = std::chrono::milliseconds(50);
  StreamService service(1, limits);
  const auto viewer = service.view(0);
  // This one comes later and is ended at its deadline.
  EXPECT_EQ(LoopbackConnection(service.port()).read_all(), "");
  service.stream(0).push("late");
  service.server().wake();
  EXPECT_EQ(viewer->read_through("late\r\n"), "4\r\nlate\r\n");
}

TEST(HttpStreams, AreClosedWhenTheirViewersGo) {
  ConnectionLimits limits = kWideLimits;
  limits.per_address = 1;
  StreamService service(2, limits);
  auto viewer = service.view(0);
  EXPECT_EQ(http_get(service.port(), "/plain").status, 0) << "the only place is occupied";
  viewer.reset();  // while nothing is sent
  yield_until("the end of the stream", [&] { return service.stream(0).closings() == 1; });
  yield_until("a place", [&] { return http_get(service.port(), "/plain").status == 200; });

  service.stream(1).push(std::string(20'000'000, 'x'));
  viewer = service.view(1);
  viewer.reset();  // while a piece is sent
  yield_until("the end of the stream", [&] { return service.stream(1).closings() == 1; });
}

TEST(HttpStreams, HaveOnlyAHeaderForHead) {
  StreamService service(1);
  service.stream(0).push("text");
  const LoopbackConnection client(service.port());
  client.send("HEAD /0 HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string answer = client.read_all();
  EXPECT_THAT(answer, AllOf(HasSubstr("200 OK"), HasSubstr("application/x-pieces")));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
  EXPECT_THAT(answer, Not(HasSubstr("text")));
  yield_until("the end of the stream", [&] { return service.stream(0).closings() == 1; });
}

TEST(HttpStreams, EndTheirConnectionIfTheyThrow) {
  StreamService service(2);
  service.stream(0).push(Piece());
  const LoopbackConnection first(service.port());
  first.send("GET /0 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(first.read_all(), Not(HasSubstr("\r\n\r\n0\r\n"))) << "no regular end";
  const auto second = service.view(1);
  service.stream(1).push("text");
  service.stream(1).push(Piece());
  service.server().wake();
  EXPECT_EQ(second->read_all(), "4\r\ntext\r\n");
  for (std::size_t i = 0; i < 2; ++i)
    yield_until("the end of the stream", [&] { return service.stream(i).closings() == 1; });
  EXPECT_EQ(http_get(service.port(), "/plain").body, "plain");
}

TEST(HttpStreams, AreClosedWithTheServer) {
  StreamService service(3);
  std::vector<std::unique_ptr<LoopbackConnection>> viewers;
  for (std::size_t i = 0; i < 3; ++i) viewers.push_back(service.view(i));
  service.stream(0).push("text");
  service.stream(1).push(std::string(20'000'000, 'x'));  // it is being sent
  service.server().wake();
  EXPECT_EQ(viewers[0]->read_through("text\r\n"), "4\r\ntext\r\n");
  service.destroy();
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(service.stream(i).closings(), 1);
    EXPECT_FALSE(viewers[i]->read_all().ends_with("\r\n0\r\n\r\n")) << "no regular end";
  }
}

}  // namespace
}  // namespace vcap::test
