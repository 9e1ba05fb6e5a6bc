// SPDX-License-Identifier: Apache-2.0
// make_kafka_publisher() against librdkafka's mock cluster.
#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "messages/exactly_once.hpp"
#include "messages/kafka_cluster.hpp"
#include "messages/publisher_fixture.hpp"
#include "support/loopback_port.hpp"
#include "support/manual_clock.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/records/publishers.hpp"

namespace vcap::test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using testing::HasSubstr;

class Kafka : public PublishingTest {
 protected:
  std::unique_ptr<Publisher> open(const KafkaSettings& settings) {
    return make_kafka_publisher(settings, {.folder = (folder_ / "spool").string()},
                                {.end_wait = hours(0), .clock = clock_});
  }
  KafkaSettings settings(const KafkaCluster& cluster) const {
    return {.servers = cluster.servers(), .topic = "events", .timeout = milliseconds(1000)};
  }
};

TEST_F(Kafka, DeliversWithTheStreamAsKeyAndTheIdAsHeader) {
  KafkaCluster cluster("events");
  const auto publisher = open(settings(cluster));
  publisher->publish("gate", numbered_object(1));
  publisher->publish("yard", numbered_object(2));
  await_delivered(*publisher, 2);
  const auto messages = cluster.read_until([](const auto& read) { return read.size() == 2; });
  EXPECT_EQ(messages[0].key, "gate");
  EXPECT_EQ(messages[1].key, "yard");
  ExactlyOnce once;
  for (const auto& message : messages) once.take(message.body);
  EXPECT_EQ(once.numbers(), numbers_up_to(2));
  const auto json = nlohmann::json::parse(messages[1].body).at("message");
  EXPECT_EQ(messages[1].id, json.at("spool").get<std::string>() + "-2");
}

TEST_F(Kafka, LosesNothingWhileTheBrokerIsTakenAwayAndBroughtBack) {
  KafkaCluster cluster("events");
  const auto publisher = open(settings(cluster));
  int count = 0;
  for (int i = 0; i < 3; ++i) {
    for (int n = 0; n < 200; ++n) publisher->publish("gate", numbered_object(++count));
    std::this_thread::sleep_for(milliseconds(2 * i));
    cluster.take_away();
    for (int n = 0; n < 20; ++n) publisher->publish("gate", numbered_object(++count));
    yield_until("a failure", [&] { return publisher->stats().is_failing; });
    cluster.bring_back();
    await_delivered(*publisher, static_cast<std::uint64_t>(count));
  }
  const auto messages = cluster.read_until(
      [&](const auto& read) { return nlohmann::json::parse(read.back().body).at("n") == count; });
  ExactlyOnce once;
  for (const auto& message : messages) once.take(message.body);
  EXPECT_EQ(once.numbers(), numbers_up_to(count));
}

TEST_F(Kafka, SetsAsideWhatTheBrokerWillNeverTake) {
  KafkaCluster cluster("events");
  cluster.refuse_next(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
  // One refusal is there: an attempt that gave up too early would use it up.
  KafkaSettings patient = settings(cluster);
  patient.timeout = std::chrono::minutes(2);
  const auto publisher = open(patient);
  publisher->publish("gate", numbered_object(1));
  yield_until("a refusal", [&] {
    clock_->advance(std::chrono::minutes(1));  // hours would overflow the clock in a long wait
    return publisher->stats().refused == 1;
  });
  publisher->publish("gate", numbered_object(2));
  await_delivered(*publisher, 1);
  EXPECT_THAT(read_file(folder_ / "spool" / "refused.jsonl"), HasSubstr("\"n\":1"));
}

TEST_F(Kafka, EndsWhileNoBrokerAnswers) {
  const SilentListener silent;
  for (const std::uint16_t port : {silent.port(), free_port()}) {
    const auto publisher =
        open({.servers = "127.0.0.1:" + std::to_string(port), .topic = "events"});
    publisher->publish("gate", numbered_object(1));
    publisher->close();
    EXPECT_GE(publisher->stats().waiting, 1);
  }
}

TEST_F(Kafka, RefusesWrongSettings) {
  const auto expect_refused = [&](const KafkaSettings& wrong, const std::string& why) {
    EXPECT_THAT([&] { open(wrong); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(why)));
  };
  expect_refused({.servers = "a:1", .topic = "a/b"}, "topic: \"a/b\" is no topic");
  expect_refused({.servers = "", .topic = "a"}, "servers");
  expect_refused({.servers = "a:1", .topic = "a", .mechanism = "GSSAPI"}, "\"SCRAM-SHA-256\"");
}

}  // namespace
}  // namespace vcap::test
