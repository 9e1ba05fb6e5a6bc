// SPDX-License-Identifier: Apache-2.0
#include "vcap/cluster/cluster_stream.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cluster/cluster_impl.hpp"
#include "cluster/jobs/site_fixture.hpp"
#include "cluster/object_store.hpp"
#include "cluster/stream_message.hpp"
#include "support/bounded_wait.hpp"
#include "support/http_get.hpp"
#include "support/loopback_port.hpp"
#include "support/paths.hpp"
#include "support/rtsp_server.hpp"
#include "support/view_client.hpp"
#include "vcap/cluster/cluster_records.hpp"
#include "vcap/cluster/site_status.hpp"

namespace vcap::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A camera by RTSP, and workers as processes.
class ClusterStreamTest : public SiteTest {
 protected:
  std::unique_ptr<Command> stream_worker(
      const std::string& name, const std::vector<std::string>& more = {},
      const std::string& program = test::built("src/cli/vcap")) const {
    std::vector<std::string> words{"--name",        name,  "--stream-lease",    "1",
                                   "--record-time", "0.1", "--checkpoint-time", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return worker(name == "one" ? 1 : 2, words, program);
  }
  Result add(const std::vector<std::string>& more = {}, const std::string& id = "gate") const {
    std::vector<std::string> words{"stream",   "add",         "--id",       id,
                                   "--source", camera_.url(), "--capsules", capsule("visits")};
    words.insert(words.end(), more.begin(), more.end());
    return vcap(on_cluster(words));
  }
  ClusterStreamStatus gate() const {
    for (const ClusterStreamStatus& stream : cluster_streams(*client_)) return stream;
    return {.reason = "no such stream"};
  }
  void await(const std::string& what, const std::function<bool()>& condition) const {
    yield_until(what, [&] {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return false;
    });
  }
  std::vector<ClusterRecord> records() const {
    std::vector<ClusterRecord> all;
    ClusterRecordReader reader(client_, {.stream = "gate", .after = 0});
    while (reader.has_more())
      for (ClusterRecord& record : reader.next(std::chrono::milliseconds(30)))
        all.push_back(std::move(record));
    return all;
  }
  void await_frames_of_epoch(std::uint64_t epoch) const {
    await("records of epoch " + std::to_string(epoch), [&] {
      const auto all = records();
      return std::ranges::count(all, epoch, &ClusterRecord::epoch) > 10;
    });
  }
  /// Frames and times rise, no frame comes twice; the first frame of an owner has `reconnect`.
  void expect_continued() const {
    std::int64_t index = -1;
    std::int64_t pts = -1;
    std::uint64_t epoch = 0;
    for (const ClusterRecord& record : records()) {
      const Json frame = Json::parse(record.line);
      EXPECT_GT(frame["frame_index"], index);
      EXPECT_GT(frame["pts_ns"], pts);
      if (record.epoch != epoch) {
        EXPECT_EQ(frame["discontinuity"], epoch == 0 ? "start" : "reconnect");
      }
      index = frame["frame_index"];
      pts = frame["pts_ns"];
      epoch = record.epoch;
    }
  }
  static std::int64_t frame_index(const ClusterRecord& record) {
    return Json::parse(record.line)["frame_index"];
  }
  static std::int64_t visits(const ClusterRecord& record) {
    return Json::parse(record.line)["objects"][0]["extra_data"]["frames"];
  }

  const RtspServer camera_;
  const std::shared_ptr<Cluster> client_ = Cluster::connect({.url = server_.url()});
};

TEST_F(ClusterStreamTest, ACameraGoesOnElsewhereWhenItsWorkerIsKilled) {
  const auto one = stream_worker("one");
  const Result added = add();
  ASSERT_EQ(added.exit_code, 0) << added;
  await("an owner", [&] { return gate().worker == "one"; });
  const auto two = stream_worker("two");
  await("the second worker", [&] { return cluster_workers(*client_).size() == 2; });
  std::optional<std::int64_t> saved;  // the last frame before a checkpoint
  await("a checkpoint", [&] {
    Cluster::Impl& impl = client_->impl();
    const auto owner = impl.jet_stream.last(impl.site.stream(Site::Kind::owner),
                                            impl.site.subject(Site::Kind::owner, {"gate"}));
    if (const auto checkpoint = read_owner_message(owner->body).checkpoint)
      saved = checkpoint->frame_index;
    return saved.has_value();
  });
  await("records after it", [&] {
    const auto all = records();  // none yet if the checkpoint came first
    return !all.empty() && frame_index(all.back()) > *saved + 5;
  });
  one->send(SIGKILL);
  await_frames_of_epoch(2);
  EXPECT_EQ(gate().worker, "two");
  expect_continued();
  // The capsule counts on, from its last checkpoint.
  const auto all = records();
  const auto first = std::ranges::find(all, 2u, &ClusterRecord::epoch);
  const auto before = std::ranges::find(all, *saved, frame_index);
  ASSERT_NE(before, all.end());
  EXPECT_GT(visits(*first), visits(*before));
  EXPECT_LE(visits(*first), visits(*std::prev(first)) + 1);
}

TEST_F(ClusterStreamTest, AWorkerThatWasSuspendedGivesUpWhatWasTakenOver) {
  const auto one = stream_worker("one");
  ASSERT_EQ(add().exit_code, 0);
  await_frames_of_epoch(1);
  const auto two = stream_worker("two");
  await("the second worker", [&] { return cluster_workers(*client_).size() == 2; });
  one->send(SIGSTOP);
  await_frames_of_epoch(2);
  one->send(SIGCONT);
  await("the first one to notice", [&] {
    const auto workers = cluster_workers(*client_);
    return workers[0].statistics["losses"] == 1 && workers[0].statistics["streams"] == 0;
  });
  EXPECT_EQ(gate().epoch, 2) << "it must not take it back";
  expect_continued();
}

TEST_F(ClusterStreamTest, ItsWorkerSendsACapsuleAgainThatTheSiteHasLost) {
  const auto one = stream_worker("one");
  ASSERT_EQ(add().exit_code, 0);
  await_frames_of_epoch(1);
  Cluster::Impl& impl = client_->impl();
  const std::string subject = impl.site.subject(Site::Kind::stream, {"gate"});
  const auto stream = impl.jet_stream.last(impl.site.stream(Site::Kind::stream), subject);
  const std::string capsule = read_stream_message(stream->body).capsules.front().object.name;
  const auto objects = make_broker_store(impl.jet_stream, impl.site);
  objects->erase(capsule);
  EXPECT_FALSE(objects->contains(capsule));
  impl.jet_stream.store(subject, stream->body);  // a change, so the stream begins anew
  await_frames_of_epoch(2);
  EXPECT_TRUE(objects->contains(capsule));
}

TEST_F(ClusterStreamTest, IsGivenAwayInASecondWhenItsWorkerIsToEnd) {
  const auto one = stream_worker("one", {}, old_command());
  ASSERT_EQ(add().exit_code, 0);
  await_frames_of_epoch(1);
  const auto two = stream_worker("two");
  await("the second worker", [&] { return cluster_workers(*client_).size() == 2; });
  one->send(SIGTERM);
  const Result ended = one->wait();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  await_frames_of_epoch(2);
  // Nothing is lost of what the first one has read, so the capsule has counted each frame.
  const auto all = records();
  const auto first = std::ranges::find(all, 2u, &ClusterRecord::epoch);
  EXPECT_EQ(visits(*first), visits(*std::prev(first)) + 1);
  expect_continued();
}

TEST_F(ClusterStreamTest, ItsWorkerEndsOnRequestAlsoIfTheBrokerHangs) {
  const auto one = stream_worker("one", {"--grace", "60"});
  ASSERT_EQ(add().exit_code, 0);
  await_frames_of_epoch(1);
  server_.hang();
  one->send(SIGTERM);
  const Result ended = one->wait();
  server_.resume();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_THAT(ended.err, HasSubstr("is not given back"));
}

TEST_F(ClusterStreamTest, GetsANewCapsuleOnTrialAndTheOldOneBackIfThatFails) {
  const auto one = stream_worker("one");
  ASSERT_EQ(add().exit_code, 0);
  await_frames_of_epoch(1);
  const auto roll_out = [&](const std::string& name) {
    return vcap(
        on_cluster({"stream", "rollout", "--capsule", capsule(name), "--trial-frames", "15"}));
  };
  const Result good = roll_out("visits_2");
  EXPECT_EQ(good.exit_code, 0) << good;
  EXPECT_THAT(good.out, HasSubstr("gate\nchanged  1\nleft     0"));
  const std::string second = gate().capsules.front();
  const Result bad = roll_out("visits_3");
  EXPECT_EQ(bad.exit_code, 1) << bad;
  EXPECT_THAT(bad.err, HasSubstr("because of stream gate"));
  EXPECT_THAT(bad.err, HasSubstr("the tenth frame"));
  await("the second version again",
        [&] { return gate().epoch == 4 && gate().capsules.front() == second; });
  await_frames_of_epoch(4);
  const auto all = records();
  EXPECT_GT(visits(all.back()), 30) << "its state went along all the time";
  EXPECT_EQ(roll_out("steady").exit_code, 2) << "no stream has it";
}

TEST_F(ClusterStreamTest, IsShownByTheCommandsOfAnOperator) {
  const std::uint16_t port = free_port();
  const auto one =
      stream_worker("one", {"--label", "hall", "--metrics", std::to_string(port), "--view", "0",
                            "--view-url", "https://proxy.example/one/"});
  ASSERT_EQ(add({"--label", "hall", "--option", "visits.exit_at=-2"}).exit_code, 0);
  await_frames_of_epoch(1);
  const Result again = add();
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("\"gate\": the site has such a stream"));
  const auto of_site = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--nats", server_.url()});
    return vcap(words);
  };
  const Result status = of_site({"cluster", "status"});
  EXPECT_THAT(status.out, HasSubstr("gate  running on one  epoch 1"));
  EXPECT_THAT(status.out, Not(HasSubstr("secret")));
  const Json json = Json::parse(of_site({"cluster", "status", "--json"}).out);
  EXPECT_EQ(json["streams"][0]["worker"], "one");
  EXPECT_EQ(json["workers"][0]["view"], "https://proxy.example/one/");
  EXPECT_EQ(json["workers"][0]["labels"],
            Json::parse(R"(["hall","host=)" + json["workers"][0]["host"].get<std::string>() +
                        R"(","one"])"));
  EXPECT_GT(json["totals"]["records"], 0);
  const std::string metrics = http_get(port, "/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("vcap_cluster_worker_up{worker=\"one\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("vcap_cluster_stream_running{stream=\"gate\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("vcap_cluster_records_total{worker=\"one\"}"));
  EXPECT_THAT(of_site({"cluster", "events"}).out, HasSubstr("stream claimed  by one"));
  EXPECT_EQ(of_site({"cluster", "drain", "one"}).exit_code, 0);
  await("the order",
        [&] { return cluster_workers(*client_)[0].state == ClusterWorkerStatus::State::draining; });
  EXPECT_EQ(of_site({"cluster", "drain", "nobody"}).exit_code, 2);
  EXPECT_EQ(of_site({"cluster", "undrain", "one"}).exit_code, 0);
  const Result lines = vcap(on_cluster({"stream", "records", "--id", "gate"}));
  EXPECT_EQ(lines.exit_code, 0) << lines.err;
  EXPECT_THAT(lines.out, HasSubstr(R"({"schema":"vcap.frame/1","stream_id":"gate")"));
  const Result unknown = vcap(on_cluster({"stream", "records", "--id", "gaet"}));
  EXPECT_EQ(unknown.exit_code, 2) << unknown.err;
  EXPECT_THAT(unknown.err, HasSubstr("no stream \"gaet\"")) << "and not nothing";
  EXPECT_THAT(unknown.err, HasSubstr("did you mean \"gate\"?"));
  EXPECT_EQ(vcap(on_cluster({"stream", "remove", "--id", "gate"})).exit_code, 0);
  await("the end", [&] { return cluster_streams(*client_).empty(); });
  // With its capsule.
  Cluster::Impl& impl = client_->impl();
  EXPECT_EQ(impl.jet_stream.count("OBJ_" + impl.site.bucket(), {}), 0u);
}

/// Waits for a picture of a stream, and returns its first bytes.
std::string picture_of(const std::string& stream, const ViewClient& client) {
  return ask_until([&] { return client.get("/api/v1/picture?stream=" + stream); },
                   [](const HttpAnswer& answer) { return answer.status == 200; })
      .body.substr(0, 2);
}

TEST_F(ClusterStreamTest, IsShownByTheViewOfItsWorkerAndListedByTheOthers) {
  const std::map<std::string, std::uint16_t> ports{{"one", free_port()}, {"two", free_port()}};
  const std::map<std::string, std::uint16_t> metrics{{"one", free_port()}, {"two", free_port()}};
  std::map<std::string, std::unique_ptr<Command>> workers;
  for (const auto& [name, port] : ports)
    workers[name] = stream_worker(name, {"--view", std::to_string(port), "--metrics",
                                         std::to_string(metrics.at(name)), "--capacity", "4"});
  await("both workers", [&] { return cluster_workers(*client_).size() == 2; });
  for (const std::string id : {"gate", "yard"})
    ASSERT_EQ(add({"--load", "1"}, id).exit_code, 0) << "so that each worker gets one";
  await("their owners", [&] {
    return std::ranges::all_of(cluster_streams(*client_),
                               [](const auto& stream) { return !stream.worker.empty(); });
  });
  const auto streams = cluster_streams(*client_);
  ASSERT_EQ(streams.size(), 2u);
  ASSERT_NE(streams[0].worker, streams[1].worker);
  for (const auto& [name, port] : metrics) {
    const std::string text = http_get(port, "/metrics").body;
    for (const std::string worker : {"one", "two"})
      EXPECT_THAT(text, HasSubstr("vcap_cluster_worker_up{worker=\"" + worker + "\"} 1"))
          << "at worker " << name;
  }
  Json site;
  const auto records_of = [](const Json& worker) {
    return worker.at("statistics").value("records", std::int64_t{0});
  };
  await("records of both", [&] {
    site = Json::parse(vcap({"cluster", "status", "--json", "--nats", server_.url()}).out);
    return std::ranges::all_of(site["workers"],
                               [&](const Json& worker) { return records_of(worker) > 0; });
  });
  EXPECT_EQ(site["totals"]["records"],
            records_of(site["workers"][0]) + records_of(site["workers"][1]));
  const auto url_of = [&](const std::string& worker) {
    return "http://127.0.0.1:" + std::to_string(ports.at(worker)) + "/";
  };
  for (const std::size_t i : {0, 1}) {
    const std::string& id = streams[i].id;
    const std::string& other = streams[1 - i].id;
    const ViewClient client(ports.at(streams[i].worker));
    EXPECT_EQ(picture_of(id, client), "\xff\xd8");
    EXPECT_EQ(client.json("/api/v1/record?stream=" + id)["objects"][0]["name"], "visit");
    const Json state = client.json("/api/v1/state");
    ASSERT_EQ(state["stats"]["streams"].size(), 1u);
    EXPECT_EQ(state["stats"]["streams"][0]["id"], id);
    EXPECT_EQ(state["elsewhere"], Json({{{"id", other},
                                         {"state", "running"},
                                         {"worker", streams[1 - i].worker},
                                         {"view", url_of(streams[1 - i].worker)},
                                         {"reason", ""}}}));
    EXPECT_EQ(code_of(client.get("/api/v1/picture?stream=" + other)), "unknown_stream");
    const HttpAnswer change = client.ask("PUT", "/api/v1/config?capsule=visits&stream=" + id, "{}");
    EXPECT_EQ(change.status, 403);
    EXPECT_THAT(message_of(change), HasSubstr("use vcap stream add --replace"));
  }
  const Result status = vcap({"cluster", "status", "--nats", server_.url()});
  EXPECT_THAT(status.out, HasSubstr("view " + url_of("one")));

  workers.at(streams[0].worker)->send(SIGKILL);
  const ViewClient survivor(ports.at(streams[1].worker));
  EXPECT_EQ(picture_of(streams[0].id, survivor), "\xff\xd8") << "it has taken the stream over";
  const Json state = survivor.json("/api/v1/state");
  EXPECT_EQ(state["stats"]["streams"].size(), 2u);
  EXPECT_EQ(state["elsewhere"], Json::array());
}

TEST_F(ClusterStreamTest, ItsWorkerTellsTheSiteTheNameOfItsMachineIfItsViewIsOpenToAll) {
  const auto one =
      stream_worker("one", {"--view", "0.0.0.0:0", "--view-tokens", folder_ / "tokens.json"});
  await("its view", [&] {
    const auto all = cluster_workers(*client_);
    return !all.empty() && !all[0].view.empty();
  });
  EXPECT_THAT(cluster_workers(*client_)[0].view, testing::MatchesRegex("http://[^:]+:[0-9]+/"));
  EXPECT_THAT(cluster_workers(*client_)[0].view, Not(HasSubstr("0.0.0.0")));
}

}  // namespace
}  // namespace vcap::test
