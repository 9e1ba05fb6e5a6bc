// SPDX-License-Identifier: Apache-2.0
#include "cli/run_bulk.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "base/thread_annotations.hpp"
#include "capsule/capsule_info_json.hpp"
#include "cli/capsule_settings.hpp"
#include "cli/console.hpp"
#include "cli/exit_code.hpp"
#include "cli/foreign_exit.hpp"
#include "cli/given_rules.hpp"
#include "cli/job_log.hpp"
#include "cli/job_report.hpp"
#include "cli/loaded_capsules.hpp"
#include "cli/watch.hpp"
#include "records/record_counts.hpp"
#include "vcap/cluster/cluster_job.hpp"
#include "vcap/jobs/bulk.hpp"
#include "vcap/loading/manifest.hpp"

namespace vcap::cli {
namespace {

namespace fs = std::filesystem;

/// The options about trust, keys, resources and this run, which a job file does not contain.
constexpr std::array<std::string_view, 22> kWithJob{"--cluster",         "--site",
                                                    "--credentials",     "--nkey",
                                                    "--replicas",        "--ca",
                                                    "--certificate",     "--private-key",
                                                    "--shared",          "--priority",
                                                    "--report",          "--deadline",
                                                    "--grace",           "--key-file",
                                                    "--passphrase-file", "--trusted-key",
                                                    "--revoked-key",     "--require-signature",
                                                    "--minimum-version", "--resource-cache",
                                                    "--mirror",          "--offline"};
/// The options from which --out makes a job.
constexpr std::array<std::string_view, 12> kWithOut{
    "--video",  "--picture", "--draw",           "--max-frames",
    "INPUT",    "--capsule", "--source",         "--option",
    "--config", "--stencil", "--invalid-output", "--max-pixels"};
/// The value of --video with --out: the clips of a job have the names of their videos.
constexpr const char* kClips = ".mp4";
/// The options that a job file expresses in its own form.
constexpr std::array<std::string_view, 16> kInJobFile{
    "--max-frames",    "INPUT",     "--capsule",        "--source",     "--option", "--config",
    "--stream-config", "--stencil", "--invalid-output", "--max-pixels", "--slices", "--video",
    "--picture",       "--draw",    "--jsonl",          "--out"};

bool is_among(const auto& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// The equivalent job file.
nlohmann::json job_of(const std::string& out, const BulkSources& arguments,
                      const LoadOptions& access) {
  std::vector<CapsuleInfo> infos;
  for (const std::string& path : arguments.capsules)
    infos.push_back(read_manifest(path, access).info);
  CapsuleSettings settings = read_settings(infos, arguments.options, arguments.configs);
  read_stencils(infos, arguments.stencils, settings);
  nlohmann::json job = {{"schema", "vcap.job/1"},
                        {"capsules", nlohmann::json::array()},
                        {"sources", nlohmann::json::array()},
                        {"invalid_output", to_string(arguments.invalid_output)},
                        {"max_pixels", arguments.max_pixels},
                        {"outputs", {{"folder", out}, {"summary", true}}}};
  for (std::size_t i = 0; i < infos.size(); ++i) {
    nlohmann::json& capsule = job["capsules"].emplace_back();
    capsule["path"] = arguments.capsules[i];
    if (const auto config = settings.config.find(infos[i].name); config != settings.config.end())
      capsule["config"] = config->second;
    if (const auto own = settings.stencils.find(infos[i].name); own != settings.stencils.end())
      capsule["stencil"] = stencil_json(own->second);
  }
  for (const std::string& source : arguments.sources)
    job["sources"].push_back({{"source", source}, {"options", settings.options}});
  if (arguments.max_frames > 0) job["max_frames"] = arguments.max_frames;
  if (!arguments.video.empty()) job["outputs"]["video"] = true;
  if (!arguments.picture.empty()) job["outputs"]["picture"] = arguments.picture;
  if (!arguments.draw.empty()) job["outputs"]["draw"] = arguments.draw;
  return job;
}

Job read(const BulkArguments& arguments, const BulkSources& sources, const LoadOptions& access) {
  if (!arguments.job.empty()) return read_job(arguments.job);
  if (!sources.video.empty() && sources.video != kClips)
    throw UsageError("--video " + sources.video +
                     " cannot be combined with --out, whose clips are " +
                     (fs::path(arguments.out) / "NAME.mp4").string() + "; give --video " + kClips);
  if (draws_zones(sources.draw))
    throw UsageError("--draw " + sources.draw +
                     ": zones and lines are those of event rules, which jobs do not have; leave "
                     "the part \"zones\" out");
  return read_job(job_of(arguments.out, sources, access), fs::current_path());
}

std::vector<CapsuleInfo> read_infos(const Job& job, const LoadOptions& access) {
  std::vector<CapsuleInfo> infos;
  for (const Job::CapsuleFile& capsule : job.capsules)
    infos.push_back(read_manifest(capsule.path, access).info);
  return infos;
}

/// The capsules of a job, which another thread loads.
class KeptCapsules {
 public:
  explicit KeptCapsules(Clock::duration grace) : capsules_(grace) {}
  void set(const std::vector<std::shared_ptr<Capsule>>& loaded) {
    const MutexLock lock(mutex_);
    capsules_.set(loaded);
  }
  std::string running() const {
    const MutexLock lock(mutex_);
    return capsules_.running();
  }

 private:
  mutable Mutex mutex_;
  LoadedCapsules capsules_ VCAP_GUARDED_BY(mutex_);
};

/// Leaves a job that does not end after a stop. Slices in progress would be dropped anyway.
[[noreturn]] void leave_job(const std::string& running) {
  Console::shared().line(
      "vcap: the job is left, because it does not end" +
      (running.empty() ? std::string() : "; these calls have not returned: " + running) +
      ". Stored results are kept; run the same command to continue from them");
  leave_now(has_foreign_exit() ? kForeignExit : kHung);
}

void report_idle(const TaskQueue::Counts& slices) {
  Console::shared().line(
      "vcap: no result has come from the cluster for a while: " + counted(slices.waiting, "slice") +
      " wait" + (slices.waiting == 1 ? "s" : "") + ", " + std::to_string(slices.leased) +
      " in progress" +
      (slices.leased == 0 ? "; check that workers run for this site, and what their logs say"
                          : ""));
}

/// On a cluster, where it is.
JobReport run_on_cluster(const std::shared_ptr<Cluster>& cluster, const BulkArguments& arguments,
                         const Job& job, const JobSettings& settings, JobLog& log,
                         const std::stop_token& stop) {
  return run_cluster_job(cluster, job,
                         {.load = settings.load,
                          .shared = arguments.shared,
                          .priority = arguments.priority,
                          .capsule_deadline = settings.capsule_deadline,
                          .first_call_deadline = settings.first_call_deadline,
                          .on_video = settings.on_video,
                          .on_resume = settings.on_resume,
                          .on_slice = [&log](std::int64_t frames) { log.add_frames(frames); },
                          .on_idle = report_idle},
                         stop);
}

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
  cluster.add_to(command, "--cluster");
  command
      .add_option("--shared", shared,
                  "With --cluster: results go through this folder, which this machine and all "
                  "workers see under this path, and not through the broker; needed for clips")
      ->type_name("FOLDER")
      ->needs("--cluster");
  command
      .add_option("--priority", priority,
                  "With --cluster: jobs of a higher priority come first, from -100 to 100")
      ->check(CLI::Range(-100, 100).description(""))
      ->needs("--cluster");
}

void BulkArguments::check(const CLI::App& command) const {
  const std::string chosen = job.empty() ? "--out" : "--job";
  for (const CLI::Option* const option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || name == chosen || is_among(kWithJob, name)) continue;
    if (job.empty() && is_among(kWithOut, name)) continue;
    if (is_positional && name == "INPUT") continue;
    throw CLI::ValidationError(
        chosen, name + " cannot be combined with it; " +
                    (!is_among(kInJobFile, name) ? "leave it out, jobs do not have it"
                     : job.empty()               ? "set it in a job file (--job)"
                                                 : "set it in the job file"));
  }
}

int run_bulk(const BulkArguments& arguments, const BulkSources& sources, const LoadOptions& access,
             const BulkDeadlines& deadlines, std::chrono::nanoseconds grace, bool& lost_calls) {
  const Job job = read(arguments, sources, access);
  std::optional<JobReportPage> page;
  if (!sources.report.empty()) page.emplace(sources.report, job, read_infos(job, access));
  JobLog log(job);
  StopSignal stop;
  std::stop_source stopping;
  KeptCapsules kept(grace);
  const JobSettings settings{
      .load = access,
      .capsule_deadline = deadlines.call,
      .first_call_deadline = deadlines.first_call,
      .on_record = [&log](const FrameRecord&) { log.add_frames(1); },
      .on_video =
          [&log, &page](const auto& video) {
            log.add(video);
            if (page) page->add(video);
          },
      .on_resume = [&log](const JobKept& kept_before) { log.resume(kept_before); },
      .on_load =
          [&kept](const auto& loaded) {
            kept.set(loaded);
            renew_exit_watch();
          }};
  const std::shared_ptr<Cluster> cluster =
      arguments.cluster.given() ? arguments.cluster.connect() : nullptr;
  JobReport report;
  const auto leave = [&kept] { leave_job(kept.running()); };
  watch_over(
      [&] {
        report = arguments.cluster.given()
                     ? run_on_cluster(cluster, arguments, job, settings, log, stopping.get_token())
                     : run_job(job, settings, stopping.get_token());
      },
      stop,
      {.on_stop =
           [&stopping, &cluster] {
             stopping.request_stop();
             if (cluster) close_if_silent(*cluster);
             Console::shared().line("vcap: stopping; stored results are kept");
           },
       .on_overdue =
           [&leave, &cluster, closed = false](auto) mutable {
             if (!cluster || std::exchange(closed, true)) leave();
             if (cluster) cluster->close();
           },
       .on_leave = leave,
       .progress = [&log](auto elapsed) { return log.progress(elapsed); },
       .grace = grace});
  if (has_foreign_exit()) leave_now(kForeignExit);
  lost_calls = report.calls_left > 0;
  print(report, std::cout);
  if (page && report.left == 0) page->write(report);
  if (page && report.left > 0)
    std::cout << "the report is written when no video is left\n" << std::flush;
  if (!log.every_frame_failed().empty())
    Console::shared().line("vcap: " + log.every_frame_failed());
  return report.failed.empty() && report.left == 0 && log.every_frame_failed().empty() ? kDone
                                                                                       : kFailed;
}

}  // namespace vcap::cli
