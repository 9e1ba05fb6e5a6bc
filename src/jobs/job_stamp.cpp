// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_stamp.hpp"

#include <sys/stat.h>

#include <cassert>
#include <cerrno>
#include <cstdint>
#include <span>
#include <system_error>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "capsule/capsule_info_json.hpp"
#include "files/digest.hpp"
#include "model/json_view.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/version.hpp"

namespace vcap {
namespace {

nlohmann::json capsule_stamp(const Job::CapsuleFile& capsule, const Manifest& manifest) {
  const std::string text = nlohmann::json(manifest).dump();
  nlohmann::json stamp = {{"version", manifest.info.version},
                          {"sha256", sha256(std::as_bytes(std::span(text)))},
                          {"config", capsule.config}};
  if (capsule.stencil) stamp["stencil"] = stencil_json(*capsule.stencil);
  return stamp;
}

nlohmann::json video_stamp(const Job::Video& video) {
  nlohmann::json stamp = file_stamp(video.source);
  stamp["options"] = video.options;
  stamp["config"] = video.config;
  if (video.capsules) stamp["capsules"] = *video.capsules;
  return stamp;
}

std::string value_at(const nlohmann::json& stamp, const nlohmann::json::json_pointer& place) {
  return stamp.contains(place) ? brief(stamp.at(place)) : "absent";
}

}  // namespace

nlohmann::json file_stamp(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    throw SourceError(ErrorCode::source_open, "file " + path + " cannot be read: " +
                                                  std::generic_category().message(errno) +
                                                  "; check the path");
  return {{"size", status.st_size},
          {"modified_ns",
           std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec}};
}

nlohmann::json job_stamp(const Job& job, const std::vector<Manifest>& manifests) {
  assert(manifests.size() == job.capsules.size());
  nlohmann::json stamp = {{"schema", "vcap.job-stamp/1"},
                          {"vcap", version()},
                          {"capsules", nlohmann::json::object()},
                          {"videos", nlohmann::json::object()},
                          {"invalid_output", to_string(job.invalid_output)},
                          {"max_pixels", job.max_pixels},
                          {"outputs",
                           {{"jsonl", job.outputs.jsonl},
                            {"video", job.outputs.video},
                            {"summary", job.outputs.summary}}}};
  if (job.max_frames) stamp["max_frames"] = *job.max_frames;
  if (!job.outputs.picture.empty()) stamp["outputs"]["picture"] = job.outputs.picture;
  if (!job.outputs.draw.empty()) stamp["outputs"]["draw"] = job.outputs.draw;
  for (std::size_t i = 0; i < manifests.size(); ++i) {
    nlohmann::json& capsule = stamp["capsules"][manifests[i].info.name];
    capsule = capsule_stamp(job.capsules[i], manifests[i]);
    capsule["place"] = i;
  }
  for (const Job::Video& video : job.videos) stamp["videos"][video.id] = video_stamp(video);
  return stamp;
}

std::string stamp_difference(const nlohmann::json& before, const nlohmann::json& now) {
  const nlohmann::json changes = nlohmann::json::diff(before, now);
  if (changes.empty()) return {};
  const std::string place = changes.front().at("path");
  if (place == "/size" || place == "/modified_ns") return "its file has changed";
  const nlohmann::json::json_pointer pointer(place);
  return printable(place) + " was " + value_at(before, pointer) + ", but is now " +
         value_at(now, pointer);
}

}  // namespace vcap
