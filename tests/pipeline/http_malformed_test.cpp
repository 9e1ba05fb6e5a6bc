// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/http_get.hpp"
#include "support/http_service.hpp"

namespace vcap::test {
namespace {

using namespace std::string_literals;

struct MalformedCase {
  std::string text;
  /// What may begin the answer; the connection may always be closed without one.
  std::string answer = "HTTP/1.1 4";
};

std::string with_headers(const std::string& headers, const std::string& rest = {}) {
  return "POST / HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n" + rest;
}

std::string with_chunks(const std::string& chunks) {
  return with_headers("Transfer-Encoding: chunked\r\n", chunks);
}

const std::string kAnyAnswer = "HTTP/1.";

std::vector<MalformedCase> malformed_cases() {
  const std::string host = "Host: x\r\n\r\n";
  return {
      // Request lines.
      {"\r\n"},
      {"\n\n\n\n"},
      {" \r\n\r\n"},
      {"GET\r\n\r\n"},
      {"GET /\r\n" + host, kAnyAnswer},
      {"GET  / HTTP/1.1\r\n" + host, kAnyAnswer},
      {"GET / HTTP/1.1 \r\n" + host, kAnyAnswer},
      {"GET / HTTP/9.9\r\n" + host, "HTTP/1.1 505"},
      {"GET / HTTP/1.\r\n" + host},
      {"GET / HTTP/0.9\r\n" + host, kAnyAnswer},
      {"GET / XTTP/1.1\r\n" + host},
      {"GET / http/1.1\r\n" + host, kAnyAnswer},
      {"GET / HTTP/11111111111111111111.1\r\n" + host, kAnyAnswer},
      {"/ HTTP/1.1\r\n" + host, kAnyAnswer},
      {"G\0T / HTTP/1.1\r\n"s + host, kAnyAnswer},
      {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"s + std::string(600, '\x80') + "\r\n\r\n",
       kAnyAnswer},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", kAnyAnswer},
      {std::string(100'000, 'G') + " / HTTP/1.1\r\n" + host},
      {"GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\n" + host},
      {"GET /?" + std::string(100'000, '&') + " HTTP/1.1\r\n" + host},
      // Paths and arguments, of which the handler may see anything.
      {"GET /%zz%2 HTTP/1.1\r\n" + host, kAnyAnswer},
      {"GET /%00%0d%0a?%00=%00 HTTP/1.1\r\n" + host, kAnyAnswer},
      {"GET /\xff\xfe\xc0\x80 HTTP/1.1\r\n" + host, kAnyAnswer},
      {"GET /a\0b HTTP/1.1\r\n"s + host, kAnyAnswer},
      {"GET /\x01\x1b[2J HTTP/1.1\r\n" + host, kAnyAnswer},
      {"GET ../../etc/passwd HTTP/1.1\r\n" + host, kAnyAnswer},
      {"GET http://elsewhere/ HTTP/1.1\r\n" + host, kAnyAnswer},
      {"GET * HTTP/1.1\r\n" + host, kAnyAnswer},
      {"GET ?&&=&a&=b&a=b=c&%=% HTTP/1.1\r\n" + host, kAnyAnswer},
      {"CONNECT x:1 HTTP/1.1\r\n" + host, kAnyAnswer},
      // Headers.
      {"GET / HTTP/1.1\r\n\r\n", kAnyAnswer},  // no Host
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", kAnyAnswer},
      {with_headers("no colon\r\n"), kAnyAnswer},
      {with_headers(": no name\r\n"), kAnyAnswer},
      {with_headers("a b: c\r\n"), kAnyAnswer},
      {with_headers(" folded: 1\r\n"), kAnyAnswer},
      {with_headers("a: b\r\n  folded\r\n\tagain\r\n"), kAnyAnswer},
      {with_headers("a\0b: c\0d\r\n"s), kAnyAnswer},
      {with_headers("a: \xff\xfe\x80\r\n"), kAnyAnswer},
      {with_headers("a: b\rc: d\r\n"), kAnyAnswer},
      {with_headers("a: " + std::string(100'000, 'b') + "\r\n")},
      {with_headers(std::string(100'000, 'a') + ": b\r\n")},
      {[] {
        std::string headers;
        for (int i = 0; i < 20'000; ++i) headers += "a: b\r\n";
        return with_headers(headers);
      }()},
      {with_headers("Cookie: " + std::string(5000, '=') + "\r\n"), kAnyAnswer},
      {with_headers("Expect: the unexpected\r\nContent-Length: 0\r\n"), kAnyAnswer},
      {with_headers("Upgrade: websocket\r\nConnection: upgrade\r\n"), kAnyAnswer},
      // Lengths of bodies.
      {with_headers("Content-Length: -1\r\n")},
      {with_headers("Content-Length: +1\r\n", "a")},
      {with_headers("Content-Length: 1 1\r\n", "a")},
      {with_headers("Content-Length: 0x10\r\n")},
      {with_headers("Content-Length: \r\n"), kAnyAnswer},
      {with_headers("Content-Length: 99999999999999999999999999\r\n")},
      {with_headers("Content-Length: 3\r\nContent-Length: 3\r\n", "abc")},
      {with_headers("Content-Length: 1\r\nContent-Length: 9\r\n", "a")},
      {with_headers("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")},
      {with_headers("Transfer-Encoding: chunked, gzip\r\n", "0\r\n\r\n")},
      {with_headers("Transfer-Encoding: identity\r\n", "abc")},
      {with_headers("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")},
      // Chunks.
      {with_chunks("xyz\r\nabc\r\n0\r\n\r\n")},
      {with_chunks("-1\r\na\r\n0\r\n\r\n")},
      {with_chunks("\r\n\r\n")},
      {with_chunks("3\r\nabcdef\r\n0\r\n\r\n")},
      {with_chunks("fffffffffffffffff\r\nabc\r\n")},
      {with_chunks("ffffffffffffffff\r\nabc\r\n")},
      {with_chunks("0x3\r\nabc\r\n0\r\n\r\n")},
      {with_chunks(std::string(100'000, '1') + "\r\n")},
      {with_chunks("3;" + std::string(100'000, 'e') + "\r\nabc\r\n0\r\n\r\n")},
      {with_chunks("3\r\nabc\r\n0\r\n" + std::string(100'000, 'f') + ": t\r\n\r\n")},
      {with_chunks("3\r\nabc\r\n0\r\nContent-Length: 7\r\n\r\n"), kAnyAnswer},
      // Several requests; only the first one is answered.
      {"GET /1 HTTP/1.1\r\n" + host + "GET /2 HTTP/1.1\r\n" + host, kAnyAnswer},
      {"GET /1 HTTP/1.1\r\n" + host + std::string(100'000, '\0'), kAnyAnswer},
      {with_headers("Content-Length: 3\r\n", "abcGET /2 HTTP/1.1\r\n" + host), kAnyAnswer},
  };
}

/// libmicrohttpd may not see that a client has ended an incomplete request, so the deadline ends
/// some of them.
ConnectionLimits short_limits() {
  ConnectionLimits limits = kWideLimits;
  limits.request_deadline = std::chrono::seconds(2);
  return limits;
}

TEST(HttpMalformed, RequestsHarmNobody) {
  HttpService service(admit_bodies(1000),
                      [](const HttpRequest& request, const HttpReply& reply) {
                        std::string text = "seen " + request.path;
                        for (const auto& [name, value] : request.arguments) text += name + value;
                        reply.send({.text = text + request.body});
                      },
                      {.limits = short_limits()});
  const std::vector<MalformedCase> cases = malformed_cases();
  EXPECT_GE(cases.size(), 40u);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const MalformedCase& one = cases[i];
    SCOPED_TRACE(std::to_string(i) + ": " + one.text.substr(0, 100));
    const LoopbackConnection connection(service.port());
    connection.send(one.text);
    connection.end_sending();  // so the server knows that no more comes
    const std::string answer = connection.read_all();
    EXPECT_TRUE(answer.empty() || answer.starts_with(one.answer)) << answer.substr(0, 200);
    EXPECT_EQ(answer.find("seen"), answer.rfind("seen")) << answer;
    EXPECT_EQ(http_get(service.port(), "/good").body, "seen /good");
  }
}

TEST(HttpMalformed, EveryPrefixOfARequestHarmsNobody) {
  ConnectionLimits limits = short_limits();
  limits.connections = limits.per_address = 512;
  HttpService service(admit_bodies(1000),
                      [](const HttpRequest& request, const HttpReply& reply) {
                        reply.send({.text = request.body});
                      },
                      {.limits = limits});
  std::vector<std::unique_ptr<LoopbackConnection>> connections;
  for (const std::string& request : {post_of("body", "/path?a=%41"), chunked_post_of("a body", 4)})
    for (std::size_t size = 0; size < request.size(); ++size) {
      connections.push_back(std::make_unique<LoopbackConnection>(service.port()));
      connections.back()->send(request.substr(0, size));
      connections.back()->end_sending();
    }
  for (const auto& connection : connections)
    EXPECT_EQ(connection->read_all().find("200 OK"), std::string::npos);
}

TEST(HttpMalformed, DoesNotMeanInSmallParts) {
  HttpService service(admit_bodies(1000), [](const HttpRequest& request, const HttpReply& reply) {
    reply.send({.text = request.body});
  });
  for (const std::string& request : {post_of("a body"), chunked_post_of("a body", 4)}) {
    const LoopbackConnection connection(service.port());
    for (const char byte : request) connection.send(std::string(1, byte));
    EXPECT_EQ(http_answer_of(connection.read_all()).body, "a body");
  }
}

TEST(HttpMalformed, HeadersOfAnswersCannotBeSplit) {
  HttpService service(admit_bodies(0), [](const HttpRequest& request, const HttpReply& reply) {
    reply.send({.text = "text", .headers = {{"X-Asked", request.argument("asked")}}});
  });
  EXPECT_EQ(http_get(service.port(), "/?asked=a%0d%0aSet-Cookie:%20b").head.find("Set-Cookie"),
            std::string::npos);
}

/// Lets this process have that many descriptors, if the system allows it.
bool allow_descriptors(rlim_t count) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= count) return true;
  if (limit.rlim_max < count) return false;
  limit.rlim_cur = count;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

void answer_plainly(const HttpRequest&, const HttpReply& reply) { reply.send({.text = "plain"}); }

TEST(HttpLoad, OfSlowClientsKeepsNobodyWaiting) {
  HttpService service(admit_bodies(1000), answer_plainly);
  std::vector<std::unique_ptr<LoopbackConnection>> slow;
  for (int i = 0; i < 200; ++i) {
    slow.push_back(std::make_unique<LoopbackConnection>(service.port()));
    slow.back()->send(i % 2 == 0 ? "GET /slow HTTP/1.1\r\nx: "
                                 : "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n");
  }
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < slow.size(); i += 2) EXPECT_TRUE(slow[i]->send("x"));
    EXPECT_EQ(http_get(service.port(), "/").body, "plain");
  }
  for (std::size_t i = 0; i < slow.size(); ++i) {
    slow[i]->send(i % 2 == 0 ? "\r\nHost: x\r\n\r\n" : "123456789");
    EXPECT_EQ(http_answer_of(slow[i]->read_all()).body, "plain") << i;
  }
}

TEST(HttpLoad, OfAThousandSocketsKeepsNobodyWaiting) {
  constexpr std::size_t kSockets = 1000;
  ASSERT_TRUE(allow_descriptors(2 * kSockets + 200))
      << "this test needs more descriptors; raise the limit: ulimit -Hn";
  ConnectionLimits limits = kWideLimits;
  limits.connections = limits.per_address = kSockets + 100;
  HttpService service(admit_bodies(0), answer_plainly, {.limits = limits});
  std::vector<std::unique_ptr<LoopbackConnection>> open;
  for (std::size_t i = 0; i < kSockets; ++i)
    open.push_back(std::make_unique<LoopbackConnection>(service.port()));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(http_get(service.port(), "/").body, "plain");
  for (const auto& connection : open) EXPECT_FALSE(connection->is_closed());
  open.front()->send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(http_answer_of(open.front()->read_all()).body, "plain");
}

TEST(HttpLoad, OfAdmittedBodiesIsNotEvicted) {
  ConnectionLimits limits = kWideLimits;
  limits.connections = 4;
  HttpService service(admit_bodies(1000), answer_plainly, {.limits = limits});
  const LoopbackConnection upload(service.port());
  upload.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n");
  upload.read_through("\r\n\r\n");
  std::vector<std::unique_ptr<LoopbackConnection>> idle;
  for (int i = 0; i < 30; ++i) idle.push_back(std::make_unique<LoopbackConnection>(service.port()));
  EXPECT_EQ(http_get(service.port(), "/").body, "plain");
  upload.send("123456789");
  EXPECT_EQ(http_answer_of(upload.read_all()).body, "plain");
}

}  // namespace
}  // namespace vcap::test
