// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_check.hpp"

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "capsule/config_schema.hpp"
#include "vcap/base/error.hpp"
#include "vcap/image/make_annotators.hpp"
#include "vcap/model/option_values.hpp"
#include "vcap/plan/plan.hpp"

namespace vcap {
namespace {

[[noreturn]] void refuse(const Job::Video& video, const std::string& what) {
  throw InvalidArgument(ErrorCode::invalid_argument, "video " + quote(video.id) + ": " + what);
}

const CapsuleInfo& find(const std::vector<CapsuleInfo>& capsules, const std::string& name,
                        const Job::Video& video, const std::string& what) {
  const auto found = std::ranges::find(capsules, name, &CapsuleInfo::name);
  if (found != capsules.end()) return *found;
  std::vector<std::string> names;
  names.reserve(capsules.size());
  for (const CapsuleInfo& info : capsules) names.push_back(info.name);
  refuse(video, what + " names the capsule " + quote(name) + "; the job has " + quote_list(names));
}

/// The capsules that the video goes through.
std::vector<CapsuleInfo> infos_of(const Job::Video& video,
                                  const std::vector<CapsuleInfo>& capsules) {
  if (!video.capsules) return capsules;
  for (const std::string& name : *video.capsules) find(capsules, name, video, "\"capsules\"");
  std::vector<CapsuleInfo> chosen = capsules;
  std::erase_if(chosen, [&](const CapsuleInfo& info) {
    return std::ranges::find(*video.capsules, info.name) == video.capsules->end();
  });
  return chosen;
}

void check_slices(const Job& job, const Job::Video& video,
                  const std::vector<CapsuleInfo>& capsules) {
  if (job.slices < 2) return;
  const std::string slices = std::to_string(job.slices) + " slices";
  if (job.outputs.video)
    refuse(video,
           "it cannot be cut into " + slices +
               ", since an annotated clip cannot be made in slices; leave out \"slices\" or the "
               "output \"video\"");
  for (const CapsuleInfo& info : capsules)
    if (info.stream_state && !info.warmup)
      refuse(video, "it cannot be cut into " + slices + ", since the state of capsule " +
                        quote(info.name) + " is unbounded; leave out \"slices\"");
}

/// The video shows only pictures that its capsules give.
void check_pictures(const Job& job, const Job::Video& video,
                    const std::vector<CapsuleInfo>& capsules) {
  std::vector<std::string> given;
  for (const CapsuleInfo& info : capsules)
    for (const PictureDescription& one : info.gives_pictures) given.push_back(one.name);
  const auto check = [&](const char* output, const std::string& picture) {
    if (std::ranges::find(given, picture) == given.end())
      refuse(video, "the output \"" + std::string(output) + "\" is " + quote(picture) +
                        ", which none of its capsules gives; they give " + quote_list(given) +
                        suggestion(picture, given));
  };
  if (!job.outputs.picture.empty()) check("picture", job.outputs.picture);
  if (job.outputs.draw.empty()) return;
  for (const std::string& picture : make_annotators(job.outputs.draw)->pictures())
    check("draw", picture);
}

void check_video(const Job& job, const Job::Video& video,
                 const std::vector<CapsuleInfo>& capsules) {
  const std::vector<CapsuleInfo> chosen = infos_of(video, capsules);
  const Plan plan(chosen);
  check_slices(job, video, chosen);
  check_pictures(job, video, chosen);
  for (const auto& [name, options] : video.options) {
    const CapsuleInfo& info = find(capsules, name, video, "\"options\"");
    OptionValues(info.options, "capsule " + name + " in video " + quote(video.id)).merge(options);
  }
  for (const auto& [name, config] : video.config) find(chosen, name, video, "\"config\"");
  for (const CapsuleInfo& info : chosen) {
    const auto given = video.config.find(info.name);
    static_cast<void>(detail::completed_stream_config(
        info, *(given == video.config.end() ? JsonValue::object() : given->second), video.id));
  }
}

bool have_same_settings(const Job::Video& one, const Job::Video& other) {
  return one.capsules == other.capsules && one.options == other.options &&
         one.config == other.config;
}

}  // namespace

void check_job(const Job& job, const std::vector<CapsuleInfo>& capsules) {
  if (job.max_frames && *job.max_frames < 1)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "max_frames of a job: " + std::to_string(*job.max_frames) +
                              " is not at least 1; leave it out for all frames");
  const Plan plan(capsules);
  for (std::size_t i = 0; i < capsules.size(); ++i)
    static_cast<void>(detail::completed_config(capsules[i], job.capsules[i].config));
  const Job::Video* before = nullptr;
  for (const Job::Video& video : job.videos) {
    if (!before || !have_same_settings(video, *before)) check_video(job, video, capsules);
    before = &video;
  }
}

}  // namespace vcap
