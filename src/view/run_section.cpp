// SPDX-License-Identifier: Apache-2.0
#include "view/run_section.hpp"

#include "base/text.hpp"
#include "vcap/pipeline/pipeline.hpp"
#include "view/page_parts.hpp"
#include "view/svg.hpp"

namespace vcap {
namespace {

std::string options_text(const std::map<std::string, std::string>& options) {
  std::string text;
  for (const auto& [name, value] : options)
    text += (text.empty() ? "" : ", ") + name + " = " + value;
  return text;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

/// The median, 95 % and 99 % in milliseconds, as three cells.
std::string time_cells(const Histogram& times) {
  std::string cells;
  for (const double q : {0.5, 0.95, 0.99})
    cells += number_cell(times.count() == 0 ? std::string()
                                            : tenths(static_cast<double>(times.quantile(q)) / 1e6));
  return cells;
}

std::string fact_table(const RunDescription& run) {
  if (run.facts.empty()) return {};
  std::string rows;
  for (const auto& [name, value] : run.facts)
    rows += "<tr><th>" + html_text(name) + "</th>" + cell(value) + "</tr>\n";
  return "<table class=\"facts\"><tbody>\n" + rows + "</tbody></table>\n";
}

std::string capsule_table(const RunDescription& run) {
  if (run.capsules.empty()) return {};
  std::string rows;
  for (const RunDescription::RunCapsule& capsule : run.capsules)
    rows += "<tr><td class=\"name\">" + html_text(capsule.name) + "</td>" +
            number_cell(capsule.version) + cell(joined(capsule.devices)) +
            cell(options_text(capsule.options)) +
            number_cell(static_cast<std::int64_t>(capsule.calls)) +
            number_cell(static_cast<std::int64_t>(capsule.failures)) + time_cells(capsule.call_ns) +
            "</tr>\n";
  return "<h3>Capsules</h3>\n" + table_of({"Capsule", "Version", "Devices", "Options", "Calls",
                                           "Failed", "Call in ms, median", "95 %", "99 %"},
                                          rows);
}

std::string stream_row(const RunDescription::RunStream& stream) {
  const StreamReport& report = stream.report;
  const double seconds = seconds_of(report.elapsed);
  std::int64_t dropped = 0;
  for (const auto& [reason, count] : report.drops) dropped += count;
  std::string notes = options_text(stream.options);
  const auto note = [&notes](const std::string& text) {
    notes += (notes.empty() ? "" : "; ") + text;
  };
  if (report.slices > 1) note(counted(report.slices, "slice"));
  if (report.broken_pictures.count > 0) note(to_string(report.broken_pictures) + ", skipped");
  if (report.overdue > 0) note(counted(report.overdue, "frame") + " past a deadline");
  for (const auto& [capsule, count] : report.quarantined)
    note(capsule + " left out of " + counted(count, "frame") + " in quarantine");
  if (report.failure)
    note("ended early: " + *report.failure);
  else if (!report.ended)
    note("has not ended");
  return "<tr>" + cell(report.id) + cell(stream.source) + number_cell(report.frames) +
         number_cell(seconds > 0 ? tenths(static_cast<double>(report.frames) / seconds) : "") +
         number_cell(dropped) + number_cell(report.errors) + time_cells(report.latency_ns) +
         cell(notes) + "</tr>\n";
}

std::string run_stream_table(const RunDescription& run) {
  if (run.streams.empty()) return {};
  std::string rows;
  for (const RunDescription::RunStream& stream : run.streams) rows += stream_row(stream);
  return "<h3>Rates and latencies</h3>\n" +
         table_of({"Stream", "Source", "Frames", "A second", "Dropped", "Failed",
                   "Latency in ms, median", "95 %", "99 %", ""},
                  rows) +
         "<p class=\"note\">Latency: from reading a frame until its record is in all "
         "outputs.</p>\n";
}

}  // namespace

RunDescription describe_run(const Pipeline& pipeline) {
  RunDescription run{.plan = pipeline.plan().explain()};
  for (const CapsuleStats& stats : pipeline.stats().capsules) {
    RunDescription::RunCapsule capsule{.name = stats.name,
                                       .version = stats.version,
                                       .calls = stats.calls,
                                       .failures = stats.failures,
                                       .call_ns = stats.call_ns};
    for (const BackendStatistics& backend : stats.backends)
      capsule.devices.push_back(backend.device);
    run.capsules.push_back(std::move(capsule));
  }
  return run;
}

std::string run_section(const RunDescription& run) {
  std::string text = "<h2>What ran</h2>\n" + fact_table(run) + capsule_table(run);
  if (!run.plan.empty()) text += "<h3>The plan</h3>\n<pre>" + xml_text(run.plan) + "</pre>\n";
  text += run_stream_table(run);
  for (const std::string& note : run.notes) text += "<p>" + html_text(note) + "</p>\n";
  return text;
}

}  // namespace vcap
