// SPDX-License-Identifier: Apache-2.0
#include "cli/run_bulk.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <stop_token>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/capsule_settings.hpp"
#include "cli/console.hpp"
#include "cli/exit_code.hpp"
#include "cli/watch.hpp"
#include "records/record_counts.hpp"
#include "vcap/jobs/bulk.hpp"
#include "vcap/loading/manifest.hpp"

namespace vcap::cli {
namespace {

namespace fs = std::filesystem;

/// The options about trust, keys and resources, which a job file does not contain.
constexpr std::array<std::string_view, 9> kWithJob{"--key-file",
                                                   "--passphrase-file",
                                                   "--trusted-key",
                                                   "--revoked-key",
                                                   "--require-signature",
                                                   "--minimum-version",
                                                   "--resource-cache",
                                                   "--mirror",
                                                   "--offline"};
/// The options from which --out makes a job.
constexpr std::array<std::string_view, 4> kWithOut{"--capsule", "--source", "--option", "--config"};
/// The options that a job file expresses in its own form.
constexpr std::array<std::string_view, 9> kInJobFile{"--capsule", "--source",        "--option",
                                                     "--config",  "--stream-config", "--slices",
                                                     "--video",   "--jsonl",         "--out"};

bool is_among(const auto& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// The equivalent job file.
nlohmann::json job_of(const std::string& out, const BulkSources& arguments,
                      const LoadOptions& access) {
  std::vector<CapsuleInfo> infos;
  for (const std::string& path : arguments.capsules)
    infos.push_back(read_manifest(path, access).info);
  const CapsuleSettings settings = read_settings(infos, arguments.options, arguments.configs);
  nlohmann::json job = {{"schema", "vcap.job/1"},
                        {"capsules", nlohmann::json::array()},
                        {"sources", nlohmann::json::array()},
                        {"outputs", {{"folder", out}, {"summary", true}}}};
  for (std::size_t i = 0; i < infos.size(); ++i) {
    nlohmann::json& capsule = job["capsules"].emplace_back();
    capsule["path"] = arguments.capsules[i];
    if (const auto config = settings.config.find(infos[i].name); config != settings.config.end())
      capsule["config"] = config->second;
  }
  for (const std::string& source : arguments.sources)
    job["sources"].push_back({{"source", source}, {"options", settings.options}});
  return job;
}

Job read(const BulkArguments& arguments, const BulkSources& sources, const LoadOptions& access) {
  if (!arguments.job.empty()) return read_job(arguments.job);
  return read_job(job_of(arguments.out, sources, access), fs::current_path());
}

/// Reports a job's videos while it runs, and all of them at its end. Thread safety: thread-safe.
class JobLog {
 public:
  explicit JobLog(std::size_t videos) : videos_(videos) {}

  void add_frame() noexcept { ++frames_; }
  /// [one at a time]
  void add(const JobVideoReport& video) {
    ++settled_;
    // Videos done before may be thousands, and were reported then.
    if (video.outcome == JobVideoReport::Outcome::done) Console::shared().line(line_of(video));
    if (video.frames > 0 && video.failed_frames == video.frames && every_frame_failed_.empty())
      every_frame_failed_ = "video " + video.id +
                            ": a capsule failed on every frame; the first: " + video.first_error;
  }
  /// The first video of which every frame failed.
  const std::string& every_frame_failed() const noexcept { return every_frame_failed_; }

  std::string progress(std::chrono::duration<double> elapsed) const {
    const std::int64_t frames = frames_;
    char figures[96];
    std::snprintf(figures, sizeof figures, " videos, %lld frames, %.1f frames/s",
                  static_cast<long long>(frames),
                  elapsed.count() > 0 ? static_cast<double>(frames) / elapsed.count() : 0);
    return std::to_string(settled_) + " of " + std::to_string(videos_) + figures;
  }

 private:
  static std::string line_of(const JobVideoReport& video) {
    std::string line = "vcap: " + video.id + ": " + std::to_string(video.frames) + " frames";
    if (video.failed_frames > 0)
      line +=
          ", " + std::to_string(video.failed_frames) + " failed, the first: " + video.first_error;
    return line;
  }

  const std::size_t videos_;
  std::atomic<std::int64_t> frames_ = 0;
  std::atomic<std::size_t> settled_ = 0;
  std::string every_frame_failed_;
};

void print(const JobReport& report, std::ostream& out) {
  print_label(out, "videos done") << report.done << '\n';
  print_label(out, "done before") << report.done_before << '\n';
  print_label(out, "failed") << report.failed.size() << '\n';
  for (const JobVideoReport& video : report.failed) {
    out << "  video " << video.id << '\n';
    for (const std::string& reason : video.reasons) out << "    " << printable(reason) << '\n';
  }
  if (report.left > 0) print_label(out, "left") << report.left << '\n';
  if (report.left > 0 || !report.failed.empty())
    out << "run the same command to continue from the stored results\n";
  out << std::flush;
}

}  // namespace

void BulkArguments::add_to(CLI::App& command) {
  command
      .add_option("--job", job,
                  "Runs the job that this JSON file describes: many videos, several at once, each "
                  "with its own outputs. An interrupted job resumes at the next run")
      ->type_name("PATH");
  command
      .add_option("--out", out,
                  "Makes a job of the sources, which are videos, folders of videos or globs of "
                  "videos, and writes NAME.jsonl and NAME.txt for each video into this folder")
      ->type_name("FOLDER");
}

void BulkArguments::check(const CLI::App& command) const {
  const std::string chosen = job.empty() ? "--out" : "--job";
  for (const CLI::Option* const option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || name == chosen || is_among(kWithJob, name)) continue;
    if (job.empty() && is_among(kWithOut, name)) continue;
    throw CLI::ValidationError(
        chosen, name + " cannot be combined with it; " +
                    (!is_among(kInJobFile, name) ? "leave it out, jobs do not have it"
                     : job.empty()               ? "set it in a job file (--job)"
                                                 : "set it in the job file"));
  }
}

int run_bulk(const BulkArguments& arguments, const BulkSources& sources,
             const LoadOptions& access) {
  const Job job = read(arguments, sources, access);
  JobLog log(job.videos.size());
  StopSignal stop;
  std::stop_source stopping;
  const JobSettings settings{.load = access,
                             .on_record = [&log](const FrameRecord&) { log.add_frame(); },
                             .on_video = [&log](const auto& video) { log.add(video); }};
  JobReport report;
  watch_over([&] { report = run_job(job, settings, stopping.get_token()); }, stop,
             {.on_stop =
                  [&stopping] {
                    stopping.request_stop();
                    Console::shared().line("vcap: stopping; stored results are kept");
                  },
              .progress = [&log](auto elapsed) { return log.progress(elapsed); }});
  print(report, std::cout);
  if (!log.every_frame_failed().empty())
    Console::shared().line("vcap: " + log.every_frame_failed());
  return report.failed.empty() && report.left == 0 && log.every_frame_failed().empty() ? kDone
                                                                                       : kFailed;
}

}  // namespace vcap::cli
