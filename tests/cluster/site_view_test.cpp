// SPDX-License-Identifier: Apache-2.0
#include "cluster/site_view.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <string>

#include "support/throws_error.hpp"

namespace vcap::test {
namespace {

using std::chrono::seconds;
using testing::_;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr Clock::time_point kStart{seconds(1'000)};

StreamMessage stream_message() {
  return {.source = "rtsp://camera",
          .capsules = {{.name = "people",
                        .object = {"capsule/x", 1, std::string(64, 'a')},
                        .config = nlohmann::json::object(),
                        .options = nlohmann::json::object(),
                        .stream_config = nlohmann::json::object()}},
          .load = 0.5,
          .silence_limit = std::chrono::milliseconds(5'000),
          .max_pixels = 100};
}

class SiteViewTest : public testing::Test {
 protected:
  bool beat(const std::string& name, const std::string& session, Clock::time_point now,
            bool has_ended = false) {
    return view_.apply(
        Site::Kind::worker, name, ++sequence_,
        to_message(WorkerMessage{
            .session = session, .has_ended = has_ended, .lease = seconds(4), .capacity = 2}),
        now);
  }
  bool own(const std::string& stream, const std::string& worker, const std::string& session,
           OwnerMessage::State state = OwnerMessage::State::running) {
    return view_.apply(Site::Kind::owner, stream, ++sequence_,
                       to_message(OwnerMessage{.state = state,
                                               .worker = worker,
                                               .session = session,
                                               .epoch = ++epoch_,
                                               .stream = stream_sequence_}),
                       kStart);
  }
  void add(const std::string& stream) {
    stream_sequence_ = ++sequence_;
    view_.apply(Site::Kind::stream, stream, sequence_, to_message(stream_message()), kStart);
  }

  SiteView view_;
  std::uint64_t sequence_ = 0;
  std::uint64_t stream_sequence_ = 0;
  std::uint64_t epoch_ = 0;
};

TEST_F(SiteViewTest, AWorkerDiesIfItIsSilentForItsLease) {
  EXPECT_TRUE(beat("x", "1", kStart));
  EXPECT_TRUE(view_.is_alive("x", "1", kStart + seconds(3)));
  EXPECT_EQ(view_.first_end(kStart), kStart + seconds(4));
  EXPECT_FALSE(view_.is_alive("x", "1", kStart + seconds(4)));
  EXPECT_EQ(view_.first_end(kStart + seconds(4)), Clock::time_point::max());
  EXPECT_TRUE(beat("x", "1", kStart + seconds(5))) << "it lives again, which is news";
  EXPECT_FALSE(beat("x", "1", kStart + seconds(6))) << "nothing has changed";
}

TEST_F(SiteViewTest, ANewProcessWithAWorkersNameEndsTheOwnershipOfTheOldOne) {
  add("gate");
  beat("x", "1", kStart);
  own("gate", "x", "1");
  EXPECT_EQ(view_.living_owner("gate", kStart), "x");
  beat("x", "2", kStart);
  EXPECT_EQ(view_.living_owner("gate", kStart), "");
  EXPECT_THAT(view_.placement(kStart).workers, ElementsAre(Pair("gate", "x")));
}

TEST_F(SiteViewTest, AWorkerThatHasSaidThatItEndsIsDeadAtOnce) {
  beat("x", "1", kStart);
  beat("x", "1", kStart, true);
  EXPECT_FALSE(view_.is_alive("x", "1", kStart));
}

TEST_F(SiteViewTest, LeasesBeginAgainAfterATimeInWhichNobodyCouldBeHeard) {
  beat("x", "1", kStart);
  beat("y", "2", kStart);
  view_.restart_leases(kStart + seconds(100));
  EXPECT_TRUE(view_.is_alive("x", "1", kStart + seconds(103)));
  view_.restart_lease("y", kStart + seconds(103));
  EXPECT_FALSE(view_.is_alive("x", "1", kStart + seconds(104)));
  EXPECT_TRUE(view_.is_alive("y", "2", kStart + seconds(104)));
}

TEST_F(SiteViewTest, IgnoresMessagesThatAreOlderThanTheKnownOnes) {
  add("gate");
  const std::uint64_t first = sequence_;
  own("gate", "x", "1");
  EXPECT_FALSE(view_.apply(Site::Kind::owner, "gate", first, "not even JSON", kStart));
  EXPECT_EQ(view_.owner("gate")->message.worker, "x");
}

TEST_F(SiteViewTest, ACheckpointChangesNoPlacement) {
  OwnerMessage owner{.state = OwnerMessage::State::running,
                     .worker = "x",
                     .session = "1",
                     .epoch = 1,
                     .load = 0.5};
  const auto apply = [&] {
    return view_.apply(Site::Kind::owner, "gate", ++sequence_, to_message(owner), kStart);
  };
  EXPECT_TRUE(apply());
  owner.checkpoint = OwnerMessage::Checkpoint{{"state/gate/1-7", 1, std::string(64, 'a')}, 7};
  EXPECT_FALSE(apply());
  EXPECT_EQ(view_.owner("gate")->message.checkpoint->frame_index, 7);
  owner.load = 0.75;
  EXPECT_TRUE(apply());
  owner.epoch = 2;
  EXPECT_TRUE(apply());
}

TEST_F(SiteViewTest, RefusesMessagesThatAreNotValid) {
  for (const Site::Kind kind :
       {Site::Kind::stream, Site::Kind::owner, Site::Kind::worker, Site::Kind::order})
    for (const char* const body :
         {"", "{", "[]", R"({"schema":"vcap.stream/2"})", R"({"schema":"vcap.owner/1"})",
          R"({"schema":"vcap.worker/1","session":7})", R"({"schema":"vcap.order/1"})",
          R"({"schema":"vcap.stream/1","removed":"no"})"})
      EXPECT_THAT([&] { view_.apply(kind, "gate", ++sequence_, body, kStart); },
                  ThrowsError<ClusterError>(ErrorCode::invalid_message, _))
          << body;
  EXPECT_THAT(view_.streams(), IsEmpty());
}

TEST_F(SiteViewTest, PlacesNoStreamThatHasEndedUntilItIsAddedAgain) {
  beat("x", "1", kStart);
  add("gate");
  own("gate", "x", "1", OwnerMessage::State::ended);
  EXPECT_THAT(view_.placement(kStart).workers, IsEmpty());
  add("gate");
  EXPECT_THAT(view_.placement(kStart).workers, ElementsAre(Pair("gate", "x")));
}

TEST_F(SiteViewTest, LeavesAStreamInQuarantineAloneForFiveMinutes) {
  beat("x", "1", kStart);
  add("gate");
  own("gate", "x", "1", OwnerMessage::State::quarantined);
  EXPECT_THAT(view_.placement(kStart).workers, IsEmpty());
  EXPECT_THAT(view_.placement(kStart).reasons, ElementsAre(Pair("gate", _)));
  const Clock::time_point later = kStart + std::chrono::minutes(5);
  beat("x", "1", later);
  EXPECT_THAT(view_.placement(later).workers, ElementsAre(Pair("gate", "x")));
}

TEST_F(SiteViewTest, KeepsWhatIsNewerThanTheReading) {
  add("gate");
  const std::uint64_t read = sequence_;
  add("door");
  view_.keep(Site::Kind::stream, {}, read);
  EXPECT_THAT(view_.streams(), ElementsAre(Pair("door", _)));
}

TEST(ClusterMessages, OfStreamsOwnersAndWorkersAreReadAsTheyWereWritten) {
  const StreamMessage stream = read_stream_message(to_message(stream_message()));
  EXPECT_EQ(stream.source, "rtsp://camera");
  EXPECT_EQ(stream.capsules, stream_message().capsules);
  const OwnerMessage owner = read_owner_message(
      to_message(OwnerMessage{.state = OwnerMessage::State::ended,
                              .worker = "x",
                              .session = "s",
                              .epoch = 3,
                              .stream = 9,
                              .load = 0.25,
                              .checkpoint = {{{"state/a", 4, std::string(64, 'b')}, 77}},
                              .reason = "over"}));
  EXPECT_EQ(owner.state, OwnerMessage::State::ended);
  EXPECT_EQ(owner.epoch, 3u);
  EXPECT_EQ(owner.load, 0.25);
  EXPECT_EQ(owner.checkpoint->frame_index, 77);
  const WorkerMessage worker =
      read_worker_message(to_message(WorkerMessage{.session = "s",
                                                   .lease = seconds(4),
                                                   .capacity = 8,
                                                   .labels = {"gpu"},
                                                   .unfit = {{"a", "b"}},
                                                   .view = "http://one:9465/"}));
  EXPECT_THAT(worker.labels, ElementsAre("gpu"));
  EXPECT_THAT(worker.unfit, ElementsAre(Pair("a", "b")));
  EXPECT_EQ(worker.view, "http://one:9465/");
  EXPECT_TRUE(read_order_message(to_message(OrderMessage{.drain = true})).drain);
}

TEST(ClusterMessages, OfAWorkerNeedNoView) {
  nlohmann::json message = nlohmann::json::parse(to_message(WorkerMessage{.lease = seconds(1)}));
  EXPECT_FALSE(message.contains("view")) << "as versions before have it";
  message["view"] = {{"of a later", "version"}};
  EXPECT_EQ(read_worker_message(message.dump()).view, "");
}

TEST(ClusterMessages, ThatCannotBeAreRefused) {
  const auto broken = [](auto read, std::string message, const std::string& from,
                         const std::string& to) {
    const std::size_t at = message.find(from);
    ASSERT_NE(at, message.npos) << from;
    message.replace(at, from.size(), to);
    EXPECT_THAT([&] { read(message); },
                ThrowsError<ClusterError>(ErrorCode::invalid_message, HasSubstr("vcap.")))
        << message;
  };
  const std::string stream = to_message(stream_message());
  broken(read_stream_message, stream, "\"load\":0.5", "\"load\":-1");
  broken(read_stream_message, stream, "\"keep_every\":1", "\"keep_every\":0");
  broken(read_stream_message, stream, "\"options\":{}", "\"options\":[]");
  broken(read_stream_message, stream, "\"max_pixels\":100", "\"max_pixels\":\"many\"");
  const std::string owner = to_message(OwnerMessage{});
  broken(read_owner_message, owner, "released", "sold");
  broken(read_owner_message, owner, "\"epoch\":0", "\"epoch\":null");
  const std::string worker = to_message(WorkerMessage{.lease = seconds(1)});
  broken(read_worker_message, worker, "\"lease_ns\":1000000000", "\"lease_ns\":0");
  broken(read_worker_message, worker, "\"capacity\":0.0", "\"capacity\":-2");
}

}  // namespace
}  // namespace vcap::test
