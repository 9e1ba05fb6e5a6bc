// SPDX-License-Identifier: Apache-2.0
#include "cluster/record_outlet.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cluster/site_of_workers.hpp"
#include "support/manual_clock.hpp"

namespace vcap::test {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

class RecordOutletTest : public SiteOfWorkers {
 protected:
  /// An outlet for an owner that has begun.
  void begin(std::size_t batch_bytes = 256 << 10) {
    outlet_.emplace(client_, RecordOutlet::Settings{.worker = "x",
                                                    .spool = {.folder = folder_ / "spool"},
                                                    .batch_bytes = batch_bytes,
                                                    .clock = clock_});
    const auto sequence = impl().jet_stream.store(impl().site.subject(Site::Kind::record, {"gate"}),
                                                  begin_message(epoch_, "x", {}));
    lane_ = outlet_->begin(epoch_, *sequence);
  }
  void add(std::int64_t index) {
    outlet_->add(*lane_, R"({"frame_index":)" + std::to_string(index) + '}', index,
                 nanoseconds(index));
  }

  /// Delivers three messages, and forgets that, as a process that is killed before it has the
  /// answers.
  void deliver_without_answers() {
    begin(10);
    server_.hang();
    for (std::int64_t index = 0; index < 3; ++index) add(index);
    std::filesystem::copy(folder_ / "spool", folder_ / "kept");
    server_.resume();
    await_records("gate", 3);
    outlet_.reset();
    std::filesystem::remove_all(folder_ / "spool");
    std::filesystem::rename(folder_ / "kept", folder_ / "spool");
  }
  std::uint64_t messages() const {
    return impl().jet_stream.count(impl().site.stream(Site::Kind::record), {});
  }

  const TemporaryFolder folder_;
  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  const StreamEpoch epoch_{"gate", 1};
  std::optional<RecordOutlet> outlet_;
  std::shared_ptr<RecordLane> lane_;
};

TEST_F(RecordOutletTest, SendsTheRecordsOfASecondInOneMessage) {
  begin();
  for (std::int64_t index = 0; index < 30; ++index) add(index);
  clock_->await_sleeper(clock_->now() + seconds(1));
  EXPECT_EQ(outlet_->counts().messages, 0u);
  clock_->advance(seconds(1));
  await_records("gate", 30);
  EXPECT_EQ(outlet_->counts().messages, 1u);
  const auto found = records("gate");
  expect_once(found);
  EXPECT_EQ(found.front().place, found.back().place) << "they are in one message";
}

TEST_F(RecordOutletTest, SendsABatchThatIsLargeWithoutWaiting) {
  begin(60);
  for (std::int64_t index = 0; index < 9; ++index) add(index);
  EXPECT_EQ(outlet_->counts().messages, 2u);  // four records of 17 bytes, with commas, are 71
  EXPECT_TRUE(outlet_->end(*lane_, seconds(30)));
  EXPECT_EQ(outlet_->counts().messages, 3u) << "the end sends the rest";
  const auto found = records("gate");
  EXPECT_EQ(found.size(), 9u);
  expect_once(found);
}

TEST_F(RecordOutletTest, DoesNotSendWhatTheBrokerHas) {
  deliver_without_answers();
  const std::uint64_t before = messages();
  RecordOutlet next(client_, {.worker = "x", .spool = {.folder = folder_ / "spool"}});
  EXPECT_TRUE(next.drain(seconds(30), {}));
  EXPECT_EQ(messages(), before);
  EXPECT_EQ(next.counts().published.delivered, 3u);
}

TEST_F(RecordOutletTest, SetsNothingAsideThatTheBrokerHasOfAnEarlierOwner) {
  deliver_without_answers();
  const std::string subject = impl().site.subject(Site::Kind::record, {"gate"});
  impl().jet_stream.store(subject, begin_message({"gate", 2}, "y", {}));
  impl().jet_stream.store(impl().site.subject(Site::Kind::record, {"door"}),
                          begin_message({"door", 1}, "y", {}));
  impl().jet_stream.store(subject, begin_message({"gate", 3}, "z", {}));
  RecordOutlet next(client_, {.worker = "x", .spool = {.folder = folder_ / "spool"}});
  EXPECT_TRUE(next.drain(seconds(30), {}));
  EXPECT_EQ(next.counts().published.delivered, 3u);
  EXPECT_EQ(next.counts().published.refused, 0u);
}

TEST_F(RecordOutletTest, SetsAsideWhatComesAfterTheBeginOfAnotherWorkerInTheSameEpoch) {
  begin(10);
  add(0);
  await_records("gate", 1);
  impl().jet_stream.store(impl().site.subject(Site::Kind::record, {"gate"}),
                          begin_message(epoch_, "y", {.frame_index = 1}));
  add(1);
  EXPECT_TRUE(outlet_->end(*lane_, seconds(30)));
  EXPECT_TRUE(outlet_->is_superseded(*lane_));
  await("the count", [&] { return outlet_->counts().published.refused == 1; });
  EXPECT_EQ(records("gate").size(), 1u);
}

TEST_F(RecordOutletTest, SendsAgainWhatTheBrokerHasLost) {
  begin(10);
  for (std::int64_t index = 0; index < 4; ++index) add(index);
  await_records("gate", 4);
  const std::string stream = impl().site.stream(Site::Kind::record);
  const auto stored = impl().jet_stream.all(stream, {});
  ASSERT_EQ(stored.size(), 5u);
  for (const StoredMessage& message : stored) impl().jet_stream.erase(stream, message.sequence);
  for (std::size_t kept = 0; kept < 3; ++kept)
    impl().jet_stream.store(stored[kept].subject, stored[kept].body);
  EXPECT_EQ(records("gate").size(), 2u);
  add(4);
  EXPECT_TRUE(outlet_->end(*lane_, seconds(30)));
  const auto found = records("gate");
  EXPECT_EQ(found.size(), 5u);
  expect_once(found);
  EXPECT_EQ(outlet_->counts().published.refused, 0u);
}

TEST_F(RecordOutletTest, SetsAsideWhatTheBrokerHasLostBeforeAnotherOwnerBegan) {
  begin(10);
  for (std::int64_t index = 0; index < 4; ++index) add(index);
  await_records("gate", 4);
  await("the count", [&] { return outlet_->counts().published.delivered == 4; });
  const std::string stream = impl().site.stream(Site::Kind::record);
  const auto stored = impl().jet_stream.all(stream, {});
  ASSERT_EQ(stored.size(), 5u);
  for (std::size_t lost = 3; lost < 5; ++lost)
    impl().jet_stream.erase(stream, stored[lost].sequence);
  impl().jet_stream.store(impl().site.subject(Site::Kind::record, {"gate"}),
                          begin_message({"gate", epoch_.epoch + 1}, "y", {.frame_index = 2}));
  add(4);
  EXPECT_TRUE(outlet_->end(*lane_, seconds(30)));
  await("the count", [&] { return outlet_->counts().published.refused == 3; });
  EXPECT_EQ(outlet_->counts().published.delivered, 2u);
  EXPECT_EQ(records("gate").size(), 2u);
  std::ifstream aside(folder_ / "spool/refused.jsonl");
  std::vector<std::int64_t> next;
  for (std::string line; std::getline(aside, line);)
    next.push_back(nlohmann::json::parse(line).at("record").at("next_frame_index"));
  EXPECT_THAT(next, testing::ElementsAre(3, 4, 5));
}

TEST_F(RecordOutletTest, SetsAsideWhatWouldNotComeBehindTheBeginOfItsOwner) {
  begin(10);
  add(0);
  await_records("gate", 1);
  // A cluster of servers may lose what it has acknowledged.
  const std::string stream = impl().site.stream(Site::Kind::record);
  for (const StoredMessage& message : impl().jet_stream.all(stream, {}))
    impl().jet_stream.erase(stream, message.sequence);
  impl().jet_stream.store(impl().site.subject(Site::Kind::record, {"gate"}),
                          begin_message({"gate", 0}, "y", {.frame_index = 3}));
  add(1);
  EXPECT_TRUE(outlet_->end(*lane_, seconds(30)));
  EXPECT_TRUE(outlet_->is_superseded(*lane_));
  EXPECT_EQ(records("gate").size(), 0u);
  await("the count", [&] { return outlet_->counts().published.refused == 2; });
}

}  // namespace
}  // namespace vcap::test
