// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// A bulk run: many stored videos, through the same capsules, several at once.
///
/// As a file it is JSON, and paths in it are relative to the folder that it lies in:
///
///     {"schema": "vcap.job/1",
///      "capsules": ["detector.cap", {"path": "mog.cap", "config": {"history": 500}}],
///      "sources": ["gate.mp4", "day1/", "day2/cam?.mkv",
///                  {"source": "yard.mp4", "id": "yard-north", "capsules": ["detector"],
///                   "options": {"detector": {"threshold": 0.7}}, "config": {"mog": {"area": 9}}}],
///      "outputs": {"folder": "results", "jsonl": true, "video": false, "summary": true},
///      "slices": "auto", "attempts": 3, "parallel": 2}
///
/// "schema", "capsules", "sources" and "outputs" with its "folder" are needed, the rest has the
/// defaults below. Values for capsules are by their names, and checked with them. Thread safety:
/// value.
struct Job {
  struct CapsuleFile {
    std::filesystem::path path{};
    nlohmann::json config = nlohmann::json::object();  ///< given at load (LoadOptions::config)
  };

  struct Video {
    /// Names its stream and its outputs: what the file has, the file's name without its extension,
    /// or, of a video out of a folder or a glob with an id, both: "day1-cam2".
    std::string id{};
    std::filesystem::path source{};
    std::optional<std::vector<std::string>> capsules{};  ///< absent: all
    std::map<std::string, nlohmann::json> options{};     ///< by capsule; an object each
    std::map<std::string, nlohmann::json> config{};      ///< by capsule; for the stream's state
  };

  /// What is written for each video into the folder, under its id.
  struct Outputs {
    std::filesystem::path folder{};
    bool jsonl = true;
    bool video = false;
    bool summary = false;
  };

  std::vector<CapsuleFile> capsules{};
  std::vector<Video> videos{};  ///< what the sources expand to, in their order
  Outputs outputs{};
  int slices = 0;    ///< that a video is cut into: 0, or "auto": as is best; 1, or "off": it is not
  int attempts = 3;  ///< how often a slice is tried before its video has failed
  int parallel = 0;  ///< slices in progress at once; 0, or "auto": as keep the machine busy
};

/// Reads a job file. A folder stands for the videos right in it, a glob for the files that match,
/// both in the natural order of their names ("2" before "10") and without hidden ones; what exists
/// under exactly that name is meant, even a file called "a[1].avi". Paths come out absolute.
///
/// Throws InvalidArgument (invalid_argument) where the file cannot be read; (invalid_json) naming
/// the JSON pointer, the value and the remedy for what is no job: a field that is unknown, missing,
/// twice or of the wrong type, a video that is not there, a folder or glob without any, two videos
/// of one id, an id that is no name of a file, a source in the folder of the outputs.
VCAP_EXPORT Job read_job(const std::filesystem::path& file);
/// The same of what such a file would hold if it lay in `folder`, which is absolute.
VCAP_EXPORT Job read_job(const nlohmann::json& json, const std::filesystem::path& folder);

}  // namespace vcap
