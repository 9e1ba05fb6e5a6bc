// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster_text.hpp"

#include <ctime>
#include <ostream>
#include <string>

#include "base/text.hpp"
#include "cli/time_text.hpp"

namespace vcap::cli {
namespace {

/// With commas.
template <class Names>
std::string list_of(const Names& names) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += ',';
    text += printable(name);
  }
  return text;
}

std::string cores_text(double cores) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", cores);
  return text;
}

/// In UTC, as RFC 3339 has it, with milliseconds.
std::string utc_text(std::chrono::nanoseconds since_1970) {
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count();
  const std::time_t seconds = milliseconds / 1000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[64];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + size, sizeof text - size, ".%03dZ", static_cast<int>(milliseconds % 1000));
  return text;
}

std::string left_text(const ClusterJobStatus& job) {
  if (!job.left) return {};
  return "; about " + time_text(std::chrono::duration<double>(*job.left).count()) + " left";
}

}  // namespace

std::chrono::nanoseconds seconds_of(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(seconds));
}

void write_text(std::ostream& out, const std::vector<ClusterStreamStatus>& streams) {
  for (const ClusterStreamStatus& stream : streams) {
    out << printable(stream.id) << "  " << to_string(stream.state);
    if (!stream.worker.empty()) out << " on " << printable(stream.worker);
    out << "  epoch " << stream.epoch << "  load " << cores_text(stream.load) << "  "
        << printable(stream.source) << "  " << list_of(stream.capsules);
    if (!stream.labels.empty()) out << "  labels " << list_of(stream.labels);
    if (!stream.reason.empty()) out << "  (" << printable(stream.reason) << ')';
    out << '\n';
  }
}

void write_text(std::ostream& out, const std::vector<ClusterWorkerStatus>& workers) {
  for (const ClusterWorkerStatus& worker : workers) {
    out << printable(worker.name) << "  " << to_string(worker.state) << "  streams "
        << worker.streams.size() << "  load " << cores_text(worker.load) << " of "
        << cores_text(worker.capacity) << "  host " << printable(worker.host) << "  vcap "
        << printable(worker.version) << "  labels " << list_of(worker.labels);
    if (!worker.view.empty()) out << "  view " << printable(worker.view);
    out << '\n';
    for (const auto& [stream, reason] : worker.unfit)
      out << "  cannot run " << printable(stream) << ": " << printable(reason) << '\n';
  }
}

void write_text(std::ostream& out, const std::vector<ClusterJobStatus>& jobs) {
  for (const ClusterJobStatus& job : jobs)
    out << job.id << "  " << printable(job.name) << "  " << job.state << "  priority "
        << job.priority << "  videos " << job.videos << "  slices: " << job.tasks.waiting
        << " waiting, " << job.tasks.leased << " in progress, " << job.tasks.done << " done, "
        << job.tasks.given_up << " given up" << left_text(job) << '\n';
}

void write_text(std::ostream& out, const ClusterEvent& event) {
  out << utc_text(event.time) << "  " << printable(event.event) << "  by " << printable(event.by);
  for (const auto& [name, value] : event.details->items())
    out << "  " << printable(name) << '='
        << (value.is_string() ? printable(value.get<std::string>()) : value.dump());
  out << '\n';
}

nlohmann::json as_json(const std::vector<ClusterStreamStatus>& streams) {
  nlohmann::json result = nlohmann::json::array();
  for (const ClusterStreamStatus& stream : streams)
    result.push_back({{"id", stream.id},
                      {"state", to_string(stream.state)},
                      {"source", stream.source},
                      {"worker", stream.worker},
                      {"epoch", stream.epoch},
                      {"load", stream.load},
                      {"labels", stream.labels},
                      {"capsules", stream.capsules},
                      {"reason", stream.reason}});
  return result;
}

nlohmann::json as_json(const std::vector<ClusterWorkerStatus>& workers) {
  nlohmann::json result = nlohmann::json::array();
  for (const ClusterWorkerStatus& worker : workers)
    result.push_back({{"name", worker.name},
                      {"state", to_string(worker.state)},
                      {"host", worker.host},
                      {"version", worker.version},
                      {"seen_s", std::chrono::duration<double>(worker.seen).count()},
                      {"capacity", worker.capacity},
                      {"slots", worker.slots},
                      {"load", worker.load},
                      {"streams", worker.streams},
                      {"labels", worker.labels},
                      {"unfit", worker.unfit},
                      {"statistics", *worker.statistics},
                      {"view", worker.view}});
  return result;
}

nlohmann::json as_json(const std::vector<ClusterJobStatus>& jobs) {
  nlohmann::json result = nlohmann::json::array();
  for (const ClusterJobStatus& job : jobs) {
    result.push_back({{"id", job.id},
                      {"state", job.state},
                      {"name", job.name},
                      {"submitted", utc_text(job.submitted)},
                      {"priority", job.priority},
                      {"videos", job.videos},
                      {"slices",
                       {{"waiting", job.tasks.waiting},
                        {"in_progress", job.tasks.leased},
                        {"done", job.tasks.done},
                        {"given_up", job.tasks.given_up}}}});
    if (job.left) result.back()["left_s"] = std::chrono::duration<double>(*job.left).count();
  }
  return result;
}

nlohmann::json as_json(const ClusterEvent& event) {
  nlohmann::json result = *event.details;
  result["time"] = utc_text(event.time);
  result["event"] = event.event;
  result["by"] = event.by;
  return result;
}

}  // namespace vcap::cli
