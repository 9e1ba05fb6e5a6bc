// SPDX-License-Identifier: Apache-2.0
#include "cluster/record_follower.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cluster/cluster_impl.hpp"
#include "cluster/nats_server.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

/// The messages of a stream's owner, with one frame each.
class Owner {
 public:
  explicit Owner(std::uint64_t epoch, std::int64_t first = 0)
      : epoch_(epoch), frame_(first), batch_({"gate", epoch}, worker()) {}

  std::string begin() const {
    return begin_message({"gate", epoch_}, worker(), {.frame_index = frame_});
  }
  std::string next() {
    batch_.add(nlohmann::json{{"frame_index", frame_}}.dump(), frame_, milliseconds(frame_));
    ++frame_;
    nlohmann::json message = nlohmann::json::parse(batch_.take());
    // Others of the same worker are between them.
    message["message"] = {{"spool", "spool of " + worker()}, {"sequence", sequence_ += 3}};
    return message.dump();
  }

 private:
  std::string worker() const { return "worker" + std::to_string(epoch_); }

  const std::uint64_t epoch_;
  std::int64_t frame_;
  std::uint64_t sequence_ = 0;
  RecordBatch batch_;
};

class RecordFollowerTest : public testing::Test {
 protected:
  using Messages = std::vector<StoredMessage>;

  RecordFollowerTest() { follower_.doubt_first_messages(); }

  std::string subject(const std::string& id = "gate") const {
    return site_.subject(Site::Kind::record, {id});
  }
  StoredMessage store(const std::string& body, const std::string& id = "gate") {
    const std::uint64_t sequence = jet_stream_.store(subject(id), body).value();
    return jet_stream_.next(stream_, subject(id), sequence).value();
  }
  /// An owner's begin, and so many frames.
  Messages store(Owner& owner, int frames) {
    Messages messages{store(owner.begin())};
    for (int i = 0; i < frames; ++i) messages.push_back(store(owner.next()));
    return messages;
  }
  /// What comes of these, as EPOCH/FRAME.
  std::vector<std::string> take(const Messages& messages) {
    for (const StoredMessage& message : messages) follower_.take(message, now_);
    return frames();
  }
  std::vector<std::string> look() {
    follower_.look_at_quiet_streams(now_);
    return frames();
  }
  std::vector<std::string> frames() {
    std::vector<std::string> frames;
    for (const ClusterRecord& record : follower_.records())
      frames.push_back(std::to_string(record.epoch) + '/' +
                       nlohmann::json::parse(record.line).at("frame_index").dump());
    return frames;
  }

  NatsServer server_;
  const std::shared_ptr<Cluster> cluster_ = Cluster::connect([this] {
    ClusterSettings settings = server_.settings();
    settings.timeout = settings.patience = milliseconds(500);
    return settings;
  }());
  JetStream& jet_stream_ = cluster_->impl().jet_stream;
  const Site& site_ = cluster_->impl().site;
  const std::string stream_ = site_.stream(Site::Kind::record);
  RecordFollower follower_{jet_stream_, site_, 0};
  RecordFollower::Time now_ = std::chrono::steady_clock::now();
};

TEST_F(RecordFollowerTest, TakesEachRecordOnce) {
  Owner first(1);
  Owner second(2, 2);
  Messages messages = store(first, 2);
  for (const StoredMessage& message : store(second, 2)) messages.push_back(message);
  EXPECT_THAT(take(messages), ElementsAre("1/0", "1/1", "2/2", "2/3"));
  EXPECT_THAT(take(messages), IsEmpty());
  EXPECT_EQ(follower_.overtaken(), 0u);
}

TEST_F(RecordFollowerTest, AsksForMessagesThatAreMissing) {
  Owner owner(1);
  const Messages messages = store(owner, 5);
  EXPECT_THAT(take({messages[0], messages[1]}), ElementsAre("1/0"));
  store("another stream's", "door");
  EXPECT_THAT(take({messages[4]}), ElementsAre("1/1", "1/2", "1/3"));
  EXPECT_THAT(take({messages[2], messages[5]}), ElementsAre("1/4"));
}

TEST_F(RecordFollowerTest, AsksForTheFirstMessages) {
  Owner owner(1);
  const Messages messages = store(owner, 3);
  EXPECT_THAT(take({messages[3]}), ElementsAre("1/0", "1/1", "1/2"));
}

TEST_F(RecordFollowerTest, DoesNotAskForTheFirstMessagesOfItsFirstConsumer) {
  Owner owner(1);
  const Messages messages = store(owner, 3);
  RecordFollower first(jet_stream_, site_, 0);
  server_.hang();
  first.take(messages[3], now_);
  EXPECT_EQ(first.records().size(), 1u);
  server_.resume();
}

TEST_F(RecordFollowerTest, DoesNotAskForMessagesBeforeItsBegin) {
  Owner owner(1);
  const Messages messages = store(owner, 3);
  RecordFollower later(jet_stream_, site_, messages[1].sequence);
  later.doubt_first_messages();
  later.take(messages[3], now_);
  EXPECT_EQ(later.records().size(), 2u);
}

TEST_F(RecordFollowerTest, AsksForTheLastMessagesOfAnOwnerWhenTheNextOneBegins) {
  Owner first(1);
  Owner second(2, 3);
  const Messages before = store(first, 3);
  const Messages after = store(second, 1);
  EXPECT_THAT(take({before[0], before[1]}), ElementsAre("1/0"));
  EXPECT_THAT(take({after[0]}), ElementsAre("1/1", "1/2"));
  EXPECT_THAT(take({after[1]}), ElementsAre("2/3"));
}

TEST_F(RecordFollowerTest, AsksForTheLastMessagesOfAnOwnerAlthoughTheBeginOfTheNextIsMissing) {
  Owner first(1);
  Owner second(2, 3);
  const Messages before = store(first, 3);
  const Messages after = store(second, 2);
  EXPECT_THAT(take({before[0], before[1]}), ElementsAre("1/0"));
  EXPECT_THAT(take({after[2]}), ElementsAre("1/1", "1/2", "2/3", "2/4"));
}

TEST_F(RecordFollowerTest, FindsWhatIsMissingIfServersHaveOtherSequences) {
  for (const int drift : {3, 40, -3}) {
    SCOPED_TRACE(drift);
    RecordFollower follower(jet_stream_, site_, jet_stream_.last_sequence(stream_));
    Owner owner(static_cast<std::uint64_t>(100 + drift));
    Messages messages = store(owner, 6);
    for (StoredMessage& message : messages) message.sequence += static_cast<std::uint64_t>(drift);
    for (const std::size_t i : {0u, 1u, 2u, 6u}) follower.take(messages[i], now_);
    EXPECT_EQ(follower.records().size(), 6u);
  }
}

TEST_F(RecordFollowerTest, GoesOnBehindMessagesThatTheBrokerHasTakenBack) {
  Owner first(1);
  const Messages before = store(first, 1);
  StoredMessage taken_back = before.back();
  taken_back.body = first.next();
  taken_back.sequence += 1;
  taken_back.time += milliseconds(1);
  EXPECT_THAT(take({before[0], before[1], taken_back}), ElementsAre("1/0", "1/1"));
  Owner second(2, 1);
  const Messages after = store(second, 3);
  EXPECT_THAT(take({after[3]}), ElementsAre("2/1", "2/2", "2/3"));
}

TEST_F(RecordFollowerTest, TakesAMessageThatTheLeaderDoesNotHave) {
  Owner owner(1);
  Messages messages = store(owner, 2);
  StoredMessage taken_back = messages.back();
  owner.next();  // is lost
  taken_back.body = owner.next();
  taken_back.sequence += 2;
  taken_back.time += milliseconds(1);
  messages.push_back(taken_back);
  EXPECT_THAT(take(messages), ElementsAre("1/0", "1/1", "1/3"));
}

TEST_F(RecordFollowerTest, GoesOnBehindMessagesThatTheirOwnerHasLost) {
  Owner owner(1);
  Messages messages = store(owner, 1);
  owner.next();
  messages.push_back(store(owner.next()));
  EXPECT_THAT(take(messages), ElementsAre("1/0", "1/2"));
}

TEST_F(RecordFollowerTest, TakesMessagesThatTheBrokerHasRemovedMeanwhile) {
  Owner owner(1);
  const Messages messages = store(owner, 5);
  jet_stream_.erase(stream_, messages[1].sequence);
  EXPECT_THAT(take({messages[1]}), ElementsAre("1/0"));
  for (const std::size_t i : {0u, 2u, 3u}) jet_stream_.erase(stream_, messages[i].sequence);
  EXPECT_THAT(take({messages[3]}), ElementsAre("1/2"));  // 1/1 is gone
  EXPECT_THAT(take({messages[4], messages[5]}), ElementsAre("1/3", "1/4"));
}

TEST_F(RecordFollowerTest, FindsAnOwnerThatIsMissingAsAWhole) {
  Owner first(1);
  Messages before = store(first, 1);
  before.push_back(before.back());  // is taken back
  before.back().body = first.next();
  before.back().sequence += 1;
  before.back().time += milliseconds(1);
  EXPECT_THAT(take(before), ElementsAre("1/0", "1/1"));
  Owner second(2, 1);
  store(second, 1);
  Owner third(3, 2);
  EXPECT_THAT(take(store(third, 1)), ElementsAre("2/1", "3/2"));
}

TEST_F(RecordFollowerTest, GivesPlacesAfterWhichNothingIsMissing) {
  Owner owner(1);
  const Messages messages = store(owner, 3);
  take({messages[0], messages[1]});
  now_ += RecordFollower::kQuietTime;
  follower_.look_at_quiet_streams(now_);
  const auto records = follower_.records();
  ASSERT_EQ(records.size(), 2u);
  for (const ClusterRecord& record : records) EXPECT_EQ(record.place, messages[1].sequence);
}

TEST_F(RecordFollowerTest, DoesNotAskWithoutNumbers) {
  Owner owner(1);
  Messages messages = store(owner, 3);
  for (const std::size_t i : {1u, 3u}) {
    nlohmann::json body = nlohmann::json::parse(messages[i].body);
    body.erase("number");  // as an earlier version
    messages[i].body = body.dump();
  }
  EXPECT_THAT(take({messages[0], messages[1], messages[3]}), ElementsAre("1/0", "1/2"));
}

TEST_F(RecordFollowerTest, AsksForTheLastMessagesOfAQuietStream) {
  Owner owner(1);
  const Messages messages = store(owner, 3);
  EXPECT_THAT(take({messages[0], messages[1]}), ElementsAre("1/0"));
  EXPECT_THAT(look(), IsEmpty());
  now_ += RecordFollower::kQuietTime;
  EXPECT_THAT(look(), ElementsAre("1/1", "1/2"));
  for (int i = 0; i < 2; ++i) {
    now_ += RecordFollower::kQuietTime;
    EXPECT_THAT(look(), IsEmpty());
  }
  const StoredMessage last = store(owner.next());
  now_ += RecordFollower::kQuietTime;
  EXPECT_THAT(look(), IsEmpty());  // it has been asked already
  EXPECT_THAT(take({last}), ElementsAre("1/3"));
}

TEST_F(RecordFollowerTest, GoesOnAfterAFailureOfTheBroker) {
  Owner owner(1);
  const Messages messages = store(owner, 4);
  EXPECT_THAT(take({messages[0], messages[1]}), ElementsAre("1/0"));
  server_.hang();
  EXPECT_THROW(follower_.take(messages[4], now_), ClusterError);
  server_.resume();
  EXPECT_THAT(take({messages[4]}), ElementsAre("1/1", "1/2", "1/3"));
}

TEST_F(RecordFollowerTest, LeavesOutWhatTheBrokerTakesFromAnOwnerThatWasReplaced) {
  Owner first(1);
  Owner second(2, 1);
  Messages messages = store(first, 1);
  messages.push_back(store(second.begin()));
  messages.push_back(store(first.next()));
  messages.push_back(store(second.next()));
  EXPECT_THAT(take(messages), ElementsAre("1/0", "2/1"));
  EXPECT_THAT(take(messages), IsEmpty());
  EXPECT_EQ(follower_.overtaken(), 1u);
}

TEST_F(RecordFollowerTest, BeginsAnewWithAStreamThatWasForgotten) {
  Owner before(7);
  const Messages old = store(before, 2);
  Owner after(1);
  const Messages fresh = store(after, 2);
  EXPECT_THAT(take(old), ElementsAre("7/0", "7/1"));
  EXPECT_THAT(take({fresh[2]}), ElementsAre("1/0", "1/1"));
  EXPECT_THAT(take({fresh[0], old[0], old[2]}), IsEmpty());
  EXPECT_THAT(take({store(after.next())}), ElementsAre("1/2"));
}

TEST_F(RecordFollowerTest, CountsMessagesThatAreNotValid) {
  Owner owner(1);
  Messages messages = store(owner, 1);
  messages.push_back(store("no JSON"));
  messages.push_back(store(owner.next()));
  EXPECT_THAT(take(messages), ElementsAre("1/0", "1/1"));
  EXPECT_EQ(follower_.refused(), 1u);
}

}  // namespace
}  // namespace vcap::test
