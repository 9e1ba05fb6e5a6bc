// SPDX-License-Identifier: Apache-2.0
// make_mqtt_publisher() against mosquitto.
#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include "messages/exactly_once.hpp"
#include "messages/mqtt_broker.hpp"
#include "messages/old_mqtt_broker.hpp"
#include "messages/publisher_fixture.hpp"
#include "support/manual_clock.hpp"
#include "support/test_certificate.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/records/publishers.hpp"

namespace vcap::test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

class Mqtt : public PublishingTest {
 protected:
  MqttSettings settings(std::uint16_t port) const {
    return {.host = "127.0.0.1", .port = port, .topic = "site/{stream}/events"};
  }
  std::unique_ptr<Publisher> open(const MqttSettings& settings, seconds end_wait = seconds(0)) {
    return make_mqtt_publisher(settings, {.folder = (folder_ / "spool").string()},
                               {.end_wait = end_wait, .clock = clock_});
  }
};

TEST_F(Mqtt, DeliversToTheTopicOfTheStream) {
  MqttBroker broker;
  MqttReader reader;
  reader.join(broker.port());
  const auto publisher = open(settings(broker.port()));
  publisher->publish("gate", numbered_object(1));
  publisher->publish("a/b#+c", numbered_object(2));
  await_delivered(*publisher, 2);
  yield_until("messages", [&] { return reader.messages().size() == 2; });
  const auto messages = reader.messages();
  EXPECT_EQ(messages[0].topic, "site/gate/events");
  EXPECT_EQ(messages[1].topic, "site/a_b__c/events");
  ExactlyOnce once;
  for (const auto& message : messages) once.take(message.body);
  EXPECT_EQ(once.numbers(), numbers_up_to(2));
}

TEST_F(Mqtt, LosesNothingWhileTheBrokerIsKilledAndStartedAgain) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  MqttBroker broker;
  MqttReader reader;
  reader.join(broker.port());
  const auto publisher = open(settings(broker.port()));
  const char* const wanted = std::getenv("VCAP_TEST_KILLS");
  const int kills = wanted != nullptr ? std::atoi(wanted) : 8;
  int count = 0;
  for (int i = 0; i < kills; ++i) {
    for (int n = 0; n < 300; ++n) publisher->publish("gate", numbered_object(++count));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
    broker.kill();
    reader.await_lost();
    for (int n = 0; n < 20; ++n) publisher->publish("gate", numbered_object(++count));
    await_failure(*publisher);
    broker.start();
    reader.join(broker.port());  // before the clock lets the publisher try again
    await_delivered(*publisher, static_cast<std::uint64_t>(count));
  }
  ExactlyOnce once;
  yield_until("the last message", [&] {
    const auto messages = reader.messages();
    return !messages.empty() &&
           messages.back().body.starts_with("{\"n\":" + std::to_string(count) + ',');
  });
  for (const auto& message : reader.messages()) once.take(message.body);
  EXPECT_EQ(once.numbers(), numbers_up_to(count));
  EXPECT_EQ(publisher->stats().waiting, 0);
  EXPECT_THAT(log(), HasSubstr("takes messages again"));
}

TEST_F(Mqtt, KeepsMessagesWhileNothingListens) {
  const std::uint16_t port = free_port();
  {
    const auto publisher = open(settings(port));
    publisher->publish("gate", numbered_object(1));
    EXPECT_THAT(await_failure(*publisher), HasSubstr("cannot connect"));
    publisher->close();
    EXPECT_EQ(publisher->stats().waiting, 1);
  }
  MqttBroker broker;
  const auto publisher = open(settings(broker.port()));
  await_delivered(*publisher, 1);
}

TEST_F(Mqtt, LogsInWithAPasswordThatIsInNoMessage) {
  const TemporaryFolder secrets;
  const std::string passwords = (secrets / "passwords").string();
  ASSERT_EQ(std::system(("mosquitto_passwd -b -c " + passwords + " vcap right-word").c_str()), 0);
  MqttBroker broker("allow_anonymous false\npassword_file " + passwords + '\n');
  MqttSettings given = settings(broker.port());
  given.user = "vcap";
  given.password = "wrong-word";
  {
    const auto publisher = open(given);
    publisher->publish("gate", numbered_object(1));
    EXPECT_THAT(await_failure(*publisher), HasSubstr("refuses the connection"));
    publisher->close();
  }
  given.password = "right-word";
  const auto publisher = open(given);
  await_delivered(*publisher, 1);
  EXPECT_THAT(log(), Not(HasSubstr("-word")));
}

TEST_F(Mqtt, TrustsOnlyTheGivenAuthority) {
  const std::string right = (folder_ / "right.pem").string();
  const std::string other = (folder_ / "other.pem").string();
  write_certificate(right);
  write_certificate(other);
  MqttBroker broker("allow_anonymous true\ncertfile " + right + "\nkeyfile " + right + '\n');
  MqttSettings given = settings(broker.port());
  given.tls = true;
  given.certificates = other;
  {
    const auto publisher = open(given);
    publisher->publish("gate", numbered_object(1));
    EXPECT_THAT(await_failure(*publisher), HasSubstr("TLS"));
    publisher->close();
    EXPECT_EQ(publisher->stats().delivered, 0);
  }
  given.certificates = right;
  const auto publisher = open(given);
  await_delivered(*publisher, 1);
}

TEST_F(Mqtt, SpeaksTheOlderVersionWithABrokerThatKnowsNoOther) {
  const OldMqttBroker broker;
  const auto publisher = open(settings(broker.port()));
  for (int n = 1; n <= 5; ++n) publisher->publish("gate", numbered_object(n));
  await_delivered(*publisher, 5);
  EXPECT_EQ(broker.messages(), 5);
  EXPECT_EQ(broker.refused(), 1);
}

TEST_F(Mqtt, EndsWhileABrokerHangs) {
  const SilentListener silent;
  {
    const auto publisher = open(settings(silent.port()));
    publisher->publish("gate", numbered_object(1));
    publisher->close();
    EXPECT_EQ(publisher->stats().waiting, 1);
  }
  MqttBroker broker;
  const auto publisher = open(settings(broker.port()));
  await_delivered(*publisher, 1);
  broker.hang();
  for (int n = 2; n < 50; ++n) publisher->publish("gate", numbered_object(n));
  publisher->close();
  EXPECT_EQ(publisher->stats().waiting, 48);
  EXPECT_THAT(log(), HasSubstr("48 messages not sent"));
}

TEST_F(Mqtt, RefusesWrongSettings) {
  const auto expect_refused = [&](MqttSettings wrong, const std::string& why) {
    EXPECT_THAT([&] { open(wrong); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(why)));
  };
  MqttSettings wrong = settings(1);
  wrong.topic = "a/#";
  expect_refused(wrong, "topic: \"a/#\" is no topic");
  wrong = settings(1);
  wrong.host = "";
  expect_refused(wrong, "host");
  wrong = settings(1);
  wrong.timeout = milliseconds(0);
  expect_refused(wrong, "timeout: 0 ms");
  wrong = settings(1);
  wrong.tls = true;
  wrong.certificates = "/nowhere/ca.pem";
  EXPECT_THAT([&] { open(wrong); },
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("/nowhere/ca.pem")));
}

}  // namespace
}  // namespace vcap::test
