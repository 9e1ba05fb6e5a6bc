// SPDX-License-Identifier: Apache-2.0
// Reports of records, as one HTML file.
#include "vcap/view/report.hpp"

#include <chrono>
#include <cstdio>
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
#include "vcap/records/record_reader.hpp"

namespace vcap::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct ReportArguments {
  std::vector<std::string> records;
  std::vector<std::string> videos;  ///< [STREAM=]CLIP
  std::string out;
  std::string title;
};

/// Throws UsageError if the report would replace an input.
void check_output(const ReportArguments& arguments) {
  std::error_code unknown;
  for (const std::string& input : arguments.records)
    if (fs::equivalent(input, arguments.out, unknown))
      throw UsageError("--out " + arguments.out +
                       " is an input and would be replaced; give another name");
}

/// Shows on a terminal how far the reading is.
class ReadingProgress {
 public:
  void add(std::size_t records) {
    if (records % 1000 != 0) return;
    const auto now = Clock::now();
    if (now - shown_ < std::chrono::milliseconds(200)) return;
    shown_ = now;
    char text[96];
    std::snprintf(
        text, sizeof text, "%zu records, %.0f records/s", records,
        static_cast<double>(records) / std::chrono::duration<double>(now - begin_).count());
    Console::shared().progress(text);
  }
  ~ReadingProgress() { Console::shared().end_progress(); }

 private:
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_ = begin_;
};

/// The clip as seen from the folder of the report.
std::string link_from(const std::string& out, const std::string& clip) {
  if (clip.find("://") != std::string::npos || out == "-") return clip;
  std::error_code unknown;
  const fs::path link = fs::proximate(clip, fs::absolute(out).parent_path(), unknown);
  return unknown ? clip : link.string();
}

void set_clips(Report& report, const ReportArguments& arguments) {
  for (const std::string& video : arguments.videos) {
    std::error_code unknown;
    const auto equals = video.find('=');
    const bool is_named = equals != std::string::npos && !fs::exists(video, unknown);
    const std::string clip = is_named ? video.substr(equals + 1) : video;
    std::string stream = is_named ? video.substr(0, equals) : std::string();
    if (!is_named) {
      const std::vector<std::string> streams = report.streams();
      if (streams.size() != 1)
        throw UsageError("--video " + video + ": the records are of several streams, " +
                         quote_list(streams) + "; write --video STREAM=CLIP");
      stream = streams.front();
    }
    report.set_clip(stream, clip, link_from(arguments.out, clip));
  }
}

int write_report(const ReportArguments& arguments) {
  check_output(arguments);
  Report report({.title = arguments.title});
  {
    ReadingProgress progress;
    for (const std::string& file : arguments.records) {
      const auto reader = open_records(file);
      while (const std::optional<FrameRecord> record = reader->read()) {
        report.add(*record);
        progress.add(report.records());
      }
    }
  }
  if (report.records() == 0)
    throw UsageError("there are no records in " + quote_list(arguments.records) +
                     "; give a file of vcap run --jsonl");
  set_clips(report, arguments);
  report.write(arguments.out);
  (arguments.out == "-" ? std::cerr : std::cout)
      << "report of " << counted(static_cast<std::int64_t>(report.records()), "record")
      << " written to " << printable(arguments.out) << '\n';
  return kDone;
}

}  // namespace

void add_report(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* command = app.add_subcommand(
      "report",
      "Writes a report of records as one HTML file, which needs no network and no script");
  command
      ->add_option("RECORDS", arguments->records,
                   "Files of vcap run --jsonl, or in another format that vcap convert reads")
      ->required()
      ->type_name("PATH");
  command->add_option("--out", arguments->out, "The report; \"-\" is standard output")
      ->required()
      ->type_name("PATH");
  command
      ->add_option("--video", arguments->videos,
                   "The video of a stream, or the annotated clip of its run: times link into it, "
                   "and tracks get thumbnails; may be repeated")
      ->type_name("[STREAM=]CLIP")
      ->allow_extra_args(false);
  arguments->title = "vcap report";
  command->add_option("--title", arguments->title, "The heading")->type_name("TEXT");
  command->footer(kExitCodesHelp);
  command->callback(
      [arguments, &chosen] { chosen = [arguments] { return write_report(*arguments); }; });
}

}  // namespace vcap::cli
