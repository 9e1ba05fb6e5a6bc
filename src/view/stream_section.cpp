// SPDX-License-Identifier: Apache-2.0
#include "view/stream_section.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/text.hpp"
#include "view/clip_pictures.hpp"
#include "view/svg.hpp"

namespace vcap {
namespace {

using std::chrono::nanoseconds;

constexpr double kBarWidth = 360;

std::string facts(const StreamSummary& summary, const std::string& clip) {
  const double duration = seconds_of(summary.duration());
  std::string rows;
  const auto row = [&rows](const char* name, const std::string& value) {
    rows += "<tr><th>" + std::string(name) + "</th>" + cell(value) + "</tr>\n";
  };
  row("Frames", std::to_string(summary.frames()));
  row("Time", clock_text(seconds_of(summary.begin()), 1) + " to " +
                  clock_text(seconds_of(summary.begin()) + duration, 1));
  if (duration > 0)
    row("Frame rate", tenths(static_cast<double>(summary.frames() - 1) / duration) + " per second");
  if (summary.resolution().area() > 0)
    row("Picture", std::to_string(summary.resolution().width) + " × " +
                       std::to_string(summary.resolution().height) + " pixels");
  row("Dropped frames", std::to_string(summary.dropped()));
  row("Failed frames", std::to_string(summary.failed_frames()));
  row("Objects", std::to_string(summary.objects()));
  row("Tracks", std::to_string(summary.tracks().tracks()));
  if (!clip.empty()) row("Clip", clip);
  return "<table class=\"facts\"><tbody>\n" + rows + "</tbody></table>\n";
}

/// The numbers of names, those with the most objects first.
std::vector<std::size_t> most_frequent(const StreamSummary& summary) {
  std::vector<std::size_t> names(summary.objects_by_name().size());
  std::iota(names.begin(), names.end(), std::size_t{0});
  std::ranges::stable_sort(names, std::ranges::greater{},
                           [&](std::size_t name) { return summary.objects_by_name()[name]; });
  return names;
}

std::string objects_over_time(const StreamSummary& summary) {
  if (summary.objects() == 0) return "<p>No objects.</p>\n";
  std::vector<PlotSeries> series;
  const TimeParts& time = summary.over_time();
  const double length = seconds_of(time.length_of_part());
  std::string rows;
  for (const std::size_t name : most_frequent(summary)) {
    const std::int64_t count = summary.objects_by_name()[name];
    rows +=
        "<tr>" + cell(summary.names()[name]) + number_cell(count) +
        number_cell(tenths(static_cast<double>(count) / static_cast<double>(summary.frames()))) +
        "</tr>\n";
    if (series.size() == kSeriesColours.size()) continue;
    PlotSeries& one = series.emplace_back(PlotSeries{.name = summary.names()[name]});
    for (std::size_t part = 0; part < time.parts().size(); ++part)
      if (time.parts()[part].frames > 0)
        one.points.emplace_back((static_cast<double>(part) + 0.5) * length, time.mean(part, name));
  }
  return "<h3>Objects over time</h3>\n" +
         time_plot(series, seconds_of(summary.begin()),
                   seconds_of(summary.begin() + summary.duration()), "objects a frame") +
         table_of({"Name", "Objects", "A frame"}, rows);
}

std::string heat_map(const StreamSummary& summary, const std::string& background) {
  const HeatGrid& heat = summary.heat();
  if (heat.largest() == 0) return {};
  const cv::Size size = summary.resolution();
  const double width = 640, height = width * size.height / size.width;
  const double x = width / HeatGrid::kColumns, y = height / HeatGrid::kRows;
  std::string svg = "<h3>Where objects stood</h3>\n<svg viewBox=\"0 0 " + tenths(width) + " " +
                    tenths(height) + "\" class=\"map\" role=\"img\">";
  if (background.empty())
    svg += "<rect width=\"100%\" height=\"100%\" fill=\"#222222\"/>";
  else
    svg += "<image width=\"" + tenths(width) + "\" height=\"" + tenths(height) + "\" href=\"" +
           background + "\"/>";
  for (std::size_t row = 0; row < HeatGrid::kRows; ++row)
    for (std::size_t column = 0; column < HeatGrid::kColumns; ++column) {
      const std::uint32_t count = heat.at(row, column);
      if (count == 0) continue;
      // The square root shows rare places, too.
      const double share = std::sqrt(static_cast<double>(count) / heat.largest());
      char text[128];
      std::snprintf(text, sizeof text,
                    "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.2f\" "
                    "fill=\"hsl(%d,100%%,50%%)\" opacity=\"%.2f\"/>",
                    static_cast<double>(column) * x, static_cast<double>(row) * y, x, y,
                    static_cast<int>(60 * (1 - share)), 0.15 + 0.65 * share);
      svg += text;
    }
  return svg +
         "</svg>\n<p class=\"note\">The middle of the lower edge of each box; the brightest "
         "cell has " +
         std::to_string(heat.largest()) + ".</p>\n";
}

std::string dwell_table(const StreamSummary& summary) {
  std::string rows;
  const auto time = [](std::uint64_t milliseconds) {
    return number_cell(clock_text(static_cast<double>(milliseconds) / 1000, 1));
  };
  for (const auto& [name, dwell] : summary.tracks().dwell_times())
    rows += "<tr>" + cell(summary.names()[name]) +
            number_cell(static_cast<std::int64_t>(dwell.count())) + time(dwell.quantile(0.5)) +
            time(static_cast<std::uint64_t>(dwell.mean())) + time(dwell.quantile(0.95)) +
            time(dwell.quantile(1)) + "</tr>\n";
  std::string text = "<h3>Dwell times</h3>\n" +
                     table_of({"Name", "Tracks", "Median", "Mean", "95 %", "Longest"}, rows);
  if (summary.tracks().has_dropped())
    text +=
        "<p class=\"note\">There were more tracks at once than are followed, so a track that "
        "paused may count twice.</p>\n";
  return text;
}

std::string bar_of(const SeenTrack& track, const StreamSummary& summary, const char* colour) {
  const double all = std::max(seconds_of(summary.duration()), 1e-9);
  const double begin = kBarWidth * seconds_of(track.begin - summary.begin()) / all;
  const double width = std::max(1.0, kBarWidth * seconds_of(track.dwell()) / all);
  return "<td><svg viewBox=\"0 0 " + tenths(kBarWidth) +
         " 12\" class=\"bar\"><rect width=\"100%\" height=\"12\" fill=\"#eeeeee\"/><rect x=\"" +
         tenths(begin) + "\" width=\"" + tenths(width) + "\" height=\"12\" fill=\"" + colour +
         "\"/></svg></td>";
}

std::string track_table(const StreamSummary& summary, const std::vector<SeenTrack>& tracks,
                        const std::vector<std::string>& thumbnails, const std::string& clip) {
  std::string rows;
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    const SeenTrack& track = tracks[i];
    rows += "<tr><td class=\"picture\">";
    if (!thumbnails[i].empty()) rows += "<img alt=\"\" src=\"" + thumbnails[i] + "\"/>";
    rows += "</td>" + cell(track.id.to_string().substr(0, 8)) + cell(summary.names()[track.name]) +
            "<td class=\"number\">" + time_link(track.begin, clip) + "</td>" +
            number_cell(clock_text(seconds_of(track.dwell()), 1)) + number_cell(track.frames) +
            bar_of(track, summary, kSeriesColours[track.name % kSeriesColours.size()]) + "</tr>\n";
  }
  std::string text = "<h3>Tracks</h3>\n" +
                     table_of({"", "Track", "Name", "Begin", "Dwell", "Frames", "When"}, rows);
  if (tracks.size() < summary.tracks().tracks())
    text += "<p class=\"note\">The longest " + std::to_string(tracks.size()) + " of " +
            std::to_string(summary.tracks().tracks()) + " tracks.</p>\n";
  return text;
}

std::string attribute_table(const StreamSummary& summary) {
  if (summary.attributes().empty()) return {};
  std::string rows;
  for (const auto& [category, values] : summary.attributes())
    for (const auto& [value, count] : values)
      rows += "<tr>" + cell(category) + cell(value) + number_cell(count) + "</tr>\n";
  return "<h3>Attributes</h3>\n" + table_of({"Attribute", "Value", "Objects"}, rows) +
         more(summary.other_values(), "values");
}

std::string drop_table(const StreamSummary& summary) {
  if (summary.drops().empty()) return {};
  std::string rows;
  for (const auto& [reason, count] : summary.drops())
    rows += "<tr>" + cell(reason) + number_cell(count) + "</tr>\n";
  return "<h3>Dropped frames</h3>\n" + table_of({"Reason", "Frames"}, rows);
}

/// The first frames of a message with their times.
std::string frame_links(const SeenMessage& message, const std::string& clip) {
  std::string text;
  for (const auto& [index, pts] : message.frames)
    text += (text.empty() ? "" : ", ") + std::to_string(index) + " (" + time_link(pts, clip) + ")";
  return message.count > static_cast<std::int64_t>(message.frames.size()) ? text + ", …" : text;
}

std::string message_table(const char* heading, const std::vector<SeenMessage>& messages,
                          std::int64_t others, const char* what, const std::string& clip) {
  if (messages.empty()) return {};
  std::string rows;
  for (const SeenMessage& message : messages)
    rows += "<tr>" + cell(message.capsule) + cell(message.code) + cell(message.text) +
            number_cell(message.count) + html_cell(frame_links(message, clip)) + "</tr>\n";
  return "<h3>" + std::string(heading) + "</h3>\n" +
         table_of({"Capsule", "Code", "Message", "Frames", "First frames"}, rows) +
         more(others, what);
}

std::string change_table(const StreamSummary& summary, const std::string& clip) {
  if (summary.changes().empty()) return {};
  std::string rows;
  for (const SeenChange& change : summary.changes())
    rows += "<tr>" + number_cell(change.frame) + "<td class=\"number\">" +
            time_link(change.pts, clip) + "</td>" + cell(change.text) + "</tr>\n";
  return "<h3>Changes</h3>\n" + table_of({"From frame", "Time", "Change"}, rows) +
         more(summary.other_changes(), "changes");
}

/// A picture for each track, then the background; empty where there is none.
std::vector<std::string> section_pictures(const StreamSummary& summary,
                                          const std::vector<SeenTrack>& tracks,
                                          const StreamClip& clip) {
  std::vector<std::string> pictures(tracks.size() + 1);
  if (clip.file.empty()) {
    std::ranges::transform(tracks, pictures.begin(),
                           [&](const SeenTrack& track) { return summary.thumbnail(track.id); });
    pictures.back() = summary.background();
    return pictures;
  }
  std::vector<WantedPicture> wanted;
  wanted.reserve(pictures.size());
  for (const SeenTrack& track : tracks)
    wanted.push_back(
        {track.largest_at, track.largest, summary.resolution(), TrackThumbnails::kLongestSide});
  wanted.push_back({summary.begin(), {}, {}, StreamSummary::kBackgroundSide});
  return clip_pictures(clip.file, wanted);
}

}  // namespace

std::string stream_section(const std::string& stream, const StreamSummary& summary,
                           const StreamClip& stream_clip, EventLinks events) {
  const std::string& clip = stream_clip.link;
  events.clip = clip;
  const std::vector<SeenTrack> tracks = summary.tracks().longest();
  const std::vector<std::string> pictures = section_pictures(summary, tracks, stream_clip);
  std::string text = "<section>\n<h2>" + html_text(stream) + "</h2>\n" + facts(summary, clip) +
                     objects_over_time(summary) + heat_map(summary, pictures.back());
  if (!summary.picture_failure().empty())
    text += "<p class=\"note\">No pictures: " + html_text(summary.picture_failure()) + "</p>\n";
  text += event_section(summary.events(), summary.begin(), summary.begin() + summary.duration(),
                        events);
  if (!tracks.empty()) text += dwell_table(summary) + track_table(summary, tracks, pictures, clip);
  return text + attribute_table(summary) + drop_table(summary) +
         message_table("Errors", summary.errors(), summary.other_errors(), "errors", clip) +
         message_table("Warnings", summary.warnings(), summary.other_warnings(), "warnings", clip) +
         change_table(summary, clip) + "</section>\n";
}

}  // namespace vcap
