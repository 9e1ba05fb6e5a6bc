// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_annotations.hpp"
#include "cluster/cluster_clock.hpp"
#include "cluster/cluster_impl.hpp"
#include "cluster/owned_stream.hpp"
#include "cluster/record_outlet.hpp"
#include "cluster/site_events.hpp"
#include "cluster/site_view.hpp"
#include "cluster/stream_body.hpp"
#include "vcap/pipeline/viewed_streams.hpp"

namespace vcap {

/// The part of a worker that runs the site's streams: it tells the others that it lives, claims the
/// streams that are placed here, and gives others away. Thread safety: thread-safe.
class StreamWorker {
 public:
  struct Settings {
    std::string name{};    ///< unique in the site
    std::string folder{};  ///< for this worker alone: the spool
    std::chrono::nanoseconds lease{0};
    double capacity = 0;    ///< in cores; 0: no streams
    std::size_t slots = 0;  ///< for slices of jobs
    std::set<std::string> labels{};
    std::chrono::nanoseconds batch_time{0};
    std::chrono::nanoseconds checkpoint_time{0};
    std::uint64_t spool_bytes = 0;
    /// A worker that runs a stream for so long does not die because of it.
    std::chrono::nanoseconds stable_time = std::chrono::seconds(20);
    /// No living process can have the name, so its last session is known to be over.
    bool has_name_alone = false;
    MakeBody make_body{};  ///< [threads of streams, concurrent]
    /// Numbers for the heartbeat, beside those of the streams. [worker's thread]
    std::function<nlohmann::json()> statistics{};
    /// An operator's order for this worker has changed. [worker's thread]
    std::function<void(bool drain)> on_drain{};
  };

  /// Throws OutputError if the folder cannot be used, or another process uses it.
  StreamWorker(std::shared_ptr<Cluster> cluster, Settings settings);
  ~StreamWorker();
  StreamWorker(const StreamWorker&) = delete;
  StreamWorker& operator=(const StreamWorker&) = delete;

  /// Works until `stop` is requested. Throws ClusterError (closed) if another process has taken
  /// this worker's name. Call once.
  void run(const std::stop_token& stop) VCAP_EXCLUDES(mutex_);
  /// Those that it runs now.
  std::size_t stream_count() const noexcept { return stream_count_; }
  /// All streams of the site, as far as this process knows.
  std::vector<ViewedStreams::Listed> site_streams() VCAP_EXCLUDES(mutex_);
  /// The site is told that a live view shows this worker's streams there. Before run().
  void set_view(std::string url) { view_url_ = std::move(url); }

 private:
  /// A stream that is placed here and has no living owner.
  struct Vacancy {
    std::string id{};
    SiteView::Entry<StreamMessage> stream{};
    std::optional<SiteView::Entry<OwnerMessage>> owner{};
  };
  /// What is to be stored as the vacancy's owner.
  struct PreparedClaim {
    Vacancy vacancy{};
    OwnerMessage owner{};
    bool is_takeover = false;  ///< of a worker that has died
  };

  void take_name(const std::stop_token& stop) VCAP_EXCLUDES(mutex_);
  void keep_working(const std::stop_token& stop);
  void keep_alive() VCAP_EXCLUDES(mutex_);
  void beat(bool has_ended = false);
  WorkerMessage message(bool has_ended);
  void read_site() VCAP_EXCLUDES(mutex_);
  void hear(Site::Kind kind, const BrokerMessage& note) VCAP_EXCLUDES(mutex_);
  void apply(Site::Kind kind, const std::string& subject, std::uint64_t sequence,
             const std::string& body) VCAP_EXCLUDES(mutex_);
  void act(const std::stop_token& stop) VCAP_EXCLUDES(mutex_);
  void end_streams(const Placement& placement) VCAP_REQUIRES(mutex_);
  std::vector<Vacancy> vacancies(const Placement& placement) const VCAP_REQUIRES(mutex_);
  bool is_vacant(const std::string& stream) const VCAP_REQUIRES(mutex_);
  std::vector<std::string> removed() const VCAP_REQUIRES(mutex_);
  std::vector<Vacancy> abandoned(const Placement& placement) const VCAP_REQUIRES(mutex_);
  bool collect_ended();
  std::optional<PreparedClaim> prepare_claim(Vacancy vacancy);
  void claim(std::span<Vacancy> vacancies) VCAP_EXCLUDES(mutex_);
  void begin(PreparedClaim&& claim, std::uint64_t sequence);
  bool may_claim(const OwnerMessage& owner);
  std::uint64_t next_epoch(const std::string& stream);
  void release(const Vacancy& vacancy);
  void read_owner(const std::string& stream) VCAP_EXCLUDES(mutex_);
  void remove(const std::string& stream);
  void obey_orders() VCAP_EXCLUDES(mutex_);
  void end_all();
  void wake() VCAP_EXCLUDES(mutex_);
  std::chrono::nanoseconds site_time() VCAP_EXCLUDES(mutex_);
  Clock::time_point next_time() VCAP_REQUIRES(mutex_);

  const std::shared_ptr<Cluster> cluster_;
  const Settings settings_;
  const std::string session_;
  JetStream jet_stream_;  ///< without patience, so that heartbeats do not wait
  const std::unique_ptr<ObjectStore> objects_;
  SiteEvents events_;
  std::string view_url_{};

  // Of the worker's thread.
  /// Streams that failed here, until when they are not tried again, and why.
  struct Unfit {
    Clock::time_point until{};
    std::string reason{};
  };
  std::map<std::string, Unfit> unfit_;
  std::atomic<std::size_t> stream_count_ = 0;
  std::uint64_t beat_sequence_ = 0;
  std::uint64_t claims_ = 0;
  std::uint64_t takeovers_ = 0;  ///< claims of streams whose owners had died
  std::uint64_t losses_ = 0;     ///< streams that other workers have taken over
  bool is_draining_ = false;
  bool is_ending_ = false;
  std::atomic<bool> is_cut_off_ = false;                   ///< the last heartbeat failed
  Clock::time_point awake_at_ = Clock::time_point::max();  ///< when it was known to run last
  Clock::time_point beat_at_ = Clock::time_point::min();
  Clock::time_point act_at_ = Clock::time_point::min();  ///< not before, however much changes
  Clock::time_point read_at_ = Clock::time_point::min();
  Clock::time_point suspect_at_ = Clock::time_point::min();  ///< when the next suspect may come
  std::optional<Clock::time_point> moved_at_{};              ///< when a stream was last given away

  Mutex mutex_;
  CondVar changed_;
  SiteView view_ VCAP_GUARDED_BY(mutex_);
  /// Null before the site was read for the first time.
  std::shared_ptr<const ClusterClock> clock_ VCAP_GUARDED_BY(mutex_);
  bool is_stale_ VCAP_GUARDED_BY(mutex_) = true;     ///< the site must be read again
  bool has_changed_ VCAP_GUARDED_BY(mutex_) = true;  ///< placements may have changed
  std::uint64_t refused_notes_ VCAP_GUARDED_BY(mutex_) = 0;

  // The last ones, since their threads use the others.
  RecordOutlet outlet_;
  BackgroundThread background_;
  std::map<std::string, std::unique_ptr<OwnedStream>> owned_;  ///< of the worker's thread
};

}  // namespace vcap
