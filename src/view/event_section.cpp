// SPDX-License-Identifier: Apache-2.0
// The events of a stream as a report shows them.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "view/event_table.hpp"
#include "view/page_parts.hpp"
#include "view/svg.hpp"

namespace vcap {
namespace {

constexpr std::size_t kMostRows = 32;  // of the timeline
constexpr double kRowHeight = 18, kNameWidth = 200, kTimelineWidth = 640;

std::string place_text(const Event& event) {
  if (!event.line.empty()) return "line " + event.line;
  return event.zone.empty() ? "whole picture" : event.zone;
}

std::string detail_text(const Event& event) {
  if (event.kind == EventKind::attribute)
    return event.category + ": " + event.from + " → " + event.to;
  if (event.count) return std::to_string(*event.count);
  return event.direction;
}

std::string end_text(const Event& event) {
  if (!event.reason) return "open";
  return event.end && *event.reason != EventEnd::momentary
             ? clock_text(seconds_of(event.end->pts - event.begin.pts), 1) + ", " +
                   std::string(to_string(*event.reason))
             : std::string(to_string(*event.reason));
}

std::string count_table(const EventTable& events) {
  std::string rows;
  for (const auto& [key, count] : events.counts()) {
    const auto& [rule, kind, place, detail, object] = key;
    rows += "<tr>" + cell(rule) + cell(std::string(to_string(kind))) + cell(place) + cell(detail) +
            cell(object) + number_cell(count.events) + number_cell(count.open);
    const Histogram& dwell = count.dwell_ms;
    const auto time = [&dwell](double milliseconds) {
      return number_cell(dwell.count() == 0 ? "" : clock_text(milliseconds / 1000, 1));
    };
    rows += time(static_cast<double>(dwell.quantile(0.5))) + time(dwell.mean()) +
            time(static_cast<double>(dwell.quantile(1))) + "</tr>\n";
  }
  return table_of({"Rule", "Kind", "Where", "Direction or change", "Object", "Events", "Open",
                   "Dwell, median", "Mean", "Longest"},
                  rows) +
         more(events.other_kinds(), "events of other kinds");
}

/// The rules in the order of their first event.
std::vector<std::string> rules_of(const EventTable& events) {
  std::vector<std::string> rules;
  for (const EventRecord& record : events.kept())
    if (rules.size() < kMostRows && std::ranges::find(rules, record.event.rule) == rules.end())
      rules.push_back(record.event.rule);
  return rules;
}

struct Span {
  double begin = 0, end = 1;

  double place(double time) const {
    return kNameWidth + kTimelineWidth * std::clamp((time - begin) / (end - begin), 0.0, 1.0);
  }
};

void add_bar(std::string& svg, const Event& event, std::size_t row, const Span& span) {
  const double from = span.place(seconds_of(event.begin.pts));
  // An open one has lasted until now.
  const double to = event.end      ? span.place(seconds_of(event.end->pts))
                    : event.reason ? from
                                   : kNameWidth + kTimelineWidth;
  svg += "<rect x=\"" + tenths(from) + "\" y=\"" +
         tenths(kRowHeight * static_cast<double>(row) + 3) + "\" width=\"" +
         tenths(std::max(to - from, 2.0)) + "\" height=\"" + tenths(kRowHeight - 6) + "\" fill=\"" +
         kSeriesColours[row % kSeriesColours.size()] + "\" opacity=\"0.6\"/>";
}

std::string timeline(const EventTable& events, const Span& span) {
  const std::vector<std::string> rules = rules_of(events);
  const double height = kRowHeight * static_cast<double>(rules.size());
  std::string svg = "<svg viewBox=\"0 0 " + tenths(kNameWidth + kTimelineWidth) + " " +
                    tenths(height + 18) + "\" class=\"plot\" role=\"img\">";
  for (std::size_t row = 0; row < rules.size(); ++row) {
    const double y = kRowHeight * static_cast<double>(row);
    constexpr std::size_t kLongestName = 30;  // characters that fit
    const std::string name =
        rules[row].size() > kLongestName ? rules[row].substr(0, kLongestName) + "…" : rules[row];
    svg += "<rect x=\"" + tenths(kNameWidth) + "\" y=\"" + tenths(y + 1) + "\" width=\"" +
           tenths(kTimelineWidth) + "\" height=\"" + tenths(kRowHeight - 2) +
           "\" fill=\"#eeeeee\"/><text x=\"0\" y=\"" + tenths(y + 13) + "\">" + html_text(name) +
           "</text>";
  }
  for (const EventRecord& record : events.kept()) {
    const auto row = std::ranges::find(rules, record.event.rule);
    if (row != rules.end())
      add_bar(svg, record.event, static_cast<std::size_t>(row - rules.begin()), span);
  }
  for (const double share : {0.0, 0.5, 1.0})
    svg += "<text x=\"" + tenths(kNameWidth + kTimelineWidth * share) + "\" y=\"" +
           tenths(height + 13) + "\" text-anchor=\"" +
           (share == 0   ? "start"
            : share == 1 ? "end"
                         : "middle") +
           "\">" + clock_text(span.begin + (span.end - span.begin) * share) + "</text>";
  return svg + "</svg>\n";
}

/// A link to a file of an event; empty if there is none. `seconds`: into a clip.
std::string file_link(const std::string& folder, const std::string& name, const char* text,
                      double seconds = 0) {
  if (folder.empty() || name.empty()) return {};
  const std::string path = folder + (folder.ends_with('/') ? "" : "/") + name;
  return "<a href=\"" + html_text(link_to(path)) +
         (seconds > 0 ? "#t=" + tenths(seconds) : std::string()) + "\">" + text + "</a>";
}

std::string file_links(const EventRecord& record, const EventLinks& links) {
  std::string snapshot = file_link(links.snapshots, record.snapshot, "picture");
  if (!record.event.reason) return snapshot;  // the clip of an open event is not complete
  const double begin =
      record.clip_start ? seconds_of(record.event.begin.pts - *record.clip_start) : 0;
  const std::string clip = file_link(links.event_clips, record.clip, "clip", begin);
  return snapshot + (snapshot.empty() || clip.empty() ? "" : ", ") + clip;
}

std::string event_rows(const EventTable& events, const EventLinks& links) {
  std::string rows;
  for (const EventRecord& record : events.kept()) {
    const Event& event = record.event;
    rows += "<tr><td class=\"number\">" + time_link(event.begin.pts, links.clip) + "</td>" +
            number_cell(event.begin.frame_index) + cell(event.rule) +
            cell(std::string(to_string(event.kind))) + cell(place_text(event)) +
            cell(detail_text(event)) + cell(event.object) +
            cell(event.track_id ? event.track_id->to_string().substr(0, 8) : std::string()) +
            cell(end_text(event)) + html_cell(file_links(record, links)) + "</tr>\n";
  }
  return rows;
}

}  // namespace

std::string event_section(const EventTable& events, std::chrono::nanoseconds begin,
                          std::chrono::nanoseconds end, const EventLinks& links) {
  if (events.empty()) return {};
  Span span{seconds_of(begin), seconds_of(std::max(end, events.end()))};
  if (span.end <= span.begin) span.end = span.begin + 1;
  const auto left_out = events.events() - static_cast<std::int64_t>(events.kept().size());
  return "<h3>Events</h3>\n" + count_table(events) + timeline(events, span) +
         table_of(
             {"Begin", "Frame", "Rule", "Kind", "Where", "What", "Object", "Track", "End", "Files"},
             event_rows(events, links)) +
         more(left_out, "events");
}

}  // namespace vcap
