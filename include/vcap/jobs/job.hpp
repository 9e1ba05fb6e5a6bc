// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"
#include "vcap/base/json_value.hpp"
#include "vcap/capsule/output_policy.hpp"
#include "vcap/capsule/stencil.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {

/// A bulk run: many stored videos through the same capsules, several at once.
///
/// As a file it is JSON. Paths in it are relative to the file's folder:
///
///     {"schema": "vcap.job/1",
///      "capsules": ["detector.cap", {"path": "mog.cap", "config": {"history": 500}},
///                   {"path": "motion.cap", "stencil": {"offsets": [-5, 0], "edge": "repeat"}}],
///      "sources": ["gate.mp4", "day1/", "day2/cam?.mkv",
///                  {"source": "yard.mp4", "id": "yard-north", "capsules": ["detector"],
///                   "options": {"detector": {"threshold": 0.7}}, "config": {"mog": {"area": 9}}}],
///      "outputs": {"folder": "results", "jsonl": true, "video": false, "summary": true},
///      "slices": "auto", "attempts": 3, "parallel": 2, "invalid_output": "error",
///      "max_pixels": 67108864, "max_frames": 1000}
///
/// Required are "schema", "capsules", "sources", and "outputs" with its "folder"; the rest has the
/// defaults below. Values for capsules are given by capsule name, and checked against the capsules.
/// Thread safety: value.
struct Job {
  /// A capsule that the videos go through.
  struct CapsuleFile {
    std::string path{};
    JsonValue config = JsonValue::object();  ///< passed at load (LoadOptions::config)
    std::optional<Stencil> stencil{};        ///< the same (LoadOptions::stencil)
  };

  /// A stored video, which becomes one stream.
  struct Video {
    /// Names its stream and its outputs. It is the source's "id", or else the file's name without
    /// its extension. If a folder or glob has an "id", it is both: "day1-cam2".
    std::string id{};
    std::string source{};
    std::optional<std::vector<std::string>> capsules{};  ///< absent: all
    std::map<std::string, JsonValue> options{};          ///< by capsule; a JSON object each
    std::map<std::string, JsonValue> config{};           ///< by capsule; for the stream's state
  };

  /// What is written into the folder for each video, under its id.
  struct Outputs {
    std::string folder{};
    bool jsonl = true;
    bool video = false;
    /// What the video shows, as make_picture_video_sink; empty: the frames with the results. Only
    /// with `video`.
    std::string picture{};
    /// What is drawn on the frames of the video, as a list for make_annotators(); empty: its
    /// default. Only with `video`, and without `picture`. "zones" is not allowed: jobs have none.
    std::string draw{};
    bool summary = false;
  };

  std::vector<CapsuleFile> capsules{};
  std::vector<Video> videos{};  ///< the expanded sources, in their order
  Outputs outputs{};
  /// Slices that a video is cut into; 0 ("auto"): chosen automatically; 1 ("off"): not cut.
  int slices = 0;
  int attempts = 3;  ///< attempts at a slice before its video has failed
  int parallel = 0;  ///< slices in progress at once; 0 ("auto"): enough to keep the machine busy
  /// What happens to output that a capsule does not declare. The bounds of the policy are those of
  /// JobSettings::load.
  InvalidOutput invalid_output = InvalidOutput::error;
  std::int64_t max_pixels = SourceOptions().max_pixels;  ///< of a picture (SourceOptions)
  std::optional<std::int64_t> max_frames{};  ///< ends each video after that many frames, at least 1
};

/// Reads a job file. A folder stands for the videos directly in it, a glob for the files that
/// match. Both are in natural order of names ("2" before "10"), without hidden files. A path that
/// exists is taken literally, even a file called "a[1].avi". Returned paths are absolute.
///
/// Throws InvalidArgument (invalid_argument) if the file cannot be read. Throws InvalidArgument
/// (invalid_json), with the JSON pointer, the value and the remedy, if it is not a valid job:
/// - a field that is unknown, missing, given twice or of the wrong type
/// - a video that does not exist, or a folder or glob without any video
/// - two videos with the same id, or an id that cannot be a file name
/// - a source in the folder of the outputs
VCAP_EXPORT Job read_job(const std::string& file);
/// The same for the content of such a file in `folder`, which must be absolute.
VCAP_EXPORT Job read_job(const nlohmann::json& json, const std::string& folder);

}  // namespace vcap
