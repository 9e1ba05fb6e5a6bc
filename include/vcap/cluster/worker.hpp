// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "vcap/base/export.hpp"
#include "vcap/cluster/cluster.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/pipeline/viewed_streams.hpp"
#include "vcap/records/sink.hpp"

namespace vcap {

/// How a worker works. Thread safety: value.
struct WorkerSettings {
  /// A folder for capsules that were fetched, by their digests, and for files that are being
  /// written. It is created if it is missing. Workers on one machine may share it.
  std::string folder{};
  /// How capsules are loaded: trust policy, keys, resources. Config, stencil and what happens to
  /// invalid output come from the jobs.
  LoadOptions load{};
  int slots = 0;  ///< slices in progress at once; 0: one for each core
  /// Duration of a lease on a slice. It is renewed while the worker lives; another worker takes the
  /// slice over when it has run out. From 1 s to 1 day.
  std::chrono::nanoseconds lease = std::chrono::seconds(30);
  std::function<void()> on_load{};  ///< after the capsules of a job were loaded [worker's thread]

  // Streams.

  /// Unique in the site, and the same after a restart. Empty: made of the host's name, the folder
  /// and a number.
  std::string name{};
  /// What streams may ask for (ClusterStream::labels). The worker's name and `host=NAME` are added.
  std::set<std::string> labels{};
  /// How much streams may take together, in cores. Absent: as many as the machine has. 0: no
  /// streams.
  std::optional<double> capacity{};
  /// Without a sign of life for so long, the worker's streams are taken over. From 1 s to 1 hour.
  std::chrono::nanoseconds stream_lease = std::chrono::seconds(4);
  /// Records wait for so long for others of their stream, to go to the broker in one message. From
  /// 1 ms to 1 minute.
  std::chrono::nanoseconds record_time = std::chrono::seconds(1);
  /// How often what capsules know of a stream is saved (BaseStreamState::save). At least 1 s.
  std::chrono::nanoseconds checkpoint_time = std::chrono::seconds(10);
  /// SpoolSettings::max_bytes of the records that wait for the broker.
  std::uint64_t spool_bytes = std::uint64_t{1} << 30;
};

/// What a worker has done. Thread safety: value.
struct WorkerStatistics {
  std::uint64_t done = 0;      ///< slices
  std::uint64_t failed = 0;    ///< attempts
  std::uint64_t released = 0;  ///< slices that were given back, because the worker was to end
  std::uint64_t refused = 0;   ///< messages that were not valid
  std::size_t streams = 0;     ///< that it runs now
};

/// Works on the jobs and the streams of a cluster's site, as long as run() runs. Capsules are
/// fetched from the cluster, by their digests, and are loaded under the trust policy of `load`.
///
/// Of jobs, it takes slices of videos, runs them as run_job() does, and stores their results. The
/// videos must be on this machine under the paths that the jobs name, such as in a folder that all
/// machines share.
/// Jobs of a higher priority come first; jobs of the same one share the slots equally. What a
/// killed worker had in progress is done by another one, when its lease has run out.
///
/// Of streams (ClusterStream), it runs those that are placed here, and sends their records to the
/// broker. While the broker is away, it goes on with them, and records wait on the disk. Thread
/// safety: thread-safe.
class VCAP_EXPORT ClusterWorker {
 public:
  /// Throws InvalidArgument for settings that are not valid, OutputError if the folder cannot be
  /// used, or another process uses its spool.
  ClusterWorker(std::shared_ptr<Cluster> cluster, WorkerSettings settings);
  ~ClusterWorker();
  ClusterWorker(const ClusterWorker&) = delete;
  ClusterWorker& operator=(const ClusterWorker&) = delete;

  /// Works until `stop` is requested; slices in progress are then given back. A broker that is away
  /// is waited for. Throws ClusterError (closed) if another process works under this name. Call
  /// once.
  void run(const std::stop_token& stop);
  WorkerStatistics statistics() const;
  std::string name() const;

  /// For a LiveView of the streams that this worker runs, which also lists the others of the site.
  /// The worker must outlive the view.
  ///
  ///     vcap::LiveView view(worker.viewed_streams(), {.address = "127.0.0.1:9465"});
  ///     worker.set_view(view.sink(), "http://127.0.0.1:9465/");
  ///     worker.run(stop);
  ViewedStreams viewed_streams() const;
  /// The records of all streams also go to `sink`, and the site is told that a live view shows them
  /// at `url`: the views of other workers link to it. Empty: the site is told nothing. The sink
  /// must not block. Call before run(). Throws InvalidArgument for a URL that is not http:// or
  /// https://.
  void set_view(std::shared_ptr<Sink> sink, const std::string& url);

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace vcap
