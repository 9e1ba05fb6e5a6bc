// SPDX-License-Identifier: Apache-2.0
#include "cli/run_report.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/record_files.hpp"
#include "cli/time_text.hpp"
#include "vcap/base/version.hpp"

namespace vcap::cli {
namespace {

namespace fs = std::filesystem;

std::string absolute(const std::string& path) {
  return path.empty() || path == "-" ? path : fs::absolute(path).string();
}

std::string text_of(const OptionValue& value) {
  return std::visit(
      [](const auto& one) {
        if constexpr (std::is_same_v<decltype(one), const std::string&>)
          return one;
        else
          return nlohmann::json(one).dump();
      },
      value);
}

}  // namespace

std::map<std::string, std::string> option_texts(const OptionValues& values) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, option] : values.declared()) texts[name] = text_of(values.get(name));
  return texts;
}

namespace {

/// The options of a capsule: those that were set, or the defaults.
std::map<std::string, std::string> options_of(const std::string& capsule, const RunFacts& facts) {
  if (const auto set = facts.options.find(capsule); set != facts.options.end())
    return option_texts(set->second);
  const auto info = std::ranges::find(facts.infos, capsule, &CapsuleInfo::name);
  return info == facts.infos.end() ? std::map<std::string, std::string>()
                                   : option_texts(OptionValues(info->options));
}

/// The options that the stream has for itself.
std::map<std::string, std::string> own_options(const std::string& stream, const RunFacts& facts) {
  std::map<std::string, std::string> own;
  const auto settings = facts.streams.find(stream);
  if (settings == facts.streams.end()) return own;
  for (const auto& [capsule, values] : settings->second.options) {
    const auto of_all = options_of(capsule, facts);
    for (const auto& [name, text] : option_texts(values)) {
      const auto common = of_all.find(name);
      if (common == of_all.end() || common->second != text)
        own.emplace(std::string(capsule).append(1, '.').append(name), text);
    }
  }
  return own;
}

}  // namespace

std::string link_from(const std::string& out, const std::string& clip) {
  if (clip.find("://") != std::string::npos || out == "-") return clip;
  const fs::path folder = fs::absolute(out).lexically_normal().parent_path();
  return fs::absolute(clip).lexically_normal().lexically_proximate(folder).string();
}

ReportOptions report_options(const std::string& title, const std::string& out,
                             const std::string& snapshots, const std::string& clips) {
  return {.title = title,
          .event_snapshots = snapshots.empty() ? "" : link_from(out, snapshots),
          .event_clips = clips.empty() ? "" : link_from(out, clips)};
}

RunReport::RunReport(const std::string& path, const EventPaths& events)
    : path_(absolute(path)),
      journal_(absolute(events.journal)),
      begun_(now_text()),
      sink_(std::make_shared<ReportSink>(
          path, report_options("vcap run", path, events.snapshots, events.clips))) {
  std::error_code unknown;
  const std::uintmax_t size = fs::file_size(journal_, unknown);
  if (!unknown) journal_begin_ = size;
}

void RunReport::describe(const Pipeline& pipeline, const RunFacts& facts,
                         const RunStreams& streams) {
  RunDescription run = describe_run(pipeline);
  for (RunDescription::RunCapsule& capsule : run.capsules)
    capsule.options = options_of(capsule.name, facts);
  const std::vector<StreamReport> reports =
      streams.reports().empty() ? pipeline.reports() : streams.reports();
  for (const StreamReport& report : reports) {
    const auto source = facts.sources.find(report.id);
    run.streams.push_back({.source = source == facts.sources.end() ? "" : source->second,
                           .report = report,
                           .options = own_options(report.id, facts)});
    std::error_code unknown;
    if (source == facts.sources.end() || !fs::exists(source->second, unknown)) continue;
    sink_->set_link(report.id, link_from(path_, source->second));
  }
  run.facts = {{"vcap", std::string(version())}, {"Begun", begun_}};
  std::string ended = "left before its streams had ended";  // unless it comes to the second call
  if (!streams.reports().empty())
    ended = now_text() + (streams.stopped() ? ", stopped before the sources had ended" : "");
  run.facts.emplace_back("Ended", ended);
  run_ = std::move(run);
  sink_->set_run(run_);
}

void RunReport::finish(const std::vector<std::string>& notes) {
  if (!journal_.empty()) {
    const std::size_t damaged = read_events(
        journal_, journal_begin_, [this](const EventRecord& record) { sink_->add(record); });
    if (damaged > 0)
      Console::shared().line("vcap: event journal " + journal_ + ": " + counted(damaged, "line") +
                             " left out of the report");
  }
  run_.notes = notes;
  sink_->set_run(run_);
  sink_->close();
}

}  // namespace vcap::cli
