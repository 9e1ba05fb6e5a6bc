// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <condition_variable>
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
#include "support/temporary_folder.hpp"

namespace vcap::test {
namespace {

using testing::HasSubstr;

/// The replies of requests that are not answered yet.
class OpenReplies {
 public:
  FunctionHandler::Respond keep() {
    return [this](const HttpRequest& request, HttpReply reply) {
      const std::lock_guard lock(mutex_);
      replies_.emplace_back(request.path, std::move(reply));
      changed_.notify_all();
    };
  }
  std::pair<std::string, HttpReply> take() {
    std::unique_lock lock(mutex_);
    bounded_wait(changed_, lock, "a request", [this] { return !replies_.empty(); });
    auto reply = std::move(replies_.back());
    replies_.pop_back();
    return reply;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<std::string, HttpReply>> replies_{};
};

constexpr const char* kGet = "GET /later HTTP/1.1\r\nHost: x\r\n\r\n";

TEST(HttpReplies, ComeFromAnyThread) {
  OpenReplies replies;
  HttpService service(admit_bodies(0), replies.keep());
  constexpr int kClients = 40;
  std::vector<std::unique_ptr<LoopbackConnection>> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<LoopbackConnection>(service.port()));
    clients.back()->send("GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < kClients / 4; ++i) {
          const auto [path, reply] = replies.take();
          reply.send({.status = 201, .text = path});
        }
      });
  }
  for (int i = 0; i < kClients; ++i) {
    const HttpAnswer answer = http_answer_of(clients[static_cast<std::size_t>(i)]->read_all());
    EXPECT_EQ(answer.status, 201);
    EXPECT_EQ(answer.body, "/" + std::to_string(i));
  }
}

TEST(HttpReplies, CountOnce) {
  HttpService service(admit_bodies(0), [](const HttpRequest&, const HttpReply& reply) {
    const HttpReply copy = reply;
    copy.send({.text = "first"});
    reply.send({.text = "second"});
  });
  EXPECT_EQ(http_get(service.port(), "/").body, "first");
}

TEST(HttpReplies, ThatAreDroppedBecomeErrors) {
  OpenReplies replies;
  HttpService service(admit_bodies(0), [&](const HttpRequest& request, HttpReply reply) {
    if (request.path == "/later") replies.keep()(request, std::move(reply));
  });
  EXPECT_EQ(http_get(service.port(), "/now").status, 500);
  const LoopbackConnection client(service.port());
  client.send(kGet);
  replies.take();
  const HttpAnswer answer = http_answer_of(client.read_all());
  EXPECT_EQ(answer.status, 500);
  EXPECT_THAT(answer.body, HasSubstr("without an answer"));
}

TEST(HttpReplies, AreErrorsIfTheHandlerThrows) {
  HttpService service(
      [](const HttpRequest& head) {
        if (head.path == "/admit") throw std::runtime_error("cannot admit");
        return BodyRule{};
      },
      [](const HttpRequest& request, const HttpReply& reply) {
        if (request.path == "/late") reply.send({.text = "sent"});
        throw std::runtime_error("cannot respond");
      });
  EXPECT_EQ(http_get(service.port(), "/admit").body, "cannot admit\n");
  EXPECT_EQ(http_get(service.port(), "/admit").status, 500);
  EXPECT_EQ(http_get(service.port(), "/").body, "cannot respond\n");
  EXPECT_EQ(http_get(service.port(), "/late").body, "sent");
}

TEST(HttpReplies, HaveNoDeadlineWhileTheyAreMade) {
  OpenReplies replies;
  ConnectionLimits limits = kWideLimits;
  limits.request_deadline = limits.answer_deadline = std::chrono::milliseconds(50);
  HttpService service(admit_bodies(0), replies.keep(), {.limits = limits});
  const LoopbackConnection client(service.port());
  client.send(kGet);
  const auto reply = replies.take().second;
  // This one comes later and is ended at its deadline.
  EXPECT_EQ(LoopbackConnection(service.port()).read_all(), "");
  reply.send({.text = "late"});
  EXPECT_EQ(http_answer_of(client.read_all()).body, "late");
}

TEST(HttpReplies, ToClientsThatHaveGoneAreDropped) {
  OpenReplies replies;
  ConnectionLimits limits = kWideLimits;
  limits.per_address = 1;
  HttpService service(admit_bodies(0),
                      [&](const HttpRequest& request, const HttpReply& reply) {
                        if (request.path == "/now") return reply.send({.text = "now"});
                        replies.keep()(request, reply);
                      },
                      {.limits = limits});
  auto client = std::make_unique<LoopbackConnection>(service.port());
  client->send(kGet);
  const HttpReply late = replies.take().second;
  EXPECT_EQ(http_get(service.port(), "/now").status, 0) << "the only place is occupied";
  client.reset();
  yield_until("a place", [&] { return http_get(service.port(), "/now").status == 200; });
  late.send({.text = "late"});
  yield_until("an answer", [&] { return http_get(service.port(), "/now").status == 200; });
}

TEST(HttpReplies, MayOutliveTheServer) {
  OpenReplies replies;
  HttpService service(admit_bodies(0), replies.keep());
  std::vector<std::unique_ptr<LoopbackConnection>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<LoopbackConnection>(service.port()));
    clients.back()->send(kGet);
  }
  std::vector<HttpReply> late;
  for (int i = 0; i < 3; ++i) late.push_back(replies.take().second);
  service.destroy();
  for (const auto& client : clients) EXPECT_EQ(client->read_all(), "");
  late[0].send({.text = "late"});
  late.clear();
}

TEST(HttpReplies, RaceWithTheEndOfTheServer) {
  for (int round = 0; round < 20; ++round) {
    OpenReplies replies;
    HttpService service(admit_bodies(0), replies.keep());
    std::vector<std::unique_ptr<LoopbackConnection>> clients;
    std::vector<HttpReply> open;
    for (int i = 0; i < 8; ++i) {
      clients.push_back(std::make_unique<LoopbackConnection>(service.port()));
      clients.back()->send(kGet);
      open.push_back(replies.take().second);
    }
    Meeting meeting(2);
    std::jthread sender([&] {
      meeting.arrive_and_wait("the destroyer");
      for (const HttpReply& reply : open) reply.send({.text = "text"});
    });
    meeting.arrive_and_wait("the sender");
    service.destroy();
    sender.join();
    for (const auto& client : clients) {
      const std::string text = client->read_all();
      EXPECT_TRUE(text.empty() || text.starts_with("HTTP/1.1 200")) << text;
    }
  }
}

}  // namespace
}  // namespace vcap::test
