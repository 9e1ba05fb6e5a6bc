// SPDX-License-Identifier: Apache-2.0
#include "cluster/begin_epoch.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/site_of_workers.hpp"

namespace vcap::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using testing::ElementsAre;

/// A broker that takes another message before each of the first ones that say which message must be
/// the last one, and then these all the same. So a cluster of nats-server 2.9 may do.
class HastyBroker final : public Broker {
 public:
  HastyBroker(Broker& broker, std::vector<BrokerMessage> others)
      : broker_(broker), others_(std::move(others)) {}

  void publish(const BrokerMessage& message) override { broker_.publish(message); }
  BrokerMessage request(const BrokerMessage& message, milliseconds timeout) override {
    constexpr const char* kExpected = "Nats-Expected-Last-Subject-Sequence";
    if (others_.empty() || message.header(kExpected).empty())
      return broker_.request(message, timeout);
    broker_.request(others_.front(), timeout);
    others_.erase(others_.begin());
    BrokerMessage unchecked = message;
    std::erase_if(unchecked.headers, [&](const auto& header) { return header.first == kExpected; });
    return broker_.request(unchecked, timeout);
  }
  std::vector<BrokerMessage> gather(const BrokerMessage& message, std::size_t most,
                                    milliseconds timeout) override {
    return broker_.gather(message, most, timeout);
  }
  std::unique_ptr<BrokerSubscription> subscribe(const std::string& subject,
                                                Handler handler) override {
    return broker_.subscribe(subject, std::move(handler));
  }
  std::string new_inbox() const override { return broker_.new_inbox(); }
  bool is_connected() const override { return broker_.is_connected(); }
  std::optional<BrokerServer> server() const override { return broker_.server(); }
  void close() noexcept override {}

 private:
  Broker& broker_;
  std::vector<BrokerMessage> others_;
};

class BeginEpochTest : public SiteOfWorkers {
 protected:
  std::string subject() const { return impl().site.subject(Site::Kind::record, {"gate"}); }
  /// A message with the records of these frames, as `spool` sends it.
  static std::string batch(std::uint64_t epoch, std::vector<std::int64_t> frames,
                           const std::string& spool) {
    RecordBatch batch({"gate", epoch}, "x");
    for (const std::int64_t frame : frames)
      batch.add(nlohmann::json{{"stream_id", "gate"}, {"frame_index", frame}}.dump(), frame,
                milliseconds(frame));
    nlohmann::json message = nlohmann::json::parse(batch.take());
    message["message"] = {{"spool", spool}, {"sequence", frames.front() + 1}};
    return message.dump();
  }
  std::string batch(std::uint64_t epoch, std::vector<std::int64_t> frames) const {
    return batch(epoch, std::move(frames), "spool of epoch " + std::to_string(epoch));
  }
  void store(const std::string& message) const { impl().jet_stream.store(subject(), message); }

  /// Begins epoch 2 while the broker takes others.
  std::optional<std::uint64_t> begin_beside(const std::vector<std::string>& others) {
    std::vector<BrokerMessage> messages;
    for (const std::string& other : others)
      messages.push_back({.subject = subject(), .body = other});
    HastyBroker broker(*impl().broker, std::move(messages));
    JetStream jet_stream(broker, client_->impl().settings);
    return begin_epoch(
        jet_stream, impl().site,
        {.epoch = {"gate", 2},
         .worker = "y",
         .time = [this] { return impl().jet_stream.time(impl().site.stream(Site::Kind::record)); }},
        begin_);
  }
  std::vector<std::int64_t> frames() const {
    std::vector<std::int64_t> frames;
    for (const ClusterRecord& record : records("gate"))
      frames.push_back(nlohmann::json::parse(record.line).at("frame_index"));
    return frames;
  }

  EpochBegin begin_;
};

TEST_F(BeginEpochTest, FirstFramesBeginAtZero) {
  const auto sequence = begin_beside({});
  EXPECT_EQ(sequence, impl().jet_stream.last_sequence(impl().site.stream(Site::Kind::record)));
  EXPECT_EQ(begin_.frame_index, 0);
  EXPECT_EQ(begin_.pts, nanoseconds(0));
}

TEST_F(BeginEpochTest, BeginsBehindWhatTheBrokerTakesAtTheSameTime) {
  store(begin_message({"gate", 1}, "x", {}));
  store(batch(1, {0, 1, 2}));
  // Readers leave out what comes behind its first message.
  const auto sequence = begin_beside({batch(1, {3, 4}), batch(1, {5, 6})});
  ASSERT_TRUE(sequence);
  EXPECT_EQ(*sequence, impl().jet_stream.last_sequence(impl().site.stream(Site::Kind::record)));
  EXPECT_EQ(begin_.frame_index, 5);
  EXPECT_GT(begin_.pts, milliseconds(4));
  EXPECT_FALSE(begin_.is_first);
  store(batch(2, {5, 6, 7}));
  EXPECT_THAT(frames(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST_F(BeginEpochTest, GivesWayToALaterOwner) {
  store(begin_message({"gate", 1}, "x", {}));
  EXPECT_EQ(begin_beside({batch(1, {0}), begin_message({"gate", 3}, "z", {})}), std::nullopt);
  store(begin_message({"gate", 3}, "z", {}));
  EXPECT_EQ(begin_beside({}), std::nullopt);
}

TEST_F(BeginEpochTest, ReadersLeaveOutWhatComesFromAnOwnerBehindTheBeginOfTheNext) {
  store(begin_message({"gate", 1}, "x", {}));
  store(batch(1, {0, 1}));
  ASSERT_TRUE(begin_beside({}));
  store(batch(1, {2, 3}));
  store(batch(2, {2, 3, 4}));
  EXPECT_THAT(frames(), ElementsAre(0, 1, 2, 3, 4));
  ClusterRecordReader reader(client_, {.stream = "gate", .after = 0});
  while (reader.has_more()) reader.next(milliseconds(30));
  EXPECT_EQ(reader.overtaken(), 1u);
  EXPECT_EQ(reader.refused(), 0u);
}

TEST_F(BeginEpochTest, ReadersGoOnIfAStreamThatWasForgottenBeginsAnew) {
  store(begin_message({"gate", 7}, "x", {}));
  store(batch(7, {0, 1}));
  store(begin_message({"gate", 1}, "x", {}));
  store(batch(1, {0}, "another spool"));
  EXPECT_THAT(frames(), ElementsAre(0, 1, 0));
}

}  // namespace
}  // namespace vcap::test
