// SPDX-License-Identifier: Apache-2.0
#include "view/comparison_page.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "view/box_drawing.hpp"
#include "view/clip_pictures.hpp"
#include "view/svg.hpp"

namespace vcap {
namespace {

using Counts = StreamComparison::Counts;

/// A cell of a number that matters only if it is not 0.
std::string difference_cell(std::int64_t number) {
  return number == 0 ? "<td class=\"number none\">0</td>" : number_cell(number);
}

std::string verdict_text(const ComparisonPage& page) {
  const ComparisonTotals& totals = page.totals;
  const std::string frames = counted(totals.frames, "frame");
  switch (page.verdict) {
    case ComparisonVerdict::identical:
      if (totals.frames == 0) return "Identical: both runs have no records.";
      return "Identical: both runs have the same " + frames +
             ", and each record is equal in every field.";
    case ComparisonVerdict::alike:
      return "Alike: both runs have the same " + frames +
             ". No object appeared, vanished, was renamed, or moved by more than " +
             number_text(page.options.tolerance) +
             " pixels; attributes, errors, warnings and drops are equal. Some other fields differ; "
             "see below.";
    case ComparisonVerdict::different:
      break;
  }
  std::string text = "Different: " + std::to_string(totals.different) + " of " + frames +
                     " that both runs have differ.";
  if (totals.only_a + totals.only_b > 0)
    text += " " + counted(totals.only_a, "frame") + " only in A, " +
            counted(totals.only_b, "frame") + " only in B.";
  return text;
}

std::string sides(const ComparisonPage& page) {
  const auto row = [](const char* side, const char* style, const std::string& name,
                      std::int64_t records) {
    return "<tr><td class=\"" + std::string(style) + "\"><b>" + side + "</b></td>" + cell(name) +
           number_cell(records) + "</tr>\n";
  };
  return table_of({"Run", "From", "Records"},
                  row("A", "a", page.options.name_a, page.totals.records_a) +
                      row("B", "b", page.options.name_b, page.totals.records_b));
}

std::string stream_rows(const ComparisonPage& page) {
  std::string rows;
  for (const auto& [key, stream] : page.streams) {
    const Counts& counts = stream.counts();
    rows += "<tr>" + cell(key) + number_cell(counts.frames);
    for (const std::int64_t number :
         {counts.only_a, counts.only_b, counts.different, counts.appeared, counts.vanished,
          counts.moved, counts.renamed, counts.attributes, counts.messages, counts.track_switches})
      rows += difference_cell(number);
    rows += "</tr>\n";
  }
  return rows;
}

std::string lone_streams(const ComparisonPage& page) {
  std::string text;
  const auto add = [&text](const std::vector<std::string>& streams, const char* side) {
    if (streams.empty()) return;
    constexpr std::size_t kMostNamed = 20;
    std::vector<std::string> named(
        streams.begin(),
        streams.begin() + static_cast<std::ptrdiff_t>(std::min(streams.size(), kMostNamed)));
    text += "<p>" + counted(static_cast<std::int64_t>(streams.size()), "stream") + " only in " +
            side + ": " + html_text(quote_list(named)) +
            (named.size() < streams.size() ? ", …" : "") + ".</p>\n";
  };
  add(page.totals.streams_only_a, "A");
  add(page.totals.streams_only_b, "B");
  return text;
}

std::string stream_table(const ComparisonPage& page) {
  return "<h2>Streams</h2>\n" + lone_streams(page) +
         table_of({"Stream", "Frames in both", "Only A", "Only B", "Differ", "Appeared", "Vanished",
                   "Moved", "Renamed", "Attributes", "Errors", "Track switches"},
                  stream_rows(page));
}

std::string object_table(const DifferenceTable& table) {
  if (table.objects().empty()) return {};
  std::string rows;
  for (const auto& [name, own] : table.objects()) {
    const ComparedObjects& counts = own.counts;
    rows += "<tr>" + cell(name) + number_cell(counts.in_a) + number_cell(counts.in_b) +
            number_cell(counts.same);
    for (const std::int64_t number :
         {counts.moved, counts.appeared, counts.vanished, counts.renamed, counts.attributes})
      rows += difference_cell(number);
    rows += number_cell(counts.moved == 0 ? "" : number_text(counts.iou_of_moved).substr(0, 5)) +
            number_cell(counts.moved == 0 ? "" : tenths(counts.largest_move));
    const double confidence = own.with_confidence == 0
                                  ? 0
                                  : own.confidence_sum / static_cast<double>(own.with_confidence);
    char text[32];
    std::snprintf(text, sizeof text, "%+.3f", confidence);
    rows += number_cell(own.with_confidence == 0 ? "" : text) + "</tr>\n";
  }
  return "<h2>Objects</h2>\n" +
         table_of({"Name", "In A", "In B", "Same", "Moved", "Appeared", "Vanished", "Renamed",
                   "Attributes", "IoU of moved", "Largest move", "Confidence"},
                  rows) +
         "<p class=\"note\">Of the frames that both runs have. Appeared: only in B; vanished: only "
         "in A; moved: in both, with an edge elsewhere, the largest move in pixels; confidence: "
         "the mean change from A to B.</p>\n";
}

std::string first_cells(const FirstFrame& first, const ComparisonPage& page) {
  const auto clip = page.clips.find(first.stream);
  return cell(first.stream) + number_cell(first.frame) + "<td class=\"number\">" +
         time_link(first.pts, clip == page.clips.end() ? std::string() : clip->second.link) +
         "</td>";
}

std::string attribute_changes(const ComparisonPage& page) {
  const auto& changes = page.table.attributes();
  if (changes.empty()) return {};
  using Entry = std::pair<DifferenceTable::AttributeKey, DifferenceTable::AttributeChange>;
  std::vector<Entry> sorted(changes.begin(), changes.end());
  std::ranges::stable_sort(sorted, std::ranges::greater{},
                           [](const Entry& entry) { return entry.second.count; });
  const auto value = [](const std::string& text) { return cell(text.empty() ? "(none)" : text); };
  std::string rows;
  for (const auto& [key, change] : sorted)
    rows += "<tr>" + cell(std::get<0>(key)) + cell(std::get<1>(key)) + value(std::get<2>(key)) +
            value(std::get<3>(key)) + number_cell(change.count) + first_cells(change.first, page) +
            "</tr>\n";
  return "<h2>Attributes</h2>\n" +
         table_of({"Name", "Attribute", "In A", "In B", "Objects", "First in", "Frame", "Time"},
                  rows) +
         more(page.table.other_attributes(), "changes");
}

std::string message_differences(const ComparisonPage& page) {
  if (page.table.messages().empty()) return {};
  std::string rows;
  for (const auto& [key, message] : page.table.messages())
    rows += "<tr>" + cell(std::get<0>(key) ? "warning" : "error") + cell(std::get<1>(key)) +
            cell(std::get<2>(key)) + cell(std::get<3>(key)) + number_cell(message.only_a) +
            number_cell(message.only_b) + first_cells(message.first, page) + "</tr>\n";
  return "<h2>Errors that differ</h2>\n" +
         table_of(
             {"", "Capsule", "Code", "Message", "Only A", "Only B", "First in", "Frame", "Time"},
             rows) +
         more(page.table.other_messages(), "messages");
}

std::string other_fields(const ComparisonTotals& totals) {
  if (totals.other_fields.empty()) return {};
  std::string rows;
  for (const auto& [field, count] : totals.other_fields)
    rows += "<tr>" + cell(field) + number_cell(count) + "</tr>\n";
  return "<h2>Other fields that differ</h2>\n" + table_of({"Field", "Frames"}, rows);
}

/// A picture for each frame; empty if its stream has no clip.
std::vector<std::string> pictures_of(const std::vector<DifferingFrame>& frames,
                                     const std::map<std::string, StreamClip>& clips) {
  std::vector<std::string> pictures(frames.size());
  for (const auto& [stream, clip] : clips) {
    std::vector<WantedPicture> wanted;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < frames.size(); ++i) {
      if (frames[i].id != stream) continue;
      wanted.push_back({.pts = frames[i].pts, .longest_side = kBoxDrawing});
      places.push_back(i);
    }
    const std::vector<std::string> taken = clip_pictures(clip.file, wanted);
    for (std::size_t i = 0; i < places.size(); ++i) pictures[places[i]] = taken[i];
  }
  return pictures;
}

std::string frame_row(const DifferingFrame& frame, const std::string& picture,
                      const std::string& clip) {
  std::string texts;
  for (const std::string& text : frame.texts) texts += html_text(text) + "<br/>";
  if (frame.left_out > 0) texts += "and " + std::to_string(frame.left_out) + " more";
  return "<tr>" + html_cell(box_drawing(frame, picture)) +
         html_cell("<b>" + html_text(frame.stream) + "</b><br/>frame " +
                   std::to_string(frame.index) + ", " + time_link(frame.pts, clip) + "<br/>" +
                   texts) +
         "</tr>\n";
}

std::string frame_table(const ComparisonPage& page) {
  const std::vector<DifferingFrame> frames = page.frames.sorted();
  if (frames.empty()) return {};
  const std::vector<std::string> pictures = pictures_of(frames, page.clips);
  std::string rows;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto clip = page.clips.find(frames[i].id);
    rows += frame_row(frames[i], pictures[i],
                      clip == page.clips.end() ? std::string() : clip->second.link);
  }
  return "<h2>Frames that differ most</h2>\n<p class=\"note\"><span class=\"a\">Dashed: A</span>, "
         "<span class=\"b\">solid: B</span>, grey: the same in both. Of frames within a second of "
         "a stream, only the one that differs most.</p>\n" +
         table_of({"Boxes", "What differs"}, rows);
}

std::string differences_over_time(const StreamComparison& stream) {
  const TimeParts& time = stream.over_time();
  const double length = seconds_of(time.length_of_part());
  constexpr std::array<const char*, 4> names{"appeared", "vanished", "moved", "other"};
  std::vector<PlotSeries> series;
  for (std::size_t i = 0; i < names.size(); ++i) {
    PlotSeries& one = series.emplace_back(PlotSeries{.name = names[i]});
    for (std::size_t part = 0; part < time.parts().size(); ++part)
      if (time.parts()[part].frames > 0)
        one.points.emplace_back((static_cast<double>(part) + 0.5) * length, time.mean(part, i));
  }
  return time_plot(series, 0, seconds_of(stream.end()), "a frame");
}

std::string lone_table(const StreamComparison& stream, const std::string& clip) {
  if (stream.lone().empty()) return {};
  std::string rows;
  for (const LoneFrames& lone : stream.lone()) {
    const std::string frames =
        lone.first == lone.last ? std::to_string(lone.first)
                                : std::to_string(lone.first) + " to " + std::to_string(lone.last);
    rows += "<tr>" + cell(lone.side == ComparisonSide::a ? "A" : "B") + cell(frames) +
            number_cell(lone.count) + "<td class=\"number\">" + time_link(lone.begin, clip) +
            "</td></tr>\n";
  }
  return "<h3>Frames that one run lacks</h3>\n" +
         table_of({"Only in", "Frames", "Count", "From"}, rows) +
         more(stream.other_lone(), "frames");
}

bool differs(const StreamComparison& stream) {
  const Counts& counts = stream.counts();
  return counts.different + counts.only_a + counts.only_b > 0;
}

std::string stream_sections(const ComparisonPage& page) {
  std::string text;
  std::size_t shown = 0;
  std::int64_t left_out = 0;
  for (const auto& [key, stream] : page.streams) {
    if (!differs(stream)) continue;
    if (shown++ >= page.options.most_streams) {
      ++left_out;
      continue;
    }
    const auto clip = page.clips.find(key);
    text += "<section>\n<h2>" + html_text(key) + "</h2>\n";
    if (stream.counts().different > 0)
      text += "<h3>Differences over time</h3>\n" + differences_over_time(stream);
    text += lone_table(stream, clip == page.clips.end() ? std::string() : clip->second.link) +
            "</section>\n";
  }
  return text + more(left_out, "streams that differ");
}

}  // namespace

std::string comparison_page(const ComparisonPage& page) {
  const bool is_different = page.verdict == ComparisonVerdict::different;
  return page_begin(page.options.title) + "<p class=\"verdict" + (is_different ? " differs" : "") +
         "\">" + html_text(verdict_text(page)) + "</p>\n" + sides(page) + stream_table(page) +
         object_table(page.table) + attribute_changes(page) + message_differences(page) +
         other_fields(page.totals) + frame_table(page) + stream_sections(page) + kReportEnd;
}

}  // namespace vcap
