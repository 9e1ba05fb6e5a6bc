// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/bounded_wait.hpp"
#include "support/file_size_limit.hpp"
#include "support/http_get.hpp"
#include "support/http_service.hpp"
#include "support/temporary_folder.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Every byte value, in an order that a repeated or lost block would change.
std::string bytes_of(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<char>(static_cast<unsigned char>((i * 7 + i / 251) % 256));
  return bytes;
}

void echo_body(const HttpRequest& request, const HttpReply& reply) {
  reply.send({.text = request.body});
}

HttpAnswer ask_service(const HttpService& service, const std::string& text) {
  const LoopbackConnection connection(service.port());
  connection.send(text);
  return http_answer_of(connection.read_all());
}

TEST(HttpBodies, ComeAsTheyWereSent) {
  constexpr std::size_t kMost = 300'000;
  HttpService service(admit_bodies(kMost), echo_body);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100'000}, kMost}) {
    SCOPED_TRACE(size);
    const std::string body = bytes_of(size);
    EXPECT_EQ(ask_service(service, post_of(body)).body, body);
    for (const std::size_t chunk : {std::size_t{999}, std::size_t{65'536}})
      EXPECT_EQ(ask_service(service, chunked_post_of(body, chunk)).body, body) << chunk;
  }
}

TEST(HttpBodies, ComeWithTheWholeRequest) {
  HttpService service(admit_bodies(10), [](const HttpRequest& request, const HttpReply& reply) {
    std::string text = request.method + " " + request.path + " " + request.host;
    for (const auto& [name, value] : request.arguments) text += " " + name + "=" + value;
    reply.send({.text = text + " " + request.header("x-vcap") + " " + request.argument("b") + "," +
                        request.argument("none") + " " + request.body});
  });
  EXPECT_EQ(ask_service(service,
                        "PATCH /a%20b?b=2&a=%3D+x&b=1&c HTTP/1.1\r\nHost: me:1\r\nX-VCAP: 1\r\n"
                        "x-vcap: 2\r\nContent-Length: 2\r\n\r\nhi")
                .body,
            "PATCH /a b me:1 a== x b=2 b=1 c= 1, 2 2, hi");
}

TEST(HttpBodies, ThatAreTooLongAreRefused) {
  std::atomic<int> responses{0};
  HttpService service(admit_bodies(100), [&](const HttpRequest& request, const HttpReply& reply) {
    ++responses;
    echo_body(request, reply);
  });
  // The header alone is enough.
  for (const char* size : {"101", "99999999999", "18446744073709551615"})
    EXPECT_THAT(ask_service(service, "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: " +
                                         std::string(size) + "\r\n\r\n")
                    .body,
                HasSubstr("longer than the allowed 100 bytes"))
        << size;
  for (const std::size_t size : {std::size_t{101}, std::size_t{1'000'000}}) {
    EXPECT_EQ(ask_service(service, chunked_post_of(bytes_of(size), 60)).status, 413) << size;
    EXPECT_EQ(ask_service(service, post_of(bytes_of(size))).status, 413) << size;
  }
  EXPECT_EQ(responses, 0);
  EXPECT_EQ(ask_service(service, post_of(bytes_of(100))).status, 200);
}

TEST(HttpBodies, AreRefusedWhereNoneIsAllowed) {
  std::atomic<int> responses{0};
  HttpService service(admit_bodies(0), [&](const HttpRequest& request, const HttpReply& reply) {
    ++responses;
    echo_body(request, reply);
  });
  EXPECT_THAT(ask_service(service, post_of("a")).body, HasSubstr("may have no body"));
  EXPECT_EQ(ask_service(service, chunked_post_of("abc", 2)).status, 413);
  EXPECT_EQ(responses, 0);
  EXPECT_EQ(ask_service(service, post_of("")).status, 200);
}

TEST(HttpBodies, OfAmbiguousLengthAreRefused) {
  HttpService service(admit_bodies(100), echo_body);
  for (const char* headers :
       {"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: gzip\r\n",
        "Content-Length: 3\r\nContent-Length: 4\r\n"})
    EXPECT_EQ(ask_service(service, std::string("POST / HTTP/1.1\r\nHost: x\r\n") + headers + "\r\n")
                  .status,
              400)
        << headers;
}

TEST(HttpBodies, AreReadOnlyIfTheRequestIsAdmitted) {
  HttpService service(
      [](const HttpRequest&) {
        return vcap::HttpAnswer{
            .status = 401, .text = "no", .headers = {{"WWW-Authenticate", "B"}}};
      },
      echo_body);
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n";
  const HttpAnswer refusal = ask_service(service, head + "\r\n");
  EXPECT_EQ(refusal.status, 401);
  EXPECT_THAT(refusal.head, AllOf(HasSubstr("WWW-Authenticate: B"), HasSubstr("close")));
  EXPECT_THAT(ask_service(service, head + "Expect: 100-continue\r\n\r\n").head,
              Not(HasSubstr("100 Continue")));
  // A client that sends all before it reads can do so, and gets the answer, too.
  const LoopbackConnection connection(service.port());
  connection.send(head + "\r\n");
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(connection.send(bytes_of(100'000))) << i;
  EXPECT_EQ(http_answer_of(connection.read_all()).status, 401);
}

TEST(HttpBodies, AreAskedForIfTheClientWaits) {
  HttpService service(admit_bodies(100), echo_body);
  const LoopbackConnection connection(service.port());
  connection.send(
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(connection.read_through("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  connection.send("hi");
  EXPECT_EQ(http_answer_of(connection.read_all()).body, "hi");
}

TEST(HttpBodies, GoIntoFilesThatAreRemovedWithTheRequest) {
  const TemporaryFolder folder;
  std::vector<HttpRequest> kept;
  HttpService service(admit_bodies(10'000'000, folder.path()),
                      [&](HttpRequest request, const HttpReply& reply) {
                        reply.send({.text = request.body + request.body_file.string()});
                        kept.push_back(std::move(request));
                      });
  const std::string body = bytes_of(5'000'000);
  const std::string path = ask_service(service, post_of(body)).body;
  EXPECT_EQ(read_file(path), body);
  EXPECT_EQ(std::filesystem::path(path).parent_path(), folder.path());
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  kept.clear();
  EXPECT_THAT(folder.names(), IsEmpty());
  ask_service(service, chunked_post_of(body, 100'000));
  EXPECT_EQ(read_file(kept.at(0).body_file), body);
  const std::filesystem::path moved = folder / "mine";
  std::filesystem::rename(kept.at(0).body_file, moved);
  kept.clear();
  EXPECT_EQ(read_file(moved), body);
}

TEST(HttpBodies, LeaveNoFileWhenTheClientGoesAway) {
  const TemporaryFolder folder;
  HttpService service(admit_bodies(10'000, folder.path()), echo_body);
  {
    const LoopbackConnection connection(service.port());
    connection.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf");
    yield_until("the file", [&] { return folder.names().size() == 1; });
  }
  yield_until("its end", [&] { return folder.names().empty(); });
  const LoopbackConnection connection(service.port());
  connection.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf");
  yield_until("the file", [&] { return folder.names().size() == 1; });
  service.destroy();
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(HttpBodies, ThatFillTheDiskAreRefused) {
  const TemporaryFolder folder;
  std::atomic<int> responses{0};
  HttpService service(admit_bodies(10'000'000, folder.path()),
                      [&](const HttpRequest& request, const HttpReply& reply) {
                        ++responses;
                        echo_body(request, reply);
                      });
  {
    const FileSizeLimit limit(100'000);
    for (const std::string& post :
         {post_of(bytes_of(3'000'000)), chunked_post_of(bytes_of(3'000'000), 50'000)}) {
      const HttpAnswer answer = ask_service(service, post);
      EXPECT_EQ(answer.status, 507);
      EXPECT_THAT(answer.body, AllOf(HasSubstr(folder.path().string()), HasSubstr("free some")));
      EXPECT_THAT(folder.names(), IsEmpty());
    }
  }
  EXPECT_EQ(responses, 0);
  EXPECT_EQ(ask_service(service, post_of(bytes_of(3'000'000))).status, 200);
}

TEST(HttpBodies, ThatCannotBeKeptAreRefusedAtOnce) {
  HttpService service(admit_bodies(100, "/nonexistent/folder"), echo_body);
  const HttpAnswer answer =
      ask_service(service, "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n");
  EXPECT_EQ(answer.status, 500);
  EXPECT_THAT(answer.body, HasSubstr("/nonexistent/folder"));
  EXPECT_EQ(ask_service(service, "PUT / HTTP/1.1\r\nHost: x\r\n\r\n").status, 200) << "no body";
}

TEST(HttpBodies, ThatDoNotGoOnAreEnded) {
  ConnectionLimits limits = kWideLimits;
  limits.request_deadline = std::chrono::milliseconds(200);
  HttpService service(admit_bodies(1'000'000), echo_body, {.limits = limits});
  for (const std::string& post :
       {post_of(bytes_of(100'000)), chunked_post_of(bytes_of(90'000), 80'000)}) {
    const LoopbackConnection connection(service.port());
    connection.send(post.substr(0, 70'000));
    EXPECT_EQ(connection.read_all(), "");
  }
  // A body that is too long is not read for ever.
  const LoopbackConnection endless(service.port());
  endless.send("PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = hexadecimal_size(100'000) + "\r\n" + bytes_of(100'000) + "\r\n";
  const auto begin = std::chrono::steady_clock::now();
  while (endless.send(chunk) && std::chrono::steady_clock::now() - begin < kLongestWait) {
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kLongestWait);
}

TEST(HttpBodies, MayTakeLongerThanTheDeadlineIfTheyGoOn) {
  ConnectionLimits limits = kWideLimits;
  limits.request_deadline = std::chrono::seconds(2);
  HttpService service(admit_bodies(1'000'000'000),
                      [](const HttpRequest& request, const HttpReply& reply) {
                        reply.send({.text = std::to_string(request.body.size())});
                      },
                      {.limits = limits});
  const LoopbackConnection connection(service.port());
  connection.send("PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = hexadecimal_size(ConnectionLimits::kLeastBody) + "\r\n" +
                            bytes_of(ConnectionLimits::kLeastBody) + "\r\n";
  std::size_t sent = 0;
  const auto end =
      std::chrono::steady_clock::now() + limits.request_deadline + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < end) {
    ASSERT_TRUE(connection.send(chunk));
    sent += ConnectionLimits::kLeastBody;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  connection.send("0\r\n\r\n");
  EXPECT_EQ(http_answer_of(connection.read_all()).body, std::to_string(sent));
}

}  // namespace
}  // namespace vcap::test
