// SPDX-License-Identifier: Apache-2.0
// A site of many cameras on one machine: a broker, workers in processes of their own, and cameras
// that give no pictures but cause all messages of real ones. Measures what the broker and the
// workers take, and how long it takes to take over the cameras of a worker that is killed.
#include <signal.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/support/process.hpp"
#include "bench/support/quantile.hpp"
#include "cluster/cluster_impl.hpp"
#include "cluster/nats_server.hpp"
#include "cluster/simulated_site/observer.hpp"
#include "cluster/simulated_site/site_worker.hpp"
#include "cluster/simulated_site/usage.hpp"
#include "support/http_get.hpp"
#include "support/loopback_port.hpp"
#include "support/temporary_folder.hpp"

namespace vcap::simulated {
namespace {

namespace fs = std::filesystem;
using bench::Process;
using bench::quantile;
using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;

struct Arguments {
  std::size_t cameras = 0;
  std::size_t workers = 0;  ///< 0: one for each 1,000 cameras, and at least 4
  int seconds = 10;         ///< that are measured
  SimulatedCamera::Settings camera{};
  double record_time = 1;  ///< in seconds
  double checkpoint_time = 10;
  double keep_gb = 4;    ///< of records that the broker keeps
  std::string folder{};  ///< keeps the logs; empty: a temporary one
};

/// The longest wait for cameras that have no owner, or no records.
constexpr seconds kLongestWait{180};

class SimulatedSite {
 public:
  explicit SimulatedSite(const Arguments& arguments);

  /// Returns whether all cameras ran, and none lost its worker or records but by the kill.
  bool run();

 private:
  struct Worker {
    std::string name{};
    std::unique_ptr<Process> process{};
  };
  /// What the broker and the workers have done so far.
  struct Sums {
    steady_clock::time_point time{};
    Usage broker{};
    Usage workers{};
    nlohmann::json varz{};
    std::map<std::string, std::int64_t> counters{};  ///< of the workers
  };

  void set_limit() const;
  void start_workers();
  void add_cameras() const;
  bool await(const char* what, const std::function<bool()>& holds) const;
  Sums sums() const;
  std::map<std::string, std::int64_t> counters() const;
  bool measure_start();
  bool measure_messages();
  /// Ends the worker with the most cameras by this signal.
  bool measure_takeover(int signal);
  void print_warnings(bool with_text) const;
  std::string path(const std::string& name) const {
    return (arguments_.folder.empty() ? folder_.path() / name : fs::path(arguments_.folder) / name)
        .string();
  }

  const Arguments arguments_;
  const test::TemporaryFolder folder_;
  const std::uint16_t monitor_ = test::free_port();
  const test::NatsServer server_;
  const ClusterSettings settings_{.url = server_.url(), .site = "simulated", .replicas = 1};
  const std::shared_ptr<Cluster> cluster_ = Cluster::connect(settings_);
  Owners owners_{cluster_};
  std::vector<Worker> workers_;
};

std::string monitoring(std::uint16_t port, const std::string& pid_file) {
  return "http: \"127.0.0.1:" + std::to_string(port) + "\"\npid_file: \"" + pid_file + "\"\n";
}

pid_t number_in(const std::string& file) { return std::stoi(test::read_file(file)); }

SimulatedSite::SimulatedSite(const Arguments& arguments)
    : arguments_(arguments), server_(monitoring(monitor_, path("nats.pid"))) {}

/// Of the records that the broker keeps.
void SimulatedSite::set_limit() const {
  Cluster::Impl& impl = cluster_->impl();
  const std::string stream = impl.site.stream(Site::Kind::record);
  nlohmann::json config = impl.jet_stream.demand("STREAM.INFO." + stream, nullptr).at("config");
  config["max_bytes"] = static_cast<std::int64_t>(arguments_.keep_gb * 1e9);
  impl.jet_stream.demand("STREAM.UPDATE." + stream, config);
}

void SimulatedSite::start_workers() {
  // If two have ended, the others have room for their cameras.
  const double load = arguments_.camera.load * static_cast<double>(arguments_.cameras);
  const double capacity = std::ceil(1.25 * load / static_cast<double>(arguments_.workers - 2));
  for (std::size_t i = 0; i < arguments_.workers; ++i) {
    const SiteWorker worker{.name = "worker-" + std::to_string(i),
                            .url = settings_.url,
                            .folder = path("."),
                            .capacity = capacity,
                            .camera = arguments_.camera,
                            .record_time = arguments_.record_time,
                            .checkpoint_time = arguments_.checkpoint_time};
    workers_.push_back({worker.name, std::make_unique<Process>(worker.words())});
  }
}

void SimulatedSite::add_cameras() const {
  Cluster::Impl& impl = cluster_->impl();
  std::vector<JetStream::NewMessage> messages;
  for (std::size_t i = 0; i < arguments_.cameras; ++i) {
    const std::string id = "camera-" + std::to_string(i);
    // Of the length that a real one has.
    const StreamMessage message{
        .source = "rtsp://user:secret@10.0.0.1:554/stream/" + id,
        .capsules = {{.name = "tracker",
                      .object = {"capsule/tracker", 1 << 20, std::string(64, 'a')},
                      .config = nlohmann::json::object(),
                      .options = nlohmann::json::object(),
                      .stream_config = nlohmann::json::object()}},
        .load = arguments_.camera.load,
        .capsule_deadline = seconds(10),
        .silence_limit = milliseconds(5'000),
        .max_pixels = 67'108'864};
    messages.push_back({impl.site.subject(Site::Kind::stream, {id}), to_message(message)});
  }
  impl.jet_stream.store_each(messages);
}

bool SimulatedSite::await(const char* what, const std::function<bool()>& holds) const {
  const auto end = steady_clock::now() + kLongestWait;
  while (!holds()) {
    if (steady_clock::now() > end) {
      std::printf("FAILED: waited for %s for %d s\n", what, static_cast<int>(kLongestWait.count()));
      return false;
    }
    std::this_thread::sleep_for(milliseconds(20));
  }
  return true;
}

std::map<std::string, std::int64_t> SimulatedSite::counters() const {
  Cluster::Impl& impl = cluster_->impl();
  std::map<std::string, std::int64_t> sums;
  for (const StoredMessage& message : impl.jet_stream.all(impl.site.stream(Site::Kind::worker),
                                                          impl.site.all(Site::Kind::worker, {}))) {
    const WorkerMessage worker = read_worker_message(message.body);
    for (const auto& [name, value] : worker.statistics.items())
      sums[name] += value.get<std::int64_t>();
  }
  return sums;
}

SimulatedSite::Sums SimulatedSite::sums() const {
  Sums sums{.time = steady_clock::now(), .broker = usage_of(number_in(path("nats.pid")))};
  for (const Worker& worker : workers_)
    if (worker.process) sums.workers += usage_of(worker.process->id());
  sums.varz = nlohmann::json::parse(test::http_get(monitor_, "/varz").body);
  sums.counters = counters();
  return sums;
}

bool SimulatedSite::measure_start() {
  start_workers();
  if (!await("workers", [this] {
        Cluster::Impl& impl = cluster_->impl();
        return impl.jet_stream.count(impl.site.stream(Site::Kind::worker), {}) == workers_.size();
      }))
    return false;
  const auto begin = steady_clock::now();
  add_cameras();
  const double added = duration<double>(steady_clock::now() - begin).count();
  if (!await("owners of all cameras", [this] { return owners_.owned() == arguments_.cameras; })) {
    std::printf("        %zu of %zu have one\n", owners_.owned(), arguments_.cameras);
    return false;
  }
  std::printf("all cameras have an owner after       %8.1f s (they were added in %.1f s)\n",
              duration<double>(steady_clock::now() - begin).count(), added);
  std::printf("claims for each camera                %8.2f\n",
              static_cast<double>(owners_.claims()) / static_cast<double>(arguments_.cameras));
  return true;
}

bool SimulatedSite::measure_messages() {
  // The spools empty themselves first.
  std::this_thread::sleep_for(seconds(std::min(arguments_.seconds, 10)));
  const std::uint64_t claims = owners_.claims();
  const Sums before = sums();
  std::this_thread::sleep_for(seconds(arguments_.seconds));
  const Sums after = sums();
  const double time = duration<double>(after.time - before.time).count();
  const auto rate = [&](const char* name) {
    return (after.varz.at(name).get<double>() - before.varz.at(name).get<double>()) / time;
  };
  const auto counted = [&](const char* name) {
    return static_cast<double>(after.counters.at(name) - before.counters.at(name));
  };
  std::printf("measured for                          %8.1f s\n", time);
  std::printf("messages to the broker                %8.0f /s, %.1f MB/s\n", rate("in_msgs"),
              rate("in_bytes") / 1e6);
  std::printf("messages from the broker              %8.0f /s, %.1f MB/s\n", rate("out_msgs"),
              rate("out_bytes") / 1e6);
  std::printf("records                               %8.0f /s, in %.0f messages/s\n",
              counted("records") / time, counted("record_messages_delivered") / time);
  std::printf("messages that wait in spools          %8lld, %lld before\n",
              static_cast<long long>(after.counters.at("record_messages_waiting")),
              static_cast<long long>(before.counters.at("record_messages_waiting")));
  const auto print_usage = [&](const char* who, const Usage& from, const Usage& to) {
    std::printf(
        "%-24s              %8.2f cores, %.0f MiB of memory, %.1f MiB/s written, "
        "%.0f threads\n",
        who, (to.cpu_seconds - from.cpu_seconds) / time, to.memory_mib,
        (to.written_mib - from.written_mib) / time, to.threads);
  };
  print_usage("broker", before.broker, after.broker);
  print_usage("all workers", before.workers, after.workers);
  const auto moved = owners_.claims() - claims;
  const std::int64_t lost =
      after.counters.at("record_messages_lost") + after.counters.at("record_messages_set_aside");
  if (moved > 0 || lost > 0 || owners_.owned() != arguments_.cameras) {
    std::printf("FAILED: %llu cameras were claimed again, %lld messages were lost or set aside\n",
                static_cast<unsigned long long>(moved), static_cast<long long>(lost));
    return false;
  }
  return true;
}

void print_times(const char* what, const std::vector<double>& times) {
  if (times.empty()) return;
  std::printf("%-36s  %8.1f s median, %.1f s p99, %.1f s maximum\n", what, quantile(times, 0.5),
              quantile(times, 0.99), quantile(times, 1));
}

bool SimulatedSite::measure_takeover(int signal) {
  const auto streams = owners_.streams();
  const auto largest =
      std::ranges::max_element(streams, {}, [](const auto& entry) { return entry.second.size(); });
  const std::set<std::string>& cameras = largest->second;
  const auto before = owners_.entries();
  const auto victim =
      std::ranges::find(workers_, largest->first, [](const Worker& worker) { return worker.name; });
  std::printf("%-36s  %8zu cameras\n",
              signal == SIGKILL ? "killed: a worker with" : "ended by SIGTERM: a worker with",
              cameras.size());
  const auto time = system_clock::now();
  ::kill(victim->process->id(), signal);
  bool is_whole = await("other owners of its cameras", [&] {
    const auto entries = owners_.entries();
    return std::ranges::all_of(cameras, [&](const std::string& id) {
      return entries.at(id).epoch > before.at(id).epoch && !entries.at(id).worker.empty();
    });
  });
  const auto since = [time](system_clock::time_point then) {
    return duration<double>(then - time).count();
  };
  std::vector<double> owned;
  std::size_t others = 0;
  std::size_t often = 0;
  for (const auto& [id, entry] : owners_.entries()) {
    const std::uint64_t claims = entry.epoch - before.at(id).epoch;
    if (cameras.contains(id) && claims > 0) owned.push_back(since(entry.since));
    if (cameras.contains(id) && claims > 1) ++often;
    if (!cameras.contains(id) && claims > 0) ++others;
  }
  std::map<std::string, system_clock::time_point> recorded;
  is_whole = is_whole && await("records of its cameras", [&] {
               std::this_thread::sleep_for(milliseconds(500));
               recorded = first_records(*cluster_, cameras, time);
               return recorded.size() == cameras.size();
             });
  std::vector<double> recording;
  for (const auto& [id, first] : recorded) recording.push_back(since(first));
  print_times("owned by others after", owned);
  print_times("records at the broker after", recording);
  victim->process->wait();
  victim->process.reset();
  if (signal != SIGKILL)
    std::printf("the process has ended within          %8.1f s\n", since(system_clock::now()));
  if (others + often > 0)
    std::printf("FAILED: %zu cameras of other workers were claimed again, and %zu more than once\n",
                others, often);
  return is_whole && others + often == 0;
}

void SimulatedSite::print_warnings(bool with_text) const {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < arguments_.workers; ++i) {
    const std::string name = "worker-" + std::to_string(i);
    std::ifstream log(path(name + ".log"));
    for (std::string line; std::getline(log, line);) lines.push_back(name + ": " + line);
  }
  std::printf("warnings of the workers               %8zu\n", lines.size());
  if (!with_text) return;
  for (std::size_t i = 0; i < std::min<std::size_t>(lines.size(), 20); ++i)
    std::printf("  %s\n", lines[i].c_str());
}

bool SimulatedSite::run() {
  std::printf(
      "%zu simulated cameras of %g frames/s with %d objects on %zu workers\n"
      "a message of each every %g s, a checkpoint every %g s\n",
      arguments_.cameras, arguments_.camera.frames, arguments_.camera.objects, arguments_.workers,
      arguments_.record_time, arguments_.checkpoint_time);
  set_limit();
  bool is_whole = measure_start();
  is_whole = is_whole && measure_messages();
  is_whole = is_whole && measure_takeover(SIGKILL);
  is_whole = is_whole && measure_takeover(SIGTERM);
  print_warnings(!is_whole);
  return is_whole;
}

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<Arguments> read_arguments(const std::vector<std::string>& given) {
  Arguments arguments;
  if (given.empty() || !read_number(given[0], arguments.cameras) || arguments.cameras < 1)
    return {};
  for (std::size_t i = 1; i < given.size(); i += 2) {
    if (i + 1 == given.size()) return {};
    const std::string& name = given[i];
    const std::string& value = given[i + 1];
    const bool is_valid = name == "--workers"   ? read_number(value, arguments.workers)
                          : name == "--seconds" ? read_number(value, arguments.seconds)
                          : name == "--frames"  ? read_number(value, arguments.camera.frames)
                          : name == "--objects" ? read_number(value, arguments.camera.objects)
                          : name == "--state"   ? read_number(value, arguments.camera.state_bytes)
                          : name == "--record-time" ? read_number(value, arguments.record_time)
                          : name == "--checkpoint-time"
                              ? read_number(value, arguments.checkpoint_time)
                          : name == "--keep" ? read_number(value, arguments.keep_gb)
                                             : name == "--folder";
    if (!is_valid) return {};
    if (name == "--folder") arguments.folder = value;
  }
  if (arguments.workers == 0)
    arguments.workers = std::max<std::size_t>(4, (arguments.cameras + 999) / 1'000);
  if (arguments.workers < 3 || arguments.seconds < 1 || !(arguments.camera.frames > 0) ||
      !(arguments.record_time > 0) || !(arguments.checkpoint_time > 0))
    return {};
  return arguments;
}

}  // namespace
}  // namespace vcap::simulated

int main(int argc, char** argv) {
  using namespace vcap::simulated;
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (SiteWorker::is_one(words)) return SiteWorker::read(words).run();
  const auto arguments = read_arguments(words);
  if (!arguments) {
    std::fprintf(
        stderr,
        "vcap_simulated_site CAMERAS [--workers N] [--seconds N] [--frames N] "
        "[--objects N]\n  [--state BYTES] [--record-time S] [--checkpoint-time S] [--keep GB] "
        "[--folder PATH]\n"
        "--workers: at least 3; one for each 1,000 cameras. --seconds: that are measured; "
        "10. --frames: analysed in a second; 10.\n--objects: in each frame; 2. --state: of "
        "each camera's checkpoint; 2000.\n--record-time, --checkpoint-time: as of vcap worker; 1 "
        "and 10. --keep: records that the broker keeps; 4.\n"
        "--folder: keeps the logs of the workers there.\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    return SimulatedSite(*arguments).run() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simulated site: %s\n", error.what());
    return 1;
  }
}
