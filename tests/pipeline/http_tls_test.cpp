// SPDX-License-Identifier: Apache-2.0
#include <curl/curl.h>

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/bounded_wait.hpp"
#include "support/curl_request.hpp"
#include "support/http_get.hpp"
#include "support/http_service.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_certificate.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using testing::HasSubstr;

/// The option that allows one version of TLS.
long only(long least, long most) { return least | most; }

/// A server of https that sends bodies back.
class HttpTls : public testing::Test {
 protected:
  HttpTls() { write_certificate(pem_); }

  HttpServer::Settings settings(const ConnectionLimits& limits = kWideLimits) const {
    return {.limits = limits, .tls = TlsFiles{.certificate = pem_, .key = pem_}};
  }
  static void echo(const HttpRequest& request, const HttpReply& reply) {
    reply.send({.text = "echo " + request.body});
  }
  static std::string url_of(const HttpService& service) {
    return "https://127.0.0.1:" + std::to_string(service.port()) + "/";
  }

  const TemporaryFolder folder_{};
  const std::string pem_ = folder_ / "server.pem";
};

TEST_F(HttpTls, ServesHttps) {
  HttpService service(admit_bodies(10'000'000), &echo, settings());
  EXPECT_EQ(curl_request(url_of(service), {.authority = pem_}).body, "echo ");
  const std::string body(5'000'000, 'b');
  for (const long version : {only(CURL_SSLVERSION_TLSv1_2, CURL_SSLVERSION_MAX_TLSv1_2),
                             only(CURL_SSLVERSION_TLSv1_3, CURL_SSLVERSION_MAX_TLSv1_3)}) {
    const CurlAnswer answer =
        curl_request(url_of(service), {.authority = pem_, .body = body, .versions = version});
    EXPECT_EQ(answer.code, CURLE_OK) << answer.error;
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.body == "echo " + body) << answer.body.size();
  }
}

TEST_F(HttpTls, RefusesAClientThatTrustsAnotherAuthority) {
  HttpService service(admit_bodies(0), &echo, settings());
  const std::string other = folder_ / "other.pem";
  write_certificate(other);
  const CurlAnswer answer = curl_request(url_of(service), {.authority = other});
  EXPECT_EQ(answer.code, CURLE_PEER_FAILED_VERIFICATION) << answer.error;
  EXPECT_EQ(answer.body, "");
  EXPECT_EQ(curl_request(url_of(service), {.authority = pem_}).status, 200);
}

TEST_F(HttpTls, RefusesOldVersions) {
  HttpService service(admit_bodies(0), &echo, settings());
  for (const long version : {only(CURL_SSLVERSION_TLSv1_0, CURL_SSLVERSION_MAX_TLSv1_0),
                             only(CURL_SSLVERSION_TLSv1_1, CURL_SSLVERSION_MAX_TLSv1_1)}) {
    // With this list, the client itself speaks them.
    const CurlAnswer answer = curl_request(
        url_of(service), {.authority = pem_, .versions = version, .ciphers = "DEFAULT@SECLEVEL=0"});
    EXPECT_EQ(answer.code, CURLE_SSL_CONNECT_ERROR);
    EXPECT_THAT(answer.error, HasSubstr("SSL_connect: SSL_ERROR_SYSCALL"))
        << "closed by the server";
  }
}

TEST_F(HttpTls, AnswersNoPlainHttp) {
  HttpService service(admit_bodies(0), &echo, settings());
  const HttpAnswer answer = http_get(service.port(), "/");
  EXPECT_EQ(answer.status, 0) << answer.head;
  EXPECT_EQ(curl_request(url_of(service), {.authority = pem_}).status, 200);
}

TEST_F(HttpTls, CountsTheHandshakeInTheDeadlineOfTheRequest) {
  ConnectionLimits limits = kWideLimits;
  limits.request_deadline = std::chrono::seconds(1);
  HttpService service(admit_bodies(0), &echo, settings(limits));
  const LoopbackConnection silent(service.port());
  const LoopbackConnection half(service.port());
  half.send(std::string("\x16\x03\x01\x02\x00\x01", 6));  // a record that begins a handshake
  EXPECT_EQ(silent.read_all(), "");
  EXPECT_EQ(half.read_all(), "");
}

/// Gives a piece at each wake().
class TlsStream final : public HttpStream {
 public:
  std::shared_ptr<const std::string> next() override {
    if (asked_++ % 2 == 0) return nullptr;
    return std::make_shared<const std::string>(100'000, 's');
  }
  bool ended() const override { return asked_ >= 40; }
  void closed() noexcept override { is_closed_ = true; }
  bool is_closed() const { return is_closed_; }

 private:
  std::atomic<int> asked_{0};
  std::atomic<bool> is_closed_{false};
};

TEST_F(HttpTls, SendsStreamsAndLateReplies) {
  const auto stream = std::make_shared<TlsStream>();
  std::jthread answering;
  HttpService service(
      admit_bodies(10),
      [&](const HttpRequest& request, HttpReply reply) {
        if (request.method == "GET") return reply.send({.stream = stream});
        answering = std::jthread([late = std::move(reply)] { late.send({.text = "late"}); });
      },
      settings());
  EXPECT_EQ(curl_request(url_of(service), {.authority = pem_, .body = "b"}).body, "late");
  std::jthread waking([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      service.server().wake();
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(curl_request(url_of(service), {.authority = pem_}).body.size(), 20u * 100'000);
  yield_until("the end of the stream", [&] { return stream->is_closed(); });
}

TEST_F(HttpTls, NamesFilesThatItCannotUse) {
  const std::string other = folder_ / "other.pem";
  write_certificate(other);
  const std::string text = read_file(pem_);
  const std::size_t certificate = text.find("-----BEGIN CERTIFICATE");
  const auto key_only = folder_.write("key.pem", text.substr(0, certificate));
  const auto certificate_only = folder_.write("certificate.pem", text.substr(certificate));
  const auto broken =
      folder_.write("broken.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  const auto empty = folder_.write("empty.pem", "");
  const struct {
    TlsFiles files;
    std::string named;
  } cases[] = {
      {{folder_ / "none.pem", pem_}, "none.pem"},
      {{pem_, folder_ / "none.pem"}, "none.pem"},
      {{folder_.path(), pem_}, folder_.path().string()},
      {{key_only, pem_}, "key.pem"},
      {{pem_, certificate_only}, "certificate.pem"},
      {{pem_, empty}, "empty.pem"},
      {{"/dev/null", pem_}, "/dev/null"},
      {{broken, pem_}, "broken.pem"},
      {{pem_, other}, "other.pem"},
  };
  for (const auto& one : cases)
    EXPECT_THAT([&] { HttpService(admit_bodies(0), &echo, {.tls = one.files}); },
                (ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(one.named))))
        << one.named;
  HttpService service(
      admit_bodies(0), &echo,
      {.limits = kWideLimits, .tls = TlsFiles{.certificate = certificate_only, .key = key_only}});
  EXPECT_EQ(curl_request(url_of(service), {.authority = pem_}).status, 200);
}

}  // namespace
}  // namespace vcap::test
