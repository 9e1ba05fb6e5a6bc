// SPDX-License-Identifier: Apache-2.0
#include "cli/job_report.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <optional>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/exit_code.hpp"
#include "cli/record_files.hpp"
#include "cli/run_report.hpp"
#include "cli/time_text.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/version.hpp"
#include "vcap/plan/plan.hpp"
#include "vcap/view/report.hpp"

namespace vcap::cli {
namespace {

namespace fs = std::filesystem;

std::string output_of(const Job& job, const std::string& id, const char* extension) {
  return (fs::path(job.outputs.folder) / (id + extension)).string();
}

RunDescription::RunStream describe(const Job::Video& video, const JobVideoReport* went) {
  RunDescription::RunStream stream{.source = video.source};
  StreamReport& report = stream.report;
  report.id = video.id;
  for (const auto& [capsule, options] : video.options)
    for (const auto& [name, value] : options->items())
      stream.options[std::string(capsule).append(1, '.').append(name)] =
          value.is_string() ? value.get<std::string>() : value.dump();
  if (went == nullptr) return stream;
  report.frames = went->frames;
  report.errors = went->failed_frames;
  report.broken_pictures = went->broken_pictures;
  report.ended = true;
  if (!went->reasons.empty()) report.failure = went->reasons.back();
  return stream;
}

RunDescription describe(const Job& job, const std::vector<CapsuleInfo>& infos,
                        const std::map<std::string, JobVideoReport>& videos) {
  const Plan plan(infos);
  RunDescription run{.plan = plan.explain()};
  for (const Plan::Step& step : plan.steps()) {
    const CapsuleInfo& info = infos[step.capsule];
    run.capsules.push_back({.name = info.name,
                            .version = info.version,
                            .options = option_texts(OptionValues(info.options))});
  }
  for (const Job::Video& video : job.videos) {
    const auto went = videos.find(video.id);
    run.streams.push_back(describe(video, went == videos.end() ? nullptr : &went->second));
  }
  return run;
}

}  // namespace

JobReportPage::JobReportPage(const std::string& path, const Job& job,
                             std::vector<CapsuleInfo> infos)
    : path_(fs::absolute(path).string()), job_(job), infos_(std::move(infos)), begun_(now_text()) {
  if (!job.outputs.jsonl)
    throw UsageError("--report " + path +
                     ": it is made of the job's records; set \"jsonl\" of its outputs to true");
  std::error_code unknown;
  const fs::path page = fs::weakly_canonical(path_, unknown);
  for (const Job::Video& video : job.videos) {
    const bool is_source = fs::equivalent(video.source, path_, unknown);
    if (is_source || page == fs::weakly_canonical(output_of(job, video.id, ".jsonl"), unknown))
      throw UsageError("--report " + path + " would replace " +
                       (is_source ? "the video " : "the records of video ") + video.id +
                       "; give another name");
  }
  if (!fs::is_directory(page.parent_path(), unknown) &&
      page.parent_path() != fs::weakly_canonical(job.outputs.folder, unknown))
    throw OutputError(ErrorCode::output_open, "report " + path + ": there is no folder " +
                                                  page.parent_path().string() + "; make it first");
}

void JobReportPage::add(const JobVideoReport& video) {
  const MutexLock lock(mutex_);
  videos_.insert_or_assign(video.id, video);
}

void JobReportPage::write(const JobReport& job_report) {
  const MutexLock lock(mutex_);
  std::vector<std::string> files;
  for (const Job::Video& video : job_.videos)
    if (const auto went = videos_.find(video.id);
        went != videos_.end() && went->second.outcome != JobVideoReport::Outcome::failed)
      files.push_back(output_of(job_, video.id, ".jsonl"));
  const ReportOptions options = report_options("vcap run", path_, "", "");
  Report report(options);
  {
    RecordFiles records(std::move(files));
    ReadingProgress progress;
    while (const std::optional<FrameRecord> record = records.read()) {
      report.add(*record);
      progress.show(report.records(), records.opened(), records.files().size());
    }
  }
  RunDescription run = describe(job_, infos_, videos_);
  run.facts = {{"vcap", std::string(version())},
               {"Begun", begun_},
               {"Ended", now_text()},
               {"Videos", std::to_string(job_report.done) + " done, " +
                              std::to_string(job_report.done_before) + " done before, " +
                              std::to_string(job_report.failed.size()) + " failed"}};
  report.set_run(std::move(run));
  std::vector<std::string> shown = report.streams();
  shown.resize(std::min(shown.size(), options.most_streams));
  for (const Job::Video& video : job_.videos) {
    if (std::ranges::find(shown, video.id) == shown.end()) continue;
    const std::string clip = job_.outputs.video ? output_of(job_, video.id, ".mp4") : video.source;
    report.set_clip(video.id, video.source, link_from(path_, clip));
  }
  report.write(path_);
  std::cout << "report written to " << printable(path_) << '\n';
}

}  // namespace vcap::cli
