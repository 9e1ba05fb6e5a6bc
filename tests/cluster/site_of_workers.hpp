// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cluster/cluster_impl.hpp"
#include "cluster/nats_server.hpp"
#include "cluster/record_batch.hpp"
#include "cluster/stream_body.hpp"
#include "cluster/stream_message.hpp"
#include "cluster/stream_worker.hpp"
#include "support/bounded_wait.hpp"
#include "support/sanitizers.hpp"
#include "support/temporary_folder.hpp"
#include "vcap/cluster/cluster_records.hpp"
#include "vcap/cluster/cluster_stream.hpp"
#include "vcap/cluster/site_status.hpp"

namespace vcap::test {

/// A stream without a camera: it gives a record every few milliseconds, and counts the frames in a
/// state.
class CountingBody final : public StreamBody {
 public:
  /// `frames`: so many, then it ends; negative: without an end.
  explicit CountingBody(std::string id, std::int64_t frames = -1)
      : id_(std::move(id)), frames_(frames) {}

  std::map<std::string, bool> states() const override { return {{"counter", true}}; }
  void run(const EpochBegin& begin, std::map<std::string, SavedState> saved, Host& host) override {
    if (const auto found = saved.find("counter"); found != saved.end())
      count_ = found->second.state->get<std::int64_t>();
    std::int64_t index = begin.frame_index;
    std::unique_lock lock(mutex_);
    while (!ended_ && frames_ != 0) {
      --frames_;
      ++count_;
      lock.unlock();
      host.add(nlohmann::json{{"stream_id", id_}, {"frame_index", index}, {"count", count_.load()}}
                   .dump(),
               index, begin.pts);
      host.pause(index++);
      lock.lock();
      ending_.wait_for(lock, std::chrono::milliseconds(5), [this] { return ended_; });
    }
    lock.unlock();
    host.finish();
  }
  void end() noexcept override {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    ending_.notify_all();
  }
  std::optional<std::map<std::string, SavedState>> save() const override {
    return {{{"counter", {.state = count_.load(), .version = 1}}}};
  }
  std::optional<double> load() const override { return 0.1; }

 private:
  const std::string id_;
  std::int64_t frames_;
  std::atomic<std::int64_t> count_ = 0;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool ended_ = false;
};

/// A worker for streams, in this process.
class TestWorker {
 public:
  struct Settings {
    std::string name{};
    std::string url{};     ///< empty: the site's
    std::string folder{};  ///< empty: one of its own
    double capacity = 8;
    std::set<std::string> labels{};
    MakeBody make_body = [](const std::string& id, const StreamMessage&) {
      return std::make_unique<CountingBody>(id);
    };
  };

  static constexpr std::chrono::milliseconds kLease{kUnderSanitizer ? 1'500 : 600};

  TestWorker(ClusterSettings site, Settings settings) : name_(settings.name) {
    if (!settings.url.empty()) site.url = settings.url;
    site.timeout = std::chrono::milliseconds(kUnderSanitizer ? 1'000 : 300);
    site.patience = std::chrono::milliseconds(2'000);
    cluster_ = Cluster::connect(site);
    worker_.emplace(
        cluster_, StreamWorker::Settings{
                      .name = settings.name,
                      .folder = settings.folder.empty() ? folder_.path().native() : settings.folder,
                      .lease = kLease,
                      .capacity = settings.capacity,
                      .labels = settings.labels,
                      .batch_time = std::chrono::milliseconds(20),
                      .checkpoint_time = std::chrono::milliseconds(50),
                      .spool_bytes = 16 << 20,
                      .stable_time = std::chrono::milliseconds(100),
                      .make_body = settings.make_body});
    thread_ = std::thread([this] {
      try {
        worker_->run(stop_.get_token());
      } catch (const std::exception& error) {
        const std::lock_guard lock(mutex_);
        failure_ = error.what();
      }
      has_ended_ = true;
    });
  }
  TestWorker(const TestWorker&) = delete;
  TestWorker& operator=(const TestWorker&) = delete;
  ~TestWorker() { end(); }

  const std::string& name() const { return name_; }
  std::size_t streams() const { return worker_->stream_count(); }
  std::vector<ViewedStreams::Listed> site_streams() { return worker_->site_streams(); }
  bool has_ended() const { return has_ended_; }
  std::string failure() {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  void end() {
    stop_.request_stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  const std::string name_;
  const TemporaryFolder folder_;
  std::shared_ptr<Cluster> cluster_;
  std::optional<StreamWorker> worker_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::string failure_;
  std::atomic<bool> has_ended_ = false;
  std::thread thread_;
};

/// A site on a server of its own, with a client's connection.
class SiteOfWorkers : public testing::Test {
 protected:
  std::unique_ptr<TestWorker> start(TestWorker::Settings settings) const {
    return std::make_unique<TestWorker>(server_.settings(), std::move(settings));
  }
  /// As add_cluster_stream(), without capsules that exist.
  void add(const std::string& id, std::set<std::string> labels = {}, double load = 0.1) const {
    const StreamMessage message{.source = "rtsp://user:secret@camera/" + id,
                                .capsules = {{.name = "counter",
                                              .object = {"capsule/x", 1, std::string(64, 'a')},
                                              .config = nlohmann::json::object(),
                                              .options = nlohmann::json::object(),
                                              .stream_config = nlohmann::json::object()}},
                                .labels = std::move(labels),
                                .load = load,
                                .silence_limit = std::chrono::milliseconds(5'000),
                                .max_pixels = 100};
    impl().jet_stream.store(impl().site.subject(Site::Kind::stream, {id}), to_message(message));
  }
  Cluster::Impl& impl() const { return client_->impl(); }

  ClusterStreamStatus status(const std::string& id) const {
    for (const ClusterStreamStatus& stream : cluster_streams(*client_))
      if (stream.id == id) return stream;
    return {.id = id, .reason = "no such stream"};
  }
  void await(const std::string& what, const std::function<bool()>& condition) const {
    yield_until(what, [&] {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return false;
    });
  }
  void await_owner(const std::string& id, const std::string& worker) const {
    await("worker " + worker + " to run " + id, [&] { return status(id).worker == worker; });
  }
  /// The records that the site has of a stream now, in order.
  std::vector<ClusterRecord> records(const std::string& id) const {
    ClusterRecordReader reader(client_, {.stream = id, .after = 0});
    std::vector<ClusterRecord> all;
    while (reader.has_more())
      for (ClusterRecord& record : reader.next(std::chrono::milliseconds(30)))
        all.push_back(std::move(record));
    return all;
  }
  void await_records(const std::string& id, std::size_t count) const {
    await(std::to_string(count) + " records of " + id, [&] { return records(id).size() >= count; });
  }
  /// Each frame once, in order, and each by one owner: epochs do not go back.
  static void expect_once(const std::vector<ClusterRecord>& records, bool without_gaps = true) {
    std::int64_t last = -1;
    std::uint64_t epoch = 0;
    for (const ClusterRecord& record : records) {
      const auto index = nlohmann::json::parse(record.line)["frame_index"].get<std::int64_t>();
      if (without_gaps)
        EXPECT_EQ(index, last + 1);
      else
        EXPECT_GT(index, last);
      EXPECT_GE(record.epoch, epoch);
      last = index;
      epoch = record.epoch;
    }
  }
  static std::int64_t count_in(const ClusterRecord& record) {
    return nlohmann::json::parse(record.line)["count"].get<std::int64_t>();
  }

  NatsServer server_;
  const std::shared_ptr<Cluster> client_ = Cluster::connect(server_.settings());
};

}  // namespace vcap::test
