// SPDX-License-Identifier: Apache-2.0
#include "pipeline/metric_families.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "vcap/base/version.hpp"

namespace vcap {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

constexpr double kSecond = 1e9;  // in nanoseconds
/// From the call of a quick classifier to latencies that are too long for live use.
constexpr std::array kTimeBounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                 0.25,  0.5,    1.0,   2.5,  5.0,   10.0};
constexpr std::array kSizeBounds{1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0};

class Families {
 public:
  template <class Number>
  void counter(const char* name, const char* help, Labels labels, Number value) {
    add(name, help, MetricType::Counter, std::move(labels)).counter.value =
        static_cast<double>(value);
  }
  template <class Number>
  void gauge(const char* name, const char* help, Labels labels, Number value) {
    add(name, help, MetricType::Gauge, std::move(labels)).gauge.value = static_cast<double>(value);
  }
  void seconds(const char* name, const char* help, Labels labels, const Histogram& ns) {
    histogram(add(name, help, MetricType::Histogram, std::move(labels)), ns, kTimeBounds, kSecond);
  }
  void sizes(const char* name, const char* help, Labels labels, const Histogram& sizes) {
    histogram(add(name, help, MetricType::Histogram, std::move(labels)), sizes, kSizeBounds, 1);
  }

  std::vector<MetricFamily> take() && { return std::move(families_); }

 private:
  ClientMetric& add(const char* name, const char* help, MetricType type, Labels labels) {
    const auto [place, is_new] = places_.try_emplace(name, families_.size());
    if (is_new) families_.push_back({.name = name, .help = help, .type = type, .metric = {}});
    ClientMetric& metric = families_[place->second].metric.emplace_back();
    metric.label = std::move(labels);
    return metric;
  }

  /// If a bound lies inside a bucket, the bucket counts as below the bound. So bounds are off by at
  /// most 1/32, and whole sizes that are powers of two are counted exactly.
  static void histogram(ClientMetric& metric, const Histogram& numbers,
                        std::span<const double> bounds, double unit) {
    metric.histogram.sample_count = numbers.count();
    metric.histogram.sample_sum = numbers.mean() * static_cast<double>(numbers.count()) / unit;
    const std::vector<Histogram::Bucket> buckets = numbers.buckets();
    auto next = buckets.begin();
    std::uint64_t below = 0;
    for (const double bound : bounds) {
      for (; next != buckets.end() && static_cast<double>(next->low) <= bound * unit; ++next)
        below += next->count;
      metric.histogram.bucket.push_back({.cumulative_count = below, .upper_bound = bound});
    }
  }

  std::vector<MetricFamily> families_;
  std::map<std::string, std::size_t> places_;
};

void add_sink(Families& families, const SinkStats& sink, const Labels& labels) {
  families.counter("vcap_sink_records_written_total", "Records that the sink has written.", labels,
                   sink.written);
  families.gauge("vcap_sink_records_queued", "Records that wait for the sink.", labels,
                 sink.queued);
  const auto with_reason = [&labels](const std::string& reason) {
    Labels more = labels;
    more.push_back({"reason", reason});
    return more;
  };
  for (const auto& [reason, count] : sink.lost)
    families.counter("vcap_sink_records_lost_total", "Records lost to the sink, by reason.",
                     with_reason(reason), count);
  for (const auto& [reason, count] : sink.lost_clips)
    families.counter("vcap_sink_clips_lost_total",
                     "Clips of events that are missing or incomplete, by reason.",
                     with_reason(reason), count);
}

void add_stream(Families& families, const StreamStats& stream) {
  const std::string id = valid_utf8(stream.id);
  const Labels labels{{"stream", id}};
  families.counter("vcap_stream_frames_read_total", "Frames read from the source.", labels,
                   stream.read);
  families.counter("vcap_stream_frames_recorded_total", "Frames whose records were delivered.",
                   labels, stream.recorded);
  families.counter("vcap_stream_broken_pictures_total",
                   "Pictures of the source that could not be decoded and were skipped.", labels,
                   stream.broken_pictures.count);
  if (const auto& source = stream.source_state) {
    families.gauge("vcap_stream_connected", "1 while its live source gives pictures.", labels,
                   source->connection == SourceState::Connection::running ? 1u : 0u);
    families.counter("vcap_stream_connection_losses_total",
                     "How many times its live source was lost.", labels, source->losses);
  }
  for (const auto& [reason, count] : stream.drops)
    families.counter("vcap_stream_frames_dropped_total", "Frames without a record, by reason.",
                     {{"stream", id}, {"reason", reason}}, count);
  families.counter("vcap_stream_errors_total", "Records in which a capsule failed.", labels,
                   stream.errors);
  for (const auto& [capsule, count] : stream.quarantined)
    families.counter("vcap_stream_quarantined_total",
                     "Frames that continued without the capsule, which was in quarantine.",
                     {{"stream", id}, {"capsule", valid_utf8(capsule)}}, count);
  families.counter("vcap_stream_overdue_total",
                   "Frames that continued without a capsule after its deadline.", labels,
                   stream.overdue);
  families.gauge("vcap_stream_ended", "1 once it has ended.", labels, stream.ended ? 1u : 0u);
  families.gauge("vcap_stream_failed", "1 once its source or one of its sinks has failed.", labels,
                 stream.failure ? 1u : 0u);
  families.gauge("vcap_stream_frames_in_flight", "Frames read and not recorded.", labels,
                 stream.in_flight);
  families.gauge("vcap_stream_frames_waiting", "Frames that no capsule has begun.", labels,
                 stream.waiting);
  families.gauge("vcap_stream_frames_per_second", "Frames recorded, over the last ten seconds.",
                 labels, stream.frames_per_second);
  families.seconds("vcap_stream_latency_seconds", "From a frame's reading to its last sink.",
                   labels, stream.latency_ns);
  for (std::size_t place = 0; place < stream.sinks.size(); ++place)
    if (stream.sinks[place])
      add_sink(families, *stream.sinks[place],
               {{"stream", id}, {"sink", std::to_string(place + 1)}});
}

void add_backend(Families& families, const BackendStatistics& backend, const Labels& labels) {
  families.gauge("vcap_backend_calls_in_progress", "Calls of a capsule's backend in progress.",
                 labels, backend.running);
  families.counter("vcap_backend_calls_total", "Calls that a capsule's backend has begun.", labels,
                   backend.calls);
  families.counter("vcap_backend_failures_total", "Calls of a capsule's backend that threw.",
                   labels, backend.failures);
  families.seconds("vcap_backend_call_seconds", "How long each call of a capsule's backend took.",
                   labels, backend.call_ns);
  if (!backend.batches) return;
  families.gauge("vcap_backend_queued", "Inputs that wait for a batch.", labels,
                 backend.batches->queued);
  families.sizes("vcap_batch_size", "Inputs in each batch.", labels, backend.batches->batch_sizes);
  families.seconds("vcap_batch_wait_seconds", "How long each input waited for its batch.", labels,
                   backend.batches->wait_ns);
  families.seconds("vcap_batch_predict_seconds", "How long each batch took.", labels,
                   backend.batches->predict_ns);
}

void add_capsule(Families& families, const CapsuleStats& capsule) {
  const Labels labels{{"capsule", valid_utf8(capsule.name)},
                      {"version", std::to_string(capsule.version)}};
  families.counter("vcap_capsule_calls_total", "Calls of the capsule.", labels, capsule.calls);
  families.counter("vcap_capsule_failures_total", "Calls that threw.", labels, capsule.failures);
  families.seconds("vcap_capsule_call_seconds",
                   "How long each call took, including waits for batches.", labels,
                   capsule.call_ns);
  families.gauge("vcap_capsule_most_calls", "Bound on its calls in progress; 0: none.", labels,
                 capsule.most_calls);
  families.gauge("vcap_capsule_waiting",
                 "Frames and batches that wait for the end of other calls of the capsule.", labels,
                 capsule.waiting);
  families.gauge("vcap_capsule_quarantined", "1 while it is left out of all streams.", labels,
                 capsule.quarantined ? 1 : 0);
  for (const BackendStatistics& backend : capsule.backends) {
    Labels with_device = labels;
    with_device.push_back({"device", valid_utf8(backend.device)});
    add_backend(families, backend, with_device);
  }
}

void add_device(Families& families, const DeviceStats& device) {
  const Labels labels{{"device", valid_utf8(device.device)}};
  families.gauge("vcap_device_calls_in_progress", "Calls in progress, of all capsules.", labels,
                 device.running);
  families.counter("vcap_device_calls_total", "Calls begun, of all capsules.", labels,
                   device.calls);
  families.counter("vcap_device_failures_total", "Calls that threw, of all capsules.", labels,
                   device.failures);
  families.seconds("vcap_device_call_seconds", "How long each call took, of all capsules.", labels,
                   device.call_ns);
  families.gauge("vcap_device_queued", "Inputs that wait for a batch, of all capsules.", labels,
                 device.queued);
  families.counter("vcap_device_batches_total", "Batches predicted, of all capsules.", labels,
                   device.batches);
}

void merge(BackendStatistics& to, const BackendStatistics& from) {
  to.running += from.running;
  to.calls += from.calls;
  to.failures += from.failures;
  to.call_ns.merge(from.call_ns);
  if (!from.batches) return;
  if (!to.batches) to.batches.emplace();
  to.batches->queued += from.batches->queued;
  to.batches->batch_sizes.merge(from.batches->batch_sizes);
  to.batches->wait_ns.merge(from.batches->wait_ns);
  to.batches->predict_ns.merge(from.batches->predict_ns);
}

void add_backends(CapsuleStats& to, const std::vector<BackendStatistics>& from) {
  for (const BackendStatistics& backend : from) {
    const auto same = std::ranges::find(to.backends, backend.device, &BackendStatistics::device);
    if (same == to.backends.end())
      to.backends.push_back(backend);
    else
      merge(*same, backend);
  }
}

/// Merges capsules of the same name and version, and their backends on the same device: Prometheus
/// allows no two values with the same name and labels.
std::vector<CapsuleStats> merged(const std::vector<CapsuleStats>& capsules) {
  std::vector<CapsuleStats> result;
  for (const CapsuleStats& capsule : capsules) {
    auto same = std::ranges::find_if(result, [&](const CapsuleStats& one) {
      return one.name == capsule.name && one.version == capsule.version;
    });
    if (same == result.end()) {
      same = result.emplace(result.end());
      same->name = capsule.name;
      same->version = capsule.version;
    }
    same->calls += capsule.calls;
    same->failures += capsule.failures;
    same->call_ns.merge(capsule.call_ns);
    same->most_calls = std::max(same->most_calls, capsule.most_calls);
    same->waiting += capsule.waiting;
    same->quarantined = same->quarantined || capsule.quarantined;
    add_backends(*same, capsule.backends);
  }
  return result;
}

void add_publisher(Families& families, const std::string& name, const PublisherStats& stats) {
  const Labels labels{{"publisher", valid_utf8(name)}};
  families.counter("vcap_publisher_messages_delivered_total", "Messages that the receiver took.",
                   labels, stats.delivered);
  families.counter("vcap_publisher_messages_refused_total",
                   "Messages that the receiver refused for ever.", labels, stats.refused);
  for (const auto& [reason, count] : stats.lost)
    families.counter("vcap_publisher_messages_lost_total", "Messages that were lost, by reason.",
                     {labels.front(), {"reason", reason}}, count);
  families.counter("vcap_publisher_failed_attempts_total", "Attempts to send that failed.", labels,
                   stats.failed_attempts);
  families.gauge("vcap_publisher_messages_waiting", "Messages that are in the spool or being sent.",
                 labels, stats.waiting);
  families.gauge("vcap_publisher_spool_bytes", "Bytes of the spool.", labels, stats.spool_bytes);
  families.gauge("vcap_publisher_failing", "1 while the last attempt to send failed.", labels,
                 stats.is_failing ? 1u : 0u);
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

std::size_t entries_of(const char* folder) {
  std::error_code gone;
  std::size_t entries = 0;
  for (auto entry = std::filesystem::directory_iterator(folder, gone);
       !gone && entry != std::filesystem::directory_iterator(); entry.increment(gone))
    ++entries;
  return entries;
}

}  // namespace

std::vector<MetricFamily> metric_families(const PipelineStats& stats) {
  Families families;
  families.gauge("vcap_build_info", "Always 1; the label has the version of vcap.",
                 {{"version", std::string(version())}}, 1);
  families.gauge("vcap_uptime_seconds", "How long the pipeline has existed.", {},
                 std::chrono::duration<double>(stats.uptime).count());
  families.gauge("vcap_workers", "Threads that process frames.", {}, stats.workers);
  families.gauge("vcap_frames_in_flight", "Frames read and not recorded, of all streams.", {},
                 stats.in_flight);
  for (const StreamStats& stream : stats.streams) add_stream(families, stream);
  for (const CapsuleStats& capsule : merged(stats.capsules)) add_capsule(families, capsule);
  for (const DeviceStats& device : stats.devices) add_device(families, device);
  return std::move(families).take();
}

std::vector<MetricFamily> publisher_metric_families(
    const std::map<std::string, PublisherStats>& publishers) {
  Families families;
  for (const auto& [name, stats] : publishers) add_publisher(families, name, stats);
  return std::move(families).take();
}

std::vector<MetricFamily> process_metric_families() {
  Families families;
  std::size_t pages = 0;
  std::size_t resident = 0;
  if (std::ifstream("/proc/self/statm") >> pages >> resident)
    families.gauge("process_resident_memory_bytes", "Resident memory.", {},
                   resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
  if (const std::size_t open = entries_of("/proc/self/fd"); open > 0)
    families.gauge("process_open_fds", "Open file descriptors.", {}, open);
  if (const std::size_t threads = entries_of("/proc/self/task"); threads > 0)
    families.gauge("process_threads", "Threads.", {}, threads);
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0)
    families.counter("process_cpu_seconds_total", "Time on CPUs.", {},
                     seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
  return std::move(families).take();
}

}  // namespace vcap
