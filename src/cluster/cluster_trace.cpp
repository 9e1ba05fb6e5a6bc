// SPDX-License-Identifier: Apache-2.0
#include "vcap/cluster/cluster_trace.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "vcap/base/error.hpp"
#include "vcap/cluster/site_status.hpp"

namespace vcap {
namespace {

using nlohmann::json;

/// Of a span, whatever an event says; so no sum of times overflows.
constexpr std::chrono::hours kLongestPart{24 * 7};
constexpr std::size_t kMostParts = 100;
/// For an event that the broker has when the reader asks.
constexpr std::chrono::seconds kReadWait{1};
/// After these, the owner has the stream no more.
constexpr std::array<std::string_view, 4> kEndsOfStream{"stream ended", "stream failed",
                                                        "stream released", "stream lost"};

/// Some work of one process.
struct Span {
  std::string name{};
  std::string by{};
  std::string chain{};  ///< arrows go from each span of a chain to the next one
  std::chrono::nanoseconds begin{};
  std::chrono::nanoseconds end{};
  json parts = json::array();  ///< TimedParts::json()
  json details{};
  int lane = 0;
};

bool is_of(const ClusterEvent& event, const std::string& id) {
  for (const char* const key : {"job", "stream"})
    if (const auto found = event.details->find(key); found != event.details->end() && *found == id)
      return true;
  return false;
}

std::vector<ClusterEvent> events_of(const std::shared_ptr<Cluster>& cluster,
                                    const std::string& id) {
  std::vector<ClusterEvent> events;
  ClusterEventReader reader(cluster);
  do {
    for (ClusterEvent& event : reader.next(kReadWait))
      if (is_of(event, id)) events.push_back(std::move(event));
  } while (reader.has_more());
  return events;
}

std::chrono::nanoseconds seconds_of(const json& value) {
  constexpr std::chrono::duration<double> kMost = kLongestPart;
  const double given = value.is_number() ? value.get<double>() : 0;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(std::clamp(given, 0.0, kMost.count())));
}

/// What events say, as spans. Events come from other processes, so they may say anything.
class Spans {
 public:
  void add(const ClusterEvent& event) {
    if (event.details->contains("epoch")) add_of_stream(event);
    const auto parts = event.details->find("parts");
    if (parts == event.details->end() || !parts->is_array()) return;
    Span span{.name = event.event, .by = event.by, .end = event.time, .details = *event.details};
    std::chrono::nanoseconds length{0};
    for (const json& part : *parts) {
      if (!part.is_array() || part.size() != 2 || !part[0].is_string()) continue;
      if (span.parts.size() == kMostParts) break;
      length += seconds_of(part[1]);
      span.parts.push_back(part);
    }
    span.begin = event.time - length;
    if (event.details->contains("slice")) span.chain = event.details->at("slice").dump();
    spans_.push_back(std::move(span));
  }

  /// In the order of their beginnings. `last`: the time of the last event.
  std::vector<Span> take(std::chrono::nanoseconds last) {
    if (owner_) close(last);
    std::ranges::stable_sort(spans_, {}, &Span::begin);
    return std::move(spans_);
  }

 private:
  void add_of_stream(const ClusterEvent& event) {
    const json& epoch = event.details->at("epoch");
    const bool is_claim = event.event == "stream claimed" || event.event == "stream taken over";
    if (is_claim) {
      if (owner_) close(event.time);
      owner_ = Span{.name = "owner of the stream",
                    .by = event.by,
                    .chain = "stream",
                    .begin = event.time,
                    .details = {{"epoch", epoch}}};
    } else if (owner_ && owner_->by == event.by && owner_->details["epoch"] == epoch) {
      if (std::ranges::find(kEndsOfStream, event.event) == kEndsOfStream.end()) return;
      owner_->details.update(*event.details);
      close(event.time);
    }
  }
  void close(std::chrono::nanoseconds end) {
    owner_->end = end;
    spans_.push_back(*std::exchange(owner_, std::nullopt));
  }

  std::vector<Span> spans_;
  std::optional<Span> owner_;  ///< the one that has the stream
};

/// Writes events of the Trace Event Format.
class TraceWriter {
 public:
  TraceWriter(std::string trace, std::chrono::nanoseconds begin)
      : trace_(std::move(trace)), begin_(begin) {}

  void add(const ClusterEvent& event) {
    json added = this->event("i", event.event, event.by, 0, event.time, *event.details);
    added["s"] = "p";
    events_.push_back(std::move(added));
  }

  void add(Span& span) {
    span.lane = free_lane(span);
    add_slice(span.name, span, span.begin, span.end, span.details);
    std::chrono::nanoseconds at = span.begin;
    for (const json& part : span.parts) {
      const std::chrono::nanoseconds end = at + seconds_of(part[1]);
      add_slice(part[0], span, at, end, json::object());
      at = end;
    }
    if (span.chain.empty()) return;
    const auto before = chains_.find(span.chain);
    if (before != chains_.end()) add_arrow(before->second, span);
    chains_.insert_or_assign(span.chain, span);
  }

  json take() && {
    for (const auto& [name, number] : processes_)
      events_.push_back({{"ph", "M"},
                         {"name", "process_name"},
                         {"pid", number},
                         {"tid", 0},
                         {"args", {{"name", name}}}});
    return {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events_)}};
  }

 private:
  json event(const char* phase, const std::string& name, const std::string& by, int lane,
             std::chrono::nanoseconds at, json details = json::object()) {
    details["trace"] = trace_;
    const int process =
        processes_.try_emplace(by, static_cast<int>(processes_.size()) + 1).first->second;
    return {{"ph", phase},
            {"name", name},
            {"pid", process},
            {"tid", lane},
            {"ts", microseconds(at - begin_)},
            {"args", std::move(details)}};
  }

  void add_slice(const std::string& name, const Span& span, std::chrono::nanoseconds begin,
                 std::chrono::nanoseconds end, const json& details) {
    json added = event("X", name, span.by, span.lane, begin, details);
    added["dur"] = microseconds(end - begin);
    events_.push_back(std::move(added));
  }

  void add_arrow(const Span& from, const Span& to) {
    ++arrows_;
    for (const auto& [phase, span, at] :
         {std::tuple("s", &from, from.begin), std::tuple("f", &to, to.begin)}) {
      json added = event(phase, "next", span->by, span->lane, at);
      added["cat"] = "next";
      added["id"] = arrows_;
      added["bp"] = "e";
      events_.push_back(std::move(added));
    }
  }

  /// Spans of a lane do not overlap. Lane 0 is for instants.
  int free_lane(const Span& span) {
    std::vector<std::chrono::nanoseconds>& ends = lanes_[span.by];
    const auto free =
        std::ranges::find_if(ends, [&](std::chrono::nanoseconds end) { return end <= span.begin; });
    const auto lane = free - ends.begin();
    if (free == ends.end())
      ends.push_back(span.end);
    else
      *free = span.end;
    return static_cast<int>(lane) + 1;
  }

  static double microseconds(std::chrono::nanoseconds time) {
    return static_cast<double>(time.count()) / 1e3;
  }

  const std::string trace_;
  const std::chrono::nanoseconds begin_;
  json events_ = json::array();
  std::map<std::string, int> processes_;
  std::map<std::string, std::vector<std::chrono::nanoseconds>>
      lanes_;                           ///< where their last spans end
  std::map<std::string, Span> chains_;  ///< the last span of each
  int arrows_ = 0;
};

}  // namespace

JsonValue cluster_trace(const std::shared_ptr<Cluster>& cluster, const std::string& id) {
  const std::vector<ClusterEvent> events = events_of(cluster, id);
  if (events.empty())
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "no event of site " + cluster->site() + " is about a job or stream " +
                              quote(id) +
                              "; `vcap cluster events` shows the events that there are");
  Spans found;
  for (const ClusterEvent& event : events) found.add(event);
  std::vector<Span> spans = found.take(events.back().time);
  std::chrono::nanoseconds begin = events.front().time;
  if (!spans.empty()) begin = std::min(begin, spans.front().begin);
  TraceWriter writer(id, begin);
  for (const ClusterEvent& event : events)
    if (!event.details->contains("parts")) writer.add(event);
  for (Span& span : spans) writer.add(span);
  return std::move(writer).take();
}

}  // namespace vcap
