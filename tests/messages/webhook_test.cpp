// SPDX-License-Identifier: Apache-2.0
// make_webhook_publisher() against HTTP servers on loopback.
#include <gmock/gmock.h>
#include <openssl/hmac.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "messages/exactly_once.hpp"
#include "messages/publisher_fixture.hpp"
#include "support/bounded_wait.hpp"
#include "support/http_receiver.hpp"
#include "support/loopback_port.hpp"
#include "support/manual_clock.hpp"
#include "support/test_certificate.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/records/event_sink.hpp"
#include "vcap/records/publishers.hpp"

namespace vcap::test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

std::string hmac_by_openssl(const std::string& key, const std::string& text) {
  std::array<unsigned char, 32> digest{};
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &size);
  std::string hexadecimal;
  for (const unsigned char byte : digest) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", byte);
    hexadecimal += digits.data();
  }
  return hexadecimal;
}

class Webhook : public PublishingTest {
 protected:
  std::unique_ptr<Publisher> open(const WebhookSettings& settings) {
    return make_webhook_publisher(settings, {.folder = (folder_ / "spool").string()},
                                  {.end_wait = seconds(0), .clock = clock_});
  }
};

TEST_F(Webhook, PostsSignedMessages) {
  HttpReceiver server;
  const auto publisher = open({.url = server.url("/events?site=7"), .secret = "a secret"});
  for (int n = 1; n <= 3; ++n) publisher->publish("gate", numbered_object(n));
  await_delivered(*publisher, 3);
  const auto requests = server.requests();
  ASSERT_THAT(requests, SizeIs(3));
  ExactlyOnce once;
  for (const auto& request : requests) once.take(request.body);
  EXPECT_EQ(once.numbers(), numbers_up_to(3));
  const auto& first = requests[0];
  EXPECT_EQ(first.path, "/events");
  EXPECT_EQ(first.headers.at("Content-Type"), "application/json");
  EXPECT_EQ(first.headers.at("Vcap-Signature"),
            "sha256=" + hmac_by_openssl("a secret", first.body));
  const auto json = nlohmann::json::parse(first.body).at("message");
  EXPECT_EQ(first.headers.at("Vcap-Message-Id"), json.at("spool").get<std::string>() + "-1");
}

TEST_F(Webhook, IsMadeAsTheDocumentationSays) {
  HttpReceiver server;
  const std::string url = server.url();
  const std::string secret = "a secret";
  const std::string spool = (folder_ / "spool").string();
  const std::string journal = (folder_ / "events.jsonl").string();
  const EventRules rules{
      .zones = {{.name = "yard", .polygon = {{100, 0}, {640, 0}, {640, 480}, {100, 480}}}},
      .rules = {{.name = "comes", .what = EnterRule{.zone = "yard"}}}};
  std::vector<FrameRecord> records(2, {.stream_id = "gate", .resolution = {640, 480}});
  const Uuid track = Uuid::random();
  for (std::size_t i = 0; i < records.size(); ++i) {  // outside, then inside
    records[i].frame.index = static_cast<std::int64_t>(i);
    records[i].objects.push_back(
        {.name = "person",
         .coords = rect_to_coords(cv::Rect2d(10 + 200 * static_cast<double>(i), 60, 20, 40)),
         .track_id = track});
  }
  // [publisher]
  const std::shared_ptr<vcap::Publisher> publisher =
      vcap::make_webhook_publisher({.url = url, .secret = secret}, {.folder = spool});
  const std::unique_ptr<vcap::Sink> events =
      vcap::make_event_sink(journal, rules, {.publishers = {publisher}});
  for (const vcap::FrameRecord& record : records) events->write(record);  // as a stream does
  events->close();
  publisher->close();  // sends what waits, for a bounded time
  // [/publisher]
  EXPECT_EQ(publisher->stats().delivered, 2);
  EXPECT_THAT(server.requests().at(1).body, HasSubstr("stream_end"));
}

TEST_F(Webhook, SignsNothingWithoutASecret) {
  HttpReceiver server;
  const auto publisher = open({.url = server.url()});
  publisher->publish("gate", numbered_object(1));
  await_delivered(*publisher, 1);
  EXPECT_FALSE(server.requests().at(0).headers.contains("Vcap-Signature"));
}

TEST_F(Webhook, SendsAgainAfterAnswersThatMayPass) {
  std::atomic<std::size_t> calls = 0;
  constexpr std::array<unsigned, 6> kStatuses{500, 503, 408, 429, 302, 599};
  HttpReceiver server([&](const auto&) {
    const std::size_t call = calls++;
    return call < kStatuses.size()
               ? HttpReceiver::Answer{kStatuses[call], {{"Location", "http://127.0.0.1:1/"}}}
               : HttpReceiver::Answer{204};
  });
  const auto publisher = open({.url = server.url()});
  publisher->publish("gate", numbered_object(1));
  publisher->publish("gate", numbered_object(2));
  await_delivered(*publisher, 2);
  EXPECT_EQ(calls, kStatuses.size() + 2);
  EXPECT_EQ(publisher->stats().refused, 0);
  ExactlyOnce once;
  for (const auto& request : server.requests()) once.take(request.body);
  EXPECT_EQ(once.numbers(), numbers_up_to(2));
}

TEST_F(Webhook, SaysThatARedirectIsNotFollowed) {
  HttpReceiver target;
  HttpReceiver server([&](const auto&) {
    return HttpReceiver::Answer{307, {{"Location", target.url()}}};
  });
  const auto publisher = open({.url = server.url()});
  publisher->publish("gate", numbered_object(1));
  EXPECT_THAT(await_failure(*publisher), HasSubstr("307, a redirect, which is not followed"));
  EXPECT_THAT(target.requests(), SizeIs(0));
}

TEST_F(Webhook, WaitsAsLongAsTheServerSays) {
  std::atomic<int> calls = 0;
  HttpReceiver server([&](const auto&) {
    return ++calls == 1 ? HttpReceiver::Answer{503, {{"Retry-After", "90"}}}
                        : HttpReceiver::Answer{200};
  });
  const auto publisher = open({.url = server.url()});
  publisher->publish("gate", numbered_object(1));
  clock_->await_sleeper(clock_->now() + seconds(90));
  clock_->advance(seconds(90));
  yield_until("a message", [&] { return publisher->stats().delivered == 1; });
}

TEST_F(Webhook, SetsAsideWhatTheServerRefuses) {
  HttpReceiver server([](const HttpReceiver::Request& request) {
    return HttpReceiver::Answer{request.body.starts_with("{\"n\":2,") ? 422u : 200u};
  });
  const auto publisher = open({.url = server.url()});
  for (int n = 1; n <= 3; ++n) publisher->publish("gate", numbered_object(n));
  await_delivered(*publisher, 2);
  EXPECT_EQ(publisher->stats().refused, 1);
  EXPECT_THAT(read_file(folder_ / "spool" / "refused.jsonl"),
              testing::AllOf(HasSubstr("422"), HasSubstr("\"n\":2")));
}

TEST_F(Webhook, TakesSlowAnswersAndGivesUpOnesThatNeverCome) {
  Latch latch;
  std::atomic<int> calls = 0;
  HttpReceiver server([&](const auto&) {
    if (++calls == 1)
      latch.wait();
    else
      std::this_thread::sleep_for(milliseconds(50));
    return HttpReceiver::Answer{200};
  });
  const auto publisher = open({.url = server.url(), .timeout = milliseconds(1000)});
  publisher->publish("gate", numbered_object(1));
  EXPECT_THAT(await_failure(*publisher), HasSubstr("timed out"));
  latch.open();
  await_delivered(*publisher, 1);
}

TEST_F(Webhook, EndsWhileAServerHangs) {
  const SilentListener silent;
  const auto publisher =
      open({.url = "http://127.0.0.1:" + std::to_string(silent.port()), .timeout = hours(1)});
  for (int n = 1; n <= 3; ++n) publisher->publish("gate", numbered_object(n));
  publisher->close();
  EXPECT_EQ(publisher->stats().waiting, 3);
  EXPECT_THAT(log(), HasSubstr("3 messages not sent"));
}

TEST_F(Webhook, KeepsMessagesWhileNothingListens) {
  const auto publisher = open({.url = "http://127.0.0.1:" + std::to_string(free_port())});
  publisher->publish("gate", numbered_object(1));
  EXPECT_THAT(await_failure(*publisher), HasSubstr("connect"));
  EXPECT_EQ(publisher->stats().waiting, 1);
}

TEST_F(Webhook, TrustsOnlyTheGivenAuthority) {
  const std::string right = (folder_ / "right.pem").string();
  const std::string other = (folder_ / "other.pem").string();
  write_certificate(right);
  write_certificate(other);
  HttpReceiver server({}, right);
  {
    const auto publisher = open({.url = server.url(), .certificates = other});
    publisher->publish("gate", numbered_object(1));
    EXPECT_THAT(await_failure(*publisher), HasSubstr("certificate"));
    EXPECT_THAT(server.requests(), SizeIs(0));
  }
  const auto publisher = open({.url = server.url(), .certificates = right});
  await_delivered(*publisher, 1);
}

TEST_F(Webhook, ShowsNoSecrets) {
  const std::string port = std::to_string(free_port());
  const auto publisher = open(
      {.url = "http://user:hidden-1@127.0.0.1:" + port + "/?token=hidden-2", .secret = "hidden-3"});
  publisher->publish("gate", numbered_object(1));
  EXPECT_THAT(await_failure(*publisher), Not(HasSubstr("hidden")));
  publisher->close();
  EXPECT_THAT(log(),
              testing::AllOf(HasSubstr("http://user:***@127.0.0.1"), Not(HasSubstr("hidden"))));
}

TEST_F(Webhook, RefusesWrongSettings) {
  for (const char* const url : {"", "ftp://a/", "http://", "a.example/hook"})
    EXPECT_THAT(
        [&] { open({.url = url}); },
        ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("is not http://HOST")));
}

}  // namespace
}  // namespace vcap::test
