// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cluster/chaos/chaos_worker.hpp"
#include "cluster/chaos/record_watch.hpp"
#include "cluster/chaos/three_servers.hpp"
#include "support/clip_writer.hpp"
#include "support/outputs_in.hpp"
#include "support/rtsp_server.hpp"
#include "support/temporary_folder.hpp"
#include "vcap/cluster/cluster_stream.hpp"
#include "vcap/cluster/site_status.hpp"

namespace vcap::test {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::IsEmpty;

/// What one round does, for some time.
enum class Kind {
  kill_worker,
  suspend_worker,  ///< for longer than its lease
  cut_worker,
  slow_worker,
  step_clock,
  fill_worker,  ///< its disk
  kill_server,
  hang_leader,
  cut_leader,
  fill_server,
};
constexpr int kKinds = 10;
/// Of three servers, one at a time may fail.
constexpr bool concerns_servers(Kind kind) { return kind >= Kind::kill_server; }

int number_from(const char* variable, int otherwise) {
  const char* const given = std::getenv(variable);
  return given ? std::atoi(given) : otherwise;
}

/// A cluster of processes, with jobs and cameras all the time, that is disturbed at random.
class Chaos : public testing::Test {
 protected:
  static constexpr int kWorkers = 6;
  static constexpr int kStreams = 3;
  using Clock = std::chrono::steady_clock;
  /// No disturbance lasts so long. Servers that take nothing for that time are started again.
  static constexpr seconds kStuckTime{20};
  static constexpr seconds kLagTime{60};  ///< the same, if one does not get what the others have
  static constexpr int kNoBroker = 11;    ///< an exit code

  Chaos() {
    av_log_set_level(AV_LOG_ERROR);
    std::filesystem::create_directories(folder_ / "clips");
    for (const char* const name : {"a.mp4", "b.mkv", "c.mp4", "d.mp4"})
      write_clip(folder_ / "clips" / name, {.frames = 60, .options = b_frames(false)});
    const Result alone = vcap({"run", "--job", job("alone", 0)});
    EXPECT_EQ(alone.exit_code, 0) << alone;
    expected_ = outputs_in(folder_ / "alone");
    EXPECT_EQ(expected_.size(), 8u);
    for (int i = 0; i < kWorkers; ++i)
      workers_.push_back(
          std::make_unique<ChaosWorker>(folder_ / ("worker" + std::to_string(i)), servers_));
    for (int i = 0; i < kStreams; ++i) add(stream(i), false);
  }

  static std::string stream(int i) { return "camera" + std::to_string(i); }
  void add(const std::string& id, bool replace) const {
    add_cluster_stream(
        *client_, {.id = id, .source = camera_->url(), .capsules = {{.path = capsule("visits")}}},
        {}, replace);
  }

  std::string job(const std::string& out, int delay_us) const {
    const Json json = {
        {"schema", "vcap.job/1"},
        {"capsules", {{{"path", capsule("steady")}, {"config", {{"delay_us", delay_us}}}}}},
        {"sources", {"clips/"}},
        {"slices", 4},
        {"attempts", 100},
        {"outputs", {{"folder", out}, {"summary", true}}}};
    return folder_.write(out + ".json", json.dump()).string();
  }
  void begin_job() {
    out_ = "out" + std::to_string(jobs_++);
    file_ = job(out_, 40'000);
    start_job();
  }
  void start_job() {
    run_ = std::make_unique<Command>(
        std::vector<std::string>{"run", file_, "--cluster", servers_.url(), "--replicas", "3"});
  }
  /// One that finds no broker when it begins is begun again.
  bool has_job_ended() {
    if (!run_->has_ended()) return false;
    result_ = run_->wait();
    if (result_.exit_code != kNoBroker || std::filesystem::exists(folder_ / out_)) return true;
    ++restarts_;
    start_job();
    return false;
  }
  void check_job() {
    run_.reset();
    EXPECT_EQ(result_.exit_code, 0) << result_;
    EXPECT_TRUE(outputs_in(folder_ / out_) == expected_) << out_;
    std::filesystem::remove_all(folder_ / out_);
  }

  int number(int end) { return std::uniform_int_distribution<int>(0, end - 1)(random_); }
  milliseconds some_time(milliseconds least, milliseconds most) {
    return least + milliseconds(number(static_cast<int>((most - least).count()) + 1));
  }
  bool is_possible(Kind kind) const {
    if (kind == Kind::step_clock) return ChaosWorker::kHasClock;
    if (kind == Kind::fill_server) return servers_.disk(0).exists();
    return true;
  }
  /// All kinds in a random order, again and again.
  Kind next_kind() {
    if (kinds_.empty())
      for (int i = 0; i < kKinds; ++i)
        if (is_possible(static_cast<Kind>(i))) kinds_.push_back(static_cast<Kind>(i));
    std::swap(kinds_[static_cast<std::size_t>(number(static_cast<int>(kinds_.size())))],
              kinds_.back());
    const Kind kind = kinds_.back();
    kinds_.pop_back();
    return kind;
  }
  /// Of the cluster, or of the records.
  std::size_t some_leader() {
    const auto leader = servers_.leader(number(2) == 0 ? "" : "VCAP_SITE_RECORD");
    return leader.value_or(static_cast<std::size_t>(number(ThreeServers::kServers)));
  }

  /// Begins a disturbance. Returns what ends it.
  std::function<void()> disturb(Kind kind) {
    ChaosWorker& worker = *workers_[static_cast<std::size_t>(number(kWorkers))];
    const auto server = static_cast<std::size_t>(number(ThreeServers::kServers));
    switch (kind) {
      case Kind::kill_worker:
        worker.kill();
        return [&worker] { worker.begin(); };
      case Kind::suspend_worker:
        worker.send(SIGSTOP);
        std::this_thread::sleep_for(ChaosWorker::kLease);
        return [&worker] { worker.send(SIGCONT); };
      case Kind::cut_worker:
        worker.each_link([](Link& link) { link.cut(); });
        return [&worker] { worker.each_link([](Link& link) { link.mend(); }); };
      case Kind::slow_worker: {
        const milliseconds delay = some_time(milliseconds(5), milliseconds(300));
        worker.each_link([delay](Link& link) { link.set_delay(delay); });
        return [&worker] { worker.each_link([](Link& link) { link.set_delay({}); }); };
      }
      case Kind::step_clock:
        worker.step_clock(
            seconds(std::array{-3'600, -5, 5, 3'600}[static_cast<std::size_t>(number(4))]));
        return [] {};  // the clock stays so
      case Kind::fill_worker:
        worker.fill_disk(true);
        return [&worker] { worker.fill_disk(false); };
      case Kind::kill_server:
        servers_.kill(server);
        return [this, server] { servers_.start(server); };
      case Kind::hang_leader: {
        const std::size_t leader = some_leader();
        servers_.hang(leader);
        return [this, leader] { servers_.resume(leader); };
      }
      case Kind::cut_leader: {
        const std::size_t leader = some_leader();
        servers_.cut_off(leader);
        return [this, leader] { servers_.rejoin(leader); };
      }
      case Kind::fill_server:
        servers_.disk(server).fill();
        // A server that has met its full disk does without JetStream until it is started again, and
        // nats-server 2.9.10 loses messages if it begins with what that disk has. It must not begin
        // without that before the others have all: with one that lacks something, it would be a
        // majority.
        return [this, server] {
          servers_.kill(server);
          servers_.disk(server).free();
          await_servers(server);
          servers_.renew(server);
        };
    }
    return [] {};
  }

  /// What a service manager and an operator do.
  void maintain() {
    for (const auto& worker : workers_) restarts_ += worker->keep_running() ? 1 : 0;
    // GStreamer's server sometimes ends by an assertion of its own (gst_rtsp_media_get_rates).
    if (!camera_->runs()) {
      camera_.emplace(camera_port_);
      ++camera_restarts_;
    }
    try {
      for (const ClusterStreamStatus& status : cluster_streams(*client_)) {
        if (status.reason.find("workers in a row have died") == std::string::npos) continue;
        add(status.id, true);
        ++quarantines_;
      }
      const auto lives = [](const ClusterWorkerStatus& worker) {
        return worker.state != ClusterWorkerStatus::State::dead;
      };
      if (std::ranges::any_of(cluster_workers(*client_), lives)) alive_at_ = Clock::now();
    } catch (const ClusterError&) {  // in the next round
    }
    if (Clock::now() >= alive_at_ + kStuckTime) restart_servers();
  }
  void restart_servers() {
    servers_.restart_each();
    alive_at_ = Clock::now();
    ++broker_restarts_;
  }

  /// Until a server may fail again: a message may be in two servers only, and if one of them fails
  /// before the third one has it, it may be lost. A server that does not get all is started again.
  /// `without`: a server that does not run.
  void await_servers(std::optional<std::size_t> without = {}) {
    for (int tries = 0; tries < 3; ++tries) {
      std::set<std::string> settled;
      ThreeServers::Lack lack;
      for (const auto stuck = Clock::now() + kLagTime; Clock::now() < stuck;) {
        maintain();
        lack = servers_.lacking(without);
        for (const auto& [stream, servers] : lack)
          if (servers.empty()) settled.insert(stream);
        if (!lack.empty() && settled.size() == lack.size()) return;
        std::this_thread::sleep_for(milliseconds(50));
      }
      for (const auto& [stream, servers] : lack) {
        if (settled.contains(stream) || servers.empty()) continue;
        servers_.restart(*servers.begin());
        ++broker_restarts_;
        break;
      }
    }
    FAIL() << "the servers do not catch up";
  }

  void await(const std::string& what, const std::function<bool()>& condition) {
    yield_until(what, [&] {
      std::this_thread::sleep_for(milliseconds(50));
      try {
        return condition();
      } catch (const ClusterError&) {
        return false;
      }
    });
  }
  void expect_all_go_on() {
    std::map<std::string, std::size_t> before;
    for (int i = 0; i < kStreams; ++i) before[stream(i)] = watch_.streams().at(stream(i)).records;
    await("each stream to go on", [&] {
      maintain();
      watch_.read();
      return std::ranges::all_of(before, [&](const auto& entry) {
        return watch_.streams().at(entry.first).records > entry.second + 30;
      });
    });
    await("all records to arrive", [&] {
      return sum_statistics(cluster_workers(*client_)).at("record_messages_waiting") == 0;
    });
    watch_.read();
  }

  /// What the broker has in the end: each frame once, nothing that was set aside, and all but what
  /// full disks took. A reader that was there all the time may have got more: frames that a server
  /// delivered and took back, which their owner has set aside.
  void expect_kept() {
    RecordWatch kept(client_);
    kept.read();
    EXPECT_THAT(kept.faults(), IsEmpty());
    EXPECT_THAT(kept.repeated(), IsEmpty());
    EXPECT_EQ(kept.refused(), 0u);
    // What came last of a stream may reach its reader when the stream has been quiet.
    std::vector<WatchedFrame> missed;
    for (const auto end = Clock::now() + kLagTime; Clock::now() < end;) {
      watch_.read();
      missed.clear();
      std::ranges::set_difference(kept.frames(), watch_.frames(), std::back_inserter(missed));
      if (missed.empty()) break;
    }
    EXPECT_THAT(missed, IsEmpty());
    std::set<WatchedFrame> aside;
    std::size_t lost = 0;
    for (const auto& worker : workers_) {
      aside.merge(set_aside(worker->folder()));
      const auto found = kept.lost().find(worker->name());
      if (found == kept.lost().end() || found->second == 0) continue;
      EXPECT_TRUE(worker->had_full_disk()) << found->second << " records of " << worker->name();
      lost += found->second;
    }
    std::vector<WatchedFrame> published;
    std::ranges::set_intersection(aside, kept.frames(), std::back_inserter(published));
    EXPECT_THAT(published, IsEmpty()) << "are set aside, too";
    std::vector<WatchedFrame> taken_back;
    std::ranges::set_difference(watch_.frames(), kept.frames(), std::back_inserter(taken_back));
    std::vector<WatchedFrame> vanished;
    std::ranges::set_difference(taken_back, aside, std::back_inserter(vanished));
    // A full disk does not take what is set aside.
    lost +=
        std::erase_if(vanished, [this](const WatchedFrame& frame) { return was_refused(frame); });
    EXPECT_THAT(vanished, IsEmpty()) << "were published, and are neither kept nor set aside";
    std::uint64_t owners = 0;
    for (const auto& [id, stream] : kept.streams()) owners += stream.last.epoch;
    std::cout << kept.frames().size() << " records of " << owners << " owners of " << kStreams
              << " streams, " << lost << " records lost to full disks, " << aside.size()
              << " records set aside, " << taken_back.size()
              << " of them were seen before the broker took "
              << "them back, " << kept.overtaken()
              << " messages behind the begin of the next owner\n";
  }

  /// Whether its worker says that it could not set messages of that owner aside.
  bool was_refused(const WatchedFrame& frame) const {
    const std::string stream = "stream \"" + frame.stream + "\" ";
    const std::regex epoch("(this is|had of) epoch " + std::to_string(frame.epoch) + "\\b");
    return std::ranges::any_of(workers_, [&](const auto& worker) {
      return worker->name() == watch_.worker_of(frame) && worker->had_full_disk() &&
             std::ranges::any_of(worker->not_kept(), [&](const std::string& line) {
               return line.find(stream) != line.npos && std::regex_search(line, epoch);
             });
    });
  }

  void TearDown() override {
    if (!HasFailure()) return;
    std::cout << "kinds of disturbances:" << history_ << '\n';
    for (const auto& worker : workers_)
      std::cout << worker->folder().string() << '\n' << worker->log();
    if (run_) std::cout << "the job\n" << run_->err();
    try {
      for (const ClusterWorkerStatus& worker : cluster_workers(*client_))
        std::cout << worker.name << ' ' << to_string(worker.state) << ' '
                  << worker.statistics->dump() << '\n';
    } catch (const ClusterError& error) {
      std::cout << error.what() << '\n';
    }
  }

  const unsigned seed_ = static_cast<unsigned>(
      number_from("VCAP_TEST_CHAOS_SEED", static_cast<int>(std::random_device()() >> 1)));
  std::mt19937 random_{seed_};
  std::vector<Kind> kinds_;
  const TemporaryFolder folder_;
  Outputs expected_;
  const std::string camera_port_ = std::to_string(free_port());
  std::optional<RtspServer> camera_{std::in_place, camera_port_};
  ThreeServers servers_;
  const std::shared_ptr<Cluster> client_ = Cluster::connect(
      {.url = servers_.url(), .replicas = 3, .timeout = seconds(1), .patience = seconds(1)});
  RecordWatch watch_{client_};
  std::vector<std::unique_ptr<ChaosWorker>> workers_;
  std::unique_ptr<Command> run_;
  std::string file_;  ///< of the job
  std::string out_;
  Result result_;        ///< of the last job
  std::string history_;  ///< numbers of kinds
  int jobs_ = 0;
  int restarts_ = 0;
  int broker_restarts_ = 0;
  int camera_restarts_ = 0;
  Clock::time_point alive_at_ = Clock::now();  ///< when the broker had heard a worker last
  int quarantines_ = 0;
};

TEST_F(Chaos, LosesNothingAndDoesNothingTwice) {
  SCOPED_TRACE("VCAP_TEST_CHAOS_SEED=" + std::to_string(seed_));
  const int rounds = number_from("VCAP_TEST_CHAOS_ROUNDS", kUnderSanitizer ? 4 : kKinds);
  await("records", [&] {
    watch_.read();
    return watch_.streams().size() == kStreams;
  });
  begin_job();
  std::function<void()> pending = [] {};
  bool is_pending_of_server = false;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    const Kind kind = next_kind();
    history_ += ' ' + std::to_string(static_cast<int>(kind));
    if (concerns_servers(kind)) {
      if (is_pending_of_server) std::exchange(pending, [] {})();
      await_servers();
    }
    const std::function<void()> end = disturb(kind);
    std::this_thread::sleep_for(some_time(milliseconds(0), ChaosWorker::kLease));
    pending();  // of the round before
    pending = end;
    is_pending_of_server = concerns_servers(kind);
    if (number(2) == 0) std::exchange(pending, [] {})();
    watch_.read();
    EXPECT_THAT(watch_.faults(), IsEmpty());
    maintain();
    if (!has_job_ended()) continue;
    check_job();
    begin_job();
  }
  pending();
  await("the job", [&] {
    maintain();
    return has_job_ended();
  });
  check_job();
  expect_all_go_on();
  for (const auto& worker : workers_) EXPECT_EQ(worker->end(), 0);
  watch_.read();
  EXPECT_THAT(watch_.faults(), IsEmpty());
  expect_kept();
  std::cout << rounds << " rounds: " << jobs_ << " jobs, " << restarts_
            << " processes had found no broker, " << quarantines_
            << " streams were set aside, the camera had ended " << camera_restarts_
            << " times, servers were started again " << broker_restarts_ << " times\n";
}

}  // namespace
}  // namespace vcap::test
