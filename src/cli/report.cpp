// SPDX-License-Identifier: Apache-2.0
// Reports of records, as one HTML file.
#include "vcap/view/report.hpp"

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/exit_code.hpp"
#include "cli/help_groups.hpp"
#include "cli/record_files.hpp"
#include "cli/report_compare.hpp"
#include "cli/run_report.hpp"

namespace vcap::cli {
namespace {

namespace fs = std::filesystem;

struct ReportArguments {
  std::vector<std::string> records;
  std::vector<std::string> videos;           ///< [STREAM=]CLIP
  std::vector<std::string> events;           ///< journals
  std::string event_snapshots, event_clips;  ///< folders
  std::string out;
  std::string title;
  CompareArguments compare;
};

/// Throws UsageError if the report would replace an input.
void check_output(const ReportArguments& arguments, const std::vector<std::string>& inputs) {
  std::error_code unknown;
  for (const std::string& input : inputs)
    if (fs::equivalent(input, arguments.out, unknown))
      throw UsageError("--out " + arguments.out +
                       " is an input and would be replaced; give another name");
}

/// `page`: a Report or a Comparison.
template <class Page>
void set_clips(Page& page, const ReportArguments& arguments) {
  for (const std::string& video : arguments.videos) {
    std::error_code unknown;
    const auto equals = video.find('=');
    const bool is_named = equals != std::string::npos && !fs::exists(video, unknown);
    const std::string clip = is_named ? video.substr(equals + 1) : video;
    std::string stream = is_named ? video.substr(0, equals) : std::string();
    if (!is_named) {
      const std::vector<std::string> streams = page.streams();
      if (streams.size() != 1)
        throw UsageError("--video " + video + ": the records are of several streams, " +
                         quote_list(streams) + "; write --video STREAM=CLIP");
      stream = streams.front();
    }
    page.set_clip(stream, clip, link_from(arguments.out, clip));
  }
}

template <class Page>
void write_page(const Page& page, const ReportArguments& arguments, const std::string& what) {
  if (!arguments.videos.empty()) Console::shared().progress("taking pictures from the clips");
  page.write(arguments.out);
  Console::shared().end_progress();
  (arguments.out == "-" ? std::cerr : std::cout)
      << what << " written to " << printable(arguments.out) << '\n';
}

void read_journals(Report& report, const ReportArguments& arguments) {
  for (const std::string& journal : arguments.events) {
    const std::size_t damaged =
        read_events(journal, 0, [&report](const EventRecord& record) { report.add(record); });
    if (damaged > 0)
      Console::shared().line("vcap: event journal " + journal + ": " + counted(damaged, "line") +
                             " left out, since they are no event records");
  }
}

int write_comparison(const ReportArguments& arguments) {
  std::vector<std::string> inputs = record_files(arguments.compare.runs);
  check_output(arguments, inputs);
  CompareArguments compare = arguments.compare;
  compare.options.title = arguments.title.empty() ? "vcap comparison" : arguments.title;
  Comparison comparison = compare_runs(compare);
  set_clips(comparison, arguments);
  write_page(comparison, arguments, verdict_line(comparison) + "\ncomparison");
  const bool differs = comparison.verdict() == ComparisonVerdict::different;
  return compare.exit_code && differs ? kFailed : kDone;
}

int write_report(const ReportArguments& arguments) {
  if (arguments.compare.given()) return write_comparison(arguments);
  RecordFiles files(record_files(arguments.records));
  check_output(arguments, files.files());
  check_output(arguments, arguments.events);
  Report report(report_options(arguments.title.empty() ? "vcap report" : arguments.title,
                               arguments.out, arguments.event_snapshots, arguments.event_clips));
  {
    ReadingProgress progress;
    while (const std::optional<FrameRecord> record = files.read()) {
      report.add(*record);
      progress.show(report.records(), files.opened(), files.files().size());
    }
  }
  if (report.records() == 0)
    throw UsageError("there are no records in " + quote_list(arguments.records) +
                     "; give a file of vcap run --jsonl");
  read_journals(report, arguments);
  set_clips(report, arguments);
  write_page(report, arguments,
             "report of " + counted(static_cast<std::int64_t>(report.records()), "record"));
  return kDone;
}

/// Throws CLI::ParseError.
void check_inputs(const ReportArguments& arguments) {
  if (!arguments.compare.given() && arguments.records.empty())
    throw CLI::RequiredError("RECORDS, or --compare A B,");
  if (arguments.compare.given() && !arguments.records.empty())
    throw CLI::ValidationError("--compare takes the two runs; give no other RECORDS than those");
  if (arguments.compare.given() && !arguments.events.empty())
    throw CLI::ValidationError("--events cannot be given with --compare");
}

void add_report_options(CLI::App& command, ReportArguments& arguments) {
  command
      .add_option("RECORDS", arguments.records,
                  "Files of vcap run --jsonl, or in another format that vcap convert reads; a "
                  "folder of a job stands for its files *.jsonl")
      ->type_name("PATH");
  command.add_option("--out", arguments.out, "The report; \"-\" is standard output")
      ->required()
      ->type_name("PATH");
  command
      .add_option("--video", arguments.videos,
                  "The video of a stream, or the annotated clip of its run: times link into it, "
                  "and tracks get thumbnails; may be repeated")
      ->type_name("[STREAM=]CLIP")
      ->allow_extra_args(false);
  CLI::Option* const events =
      command
          .add_option("--events", arguments.events,
                      "A journal of vcap run --event-log, whose events are shown; may be repeated")
          ->type_name("PATH")
          ->allow_extra_args(false);
  command
      .add_option("--event-snapshots", arguments.event_snapshots,
                  "The folder of the events' pictures (vcap run --event-snapshots), to link to")
      ->type_name("FOLDER")
      ->needs(events);
  command
      .add_option("--event-clips", arguments.event_clips,
                  "The folder of the events' clips (vcap run --event-clips), to link to")
      ->type_name("FOLDER")
      ->needs(events);
  command.add_option("--title", arguments.title, "The heading")->type_name("TEXT");
  group_new_options(command, "Report");
  arguments.compare.add_to(command);
  group_new_options(command, "Comparison of two runs");
}

}  // namespace

void add_report(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* command = app.add_subcommand(
      "report",
      "Writes a report of records, or a comparison of two runs, as one HTML file, which needs no "
      "network and no script");
  add_report_options(*command, *arguments);
  command->footer(kExitCodesHelp);
  command->callback([arguments, &chosen] {
    check_inputs(*arguments);
    chosen = [arguments] { return write_report(*arguments); };
  });
}

}  // namespace vcap::cli
