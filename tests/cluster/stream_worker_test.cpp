// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <fstream>

#include "cluster/link.hpp"
#include "cluster/site_of_workers.hpp"
#include "support/throws_error.hpp"

namespace vcap::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::IsEmpty;

using StreamWorkerTest = SiteOfWorkers;

std::vector<std::string> events_of(const std::shared_ptr<Cluster>& cluster) {
  ClusterEventReader reader(cluster);
  std::vector<std::string> names;
  while (reader.has_more())
    for (const ClusterEvent& event : reader.next(std::chrono::milliseconds(50)))
      names.push_back(event.event);
  return names;
}

TEST_F(StreamWorkerTest, RunsAStreamAndGivesItsRecordsInOrder) {
  add("gate");
  const auto worker = start({.name = "x"});
  await_owner("gate", "x");
  await_records("gate", 20);
  expect_once(records("gate"));
  const ClusterStreamStatus gate = status("gate");
  EXPECT_EQ(gate.state, ClusterStreamStatus::State::running);
  EXPECT_EQ(gate.epoch, 1);
  EXPECT_EQ(gate.source, "rtsp://user:***@camera/gate");
  worker->end();
  EXPECT_THAT(events_of(client_), ElementsAre("stream claimed", "stream begun", "stream released"));
  EXPECT_EQ(status("gate").state, ClusterStreamStatus::State::waiting);
  EXPECT_EQ(status("gate").reason, "there is no worker");
}

TEST_F(StreamWorkerTest, EndsWithoutLosingARecordOfTheLastBatch) {
  add("gate");
  const auto worker = start({.name = "x"});
  await_records("gate", 1);
  worker->end();
  const auto all = records("gate");
  expect_once(all);
  // The state of the capsule is that of the last record, and so its count is that of the next.
  const auto next = start({.name = "y"});
  await_records("gate", all.size() + 5);
  const auto more = records("gate");
  expect_once(more);
  EXPECT_EQ(count_in(more[all.size()]), count_in(all.back()) + 1);
}

TEST_F(StreamWorkerTest, SharesStreamsByLoadAndGivesThemAwayWhenDrained) {
  for (int i = 0; i < 6; ++i) add("camera" + std::to_string(i));
  const auto one = start({.name = "x", .capacity = 1});
  await("all streams on one worker", [&] { return one->streams() == 6; });
  const auto two = start({.name = "y", .capacity = 1});
  drain_cluster_worker(*client_, "x");
  await("all streams on the other", [&] { return one->streams() == 0 && two->streams() == 6; });
  EXPECT_EQ(cluster_workers(*client_)[0].state, ClusterWorkerStatus::State::drained);
  drain_cluster_worker(*client_, "x", false);
  await("one stream to move back", [&] { return one->streams() >= 1; });
  for (int i = 0; i < 6; ++i) expect_once(records("camera" + std::to_string(i)));
  EXPECT_THAT([&] { drain_cluster_worker(*client_, "nobody"); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("nobody")));
}

TEST_F(StreamWorkerTest, RunsAStreamOnlyOnAWorkerWithItsLabels) {
  add("gate", {"hall"});
  const auto one = start({.name = "x"});
  await("the reason", [&] { return status("gate").reason == "no worker has its labels"; });
  const auto two = start({.name = "y", .labels = {"hall"}});
  await_owner("gate", "y");
}

TEST_F(StreamWorkerTest, EndsAStreamThatIsRemovedAndForgetsIt) {
  add("gate");
  const auto worker = start({.name = "x"});
  await_records("gate", 3);
  remove_cluster_stream(*client_, "gate");
  await("the end of the stream", [&] { return status("gate").reason == "no such stream"; });
  await("the worker", [&] { return worker->streams() == 0; });
  const std::size_t before = records("gate").size();
  expect_once(records("gate"));
  EXPECT_THAT([&] { remove_cluster_stream(*client_, "gate"); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("gate")));
  add("gate");  // again
  await_records("gate", before + 10);
  expect_once(records("gate"));
}

TEST_F(StreamWorkerTest, RunsAStreamAnewIfItHasChanged) {
  add("gate");
  const auto worker = start({.name = "x"});
  await_records("gate", 3);
  add("gate", {}, 0.2);
  await("the next epoch", [&] { return status("gate").epoch == 2; });
  await_records("gate", 30);
  expect_once(records("gate"));
}

TEST_F(StreamWorkerTest, AStreamWhoseSourceEndsIsNotRunAgainUntilItIsAddedAgain) {
  add("gate");
  const auto worker =
      start({.name = "x", .make_body = [](const std::string& id, const StreamMessage&) {
               return std::make_unique<CountingBody>(id, 3);
             }});
  await("the end", [&] { return status("gate").state == ClusterStreamStatus::State::ended; });
  EXPECT_EQ(status("gate").epoch, 1);
  EXPECT_EQ(records("gate").size(), 3u);
  add("gate");
  await("a second run", [&] { return records("gate").size() == 6; });
  expect_once(records("gate"));
}

TEST_F(StreamWorkerTest, AStreamThatFailsOnOneWorkerRunsOnAnother) {
  add("gate");
  const auto bad = start(
      {.name = "bad",
       .capacity = 100,
       .make_body = [](const std::string&, const StreamMessage&) -> std::unique_ptr<StreamBody> {
         throw SourceError(ErrorCode::source_open, "no route to the camera");
       }});
  await("the reason", [&] {
    return status("gate").reason == "no worker can run it; bad: no route to the camera";
  });
  const auto good = start({.name = "good"});
  await_owner("gate", "good");
  EXPECT_THAT(cluster_workers(*client_)[0].unfit, Contains(testing::Key("gate")));
}

TEST_F(StreamWorkerTest, TakesOverFromAWorkerThatIsCutOffAndSetsItsLaterRecordsAside) {
  Link link(server_.port());
  const TemporaryFolder folder;
  add("gate");
  const auto cut = start({.name = "x", .url = link.url(), .folder = folder.path()});
  await_records("gate", 5);
  const auto other = start({.name = "y"});
  link.cut();
  await_owner("gate", "y");
  EXPECT_EQ(cut->streams(), 1u) << "it cannot know, and goes on";
  EXPECT_EQ(cut->site_streams()[0].state, "unknown");
  await("records of the second owner", [&] { return records("gate").back().epoch == 2; });
  link.mend();
  await("the first owner to stop", [&] { return cut->streams() == 0; });
  await_records("gate", records("gate").size() + 10);
  expect_once(records("gate"));
  const auto events = events_of(client_);
  EXPECT_THAT(events, Contains("stream taken over"));
  EXPECT_THAT(events, Contains("stream lost"));
  await("the count", [&] {
    return cluster_workers(*client_)[0].statistics["record_messages_set_aside"].get<int>() > 0;
  });
  std::ifstream aside(folder / "spool/refused.jsonl");
  std::string line;
  ASSERT_TRUE(std::getline(aside, line));
  EXPECT_THAT(line, HasSubstr("another owner since, worker y (epoch 2; this is epoch 1)"));
  EXPECT_EQ(cluster_workers(*client_)[0].statistics["losses"], 1);
}

TEST_F(StreamWorkerTest, GivesAStreamUpIfTheBrokerHasTakenTheSameClaimOfAnother) {
  add("gate");
  const auto worker = start({.name = "x"});
  await_records("gate", 5);
  const std::string subject = impl().site.subject(Site::Kind::owner, {"gate"});
  OwnerMessage other = read_owner_message(
      impl().jet_stream.last(impl().site.stream(Site::Kind::owner), subject)->body);
  other.worker = "y";
  other.session = "that of y";
  impl().jet_stream.store(subject, to_message(other));
  await("the next epoch",
        [&] { return status("gate").worker == "x" && status("gate").epoch == 2; });
  await("the count", [&] { return cluster_workers(*client_)[0].statistics["losses"] == 1; });
  await_records("gate", records("gate").size() + 5);
  expect_once(records("gate"));
}

TEST_F(StreamWorkerTest, GoesOnWithoutTheBrokerAndSendsItsRecordsLater) {
  add("gate");
  const auto one = start({.name = "x"});
  const auto two = start({.name = "y"});
  await_records("gate", 5);
  const ClusterStreamStatus before = status("gate");
  for (const bool is_killed : {true, false}) {
    is_killed ? server_.kill() : server_.hang();
    std::this_thread::sleep_for(TestWorker::kLease * 2);
    EXPECT_EQ(one->streams() + two->streams(), 1u);
    is_killed ? server_.start() : server_.resume();
    await("the broker", [&] {
      try {
        return status("gate").state == ClusterStreamStatus::State::running;
      } catch (const ClusterError&) {
        return false;
      }
    });
    await_records("gate", records("gate").size() + 200);
  }
  EXPECT_EQ(status("gate").epoch, before.epoch) << "nobody took it over, because nobody could";
  EXPECT_EQ(status("gate").worker, before.worker);
  expect_once(records("gate"));
}

TEST_F(StreamWorkerTest, SendsWhatAnEarlierProcessLeftBeforeItClaimsStreams) {
  Link link(server_.port());
  const TemporaryFolder folder;
  add("gate");
  std::size_t sent = 0;
  {
    const auto first = start({.name = "x", .url = link.url(), .folder = folder.path()});
    await_records("gate", 5);
    link.stop();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    sent = records("gate").size();
    link.cut();
    first->end();
  }
  link.mend();
  const auto second = start({.name = "x", .url = link.url(), .folder = folder.path()});
  await("the next epoch", [&] { return status("gate").epoch == 2; });
  await_records("gate", sent + 100);
  const auto all = records("gate");
  expect_once(all);
  EXPECT_GT(std::ranges::count(all, 1u, &ClusterRecord::epoch), static_cast<long>(sent));
}

TEST_F(StreamWorkerTest, SetsAStreamAsideWhoseOwnersDieOneAfterTheOther) {
  const auto owner_died = [&](const std::string& id, int deaths) {
    const auto stream = impl().jet_stream.last(impl().site.stream(Site::Kind::stream),
                                               impl().site.subject(Site::Kind::stream, {id}));
    impl().jet_stream.store(impl().site.subject(Site::Kind::owner, {id}),
                            to_message(OwnerMessage{.state = OwnerMessage::State::running,
                                                    .worker = "ghost",
                                                    .session = "s",
                                                    .epoch = 5,
                                                    .stream = stream->sequence,
                                                    .deaths = deaths}));
  };
  for (const char* const id : {"gate", "door", "hall"}) add(id);
  owner_died("gate", 2);
  owner_died("door", 1);
  owner_died("hall", 0);
  const auto worker = start({.name = "x"});
  await_owner("hall", "x");
  await_owner("door", "x");
  await("the reason", [&] { return status("gate").reason.find("ghost") != std::string::npos; });
  EXPECT_EQ(status("gate").state, ClusterStreamStatus::State::waiting);
  EXPECT_THAT(status("gate").reason, HasSubstr("3 workers in a row have died"));
  EXPECT_THAT(events_of(client_), Contains("stream set aside"));
  const auto deaths = [&](const std::string& id) {
    const auto owner = impl().jet_stream.last(impl().site.stream(Site::Kind::owner),
                                              impl().site.subject(Site::Kind::owner, {id}));
    return read_owner_message(owner->body).deaths;
  };
  await("what runs well to be trusted again",
        [&] { return deaths("door") == 0 && deaths("hall") == 0; });
  add("gate");  // cured
  await_owner("gate", "x");
}

TEST_F(StreamWorkerTest, DoesNotTakeTheNameOfAWorkerThatLives) {
  add("gate");
  const auto first = start({.name = "x"});
  await_owner("gate", "x");
  const auto second = start({.name = "x"});
  await("the end of the second", [&] { return second->has_ended(); });
  EXPECT_THAT(second->failure(), HasSubstr("another process works under the name \"x\""));
  EXPECT_FALSE(first->has_ended());
  EXPECT_EQ(status("gate").epoch, 1);
  first->end();
  const auto third = start({.name = "x"});
  await_owner("gate", "x");
  EXPECT_EQ(third->failure(), "");
}

TEST_F(StreamWorkerTest, EndsIfAnotherProcessHasTakenItsName) {
  Link link(server_.port());
  add("gate");
  const auto first = start({.name = "x", .url = link.url()});
  await_owner("gate", "x");
  link.cut();
  const auto second = start({.name = "x"});  // it is silent for its lease
  await("the second to run the stream", [&] { return second->streams() == 1; });
  link.mend();
  await("the end of the first", [&] { return first->has_ended(); });
  EXPECT_THAT(first->failure(), HasSubstr("another process works under the name \"x\""));
  await_records("gate", records("gate").size() + 20);
  expect_once(records("gate"));
}

TEST_F(StreamWorkerTest, MakesTheSiteAgainIfTheBrokerHasLostIt) {
  add("gate");
  const auto worker = start({.name = "x"});
  await_owner("gate", "x");
  for (const Site::Kind kind : {Site::Kind::worker, Site::Kind::owner, Site::Kind::stream,
                                Site::Kind::order, Site::Kind::record, Site::Kind::event})
    impl().jet_stream.demand("STREAM.DELETE." + impl().site.stream(kind), nullptr);
  await("the site", [&] {
    try {
      add("gate");
      status("gate");  // all of it
      return true;
    } catch (const ClusterError&) {
      return false;
    }
  });
  await_owner("gate", "x");
}

TEST_F(StreamWorkerTest, IgnoresAndCountsMessagesThatAreNotValid) {
  add("gate");
  const auto worker = start({.name = "x"});
  await_owner("gate", "x");
  impl().jet_stream.store(impl().site.subject(Site::Kind::stream, {"bad"}), "{");
  impl().jet_stream.store(impl().site.subject(Site::Kind::worker, {"bad"}),
                          std::string(1'000, '['));
  impl().jet_stream.store(impl().site.subject(Site::Kind::owner, {"bad"}),
                          R"({"schema":"vcap.owner/9"})");
  await("the count", [&] {
    for (const ClusterWorkerStatus& one : cluster_workers(*client_))
      if (one.name == "x") return one.statistics["invalid_messages"].get<int>() >= 3;
    return false;
  });
  impl().jet_stream.store(impl().site.subject(Site::Kind::stream, {"\xff"}),
                          to_message(StreamMessage{}));
  impl().jet_stream.store(impl().site.subject(Site::Kind::owner, {"door"}), "nobody");
  add("door");
  await_owner("door", "x");
  EXPECT_EQ(status("bad").state, ClusterStreamStatus::State::invalid);
  remove_cluster_stream(*client_, "bad");
  EXPECT_EQ(status("gate").worker, "x");
  const std::size_t before = records("gate").size();
  impl().jet_stream.store(impl().site.subject(Site::Kind::record, {"gate"}), "no records");
  await_records("gate", before + 100);
}

TEST_F(StreamWorkerTest, ForgetsOnlyWorkersThatHaveEnded) {
  const auto worker = start({.name = "x"});
  await("the worker", [&] { return cluster_workers(*client_).size() == 1; });
  EXPECT_THAT([&] { forget_cluster_worker(*client_, "x"); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("alive")));
  worker->end();
  EXPECT_EQ(cluster_workers(*client_)[0].state, ClusterWorkerStatus::State::ended);
  forget_cluster_worker(*client_, "x");
  EXPECT_THAT(cluster_workers(*client_), IsEmpty());
}

}  // namespace
}  // namespace vcap::test
