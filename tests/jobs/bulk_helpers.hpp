// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "jobs/bulk_run.hpp"
#include "support/clip_writer.hpp"
#include "support/operation_helpers.hpp"
#include "support/outputs_in.hpp"

namespace vcap::test {

using Capsules = std::vector<std::shared_ptr<Capsule>>;

/// Notes how many frames it has seen: at most `warmup` and this one, or all without a warm-up.
inline std::shared_ptr<Capsule> make_counter(std::string name, std::optional<std::int64_t> warmup) {
  CapsuleInfo info = detector_info(name, name + "_note");
  info.output_type.extra_data = {"note"};
  info.stream_state = make_stream_state<CountingState>();
  info.warmup = warmup;
  return make_capsule(std::move(info), [name, warmup](const Frame& frame, DetectionNodes,
                                                      const auto&, BaseStreamState& state) {
    auto& own = static_cast<CountingState&>(state);
    ++own.frames;
    const std::int64_t seen = warmup ? std::min<std::int64_t>(own.frames, *warmup + 1) : own.frames;
    DetectionNodes nodes = DetectionNodes::all();
    nodes.add(note(name + "_note", std::to_string(frame.index) + " " + std::to_string(seen) + " " +
                                       std::to_string(own.info.seed % 97)));
    return nodes;
  });
}

/// Fails on every frame whose index is `remainder` of `of`.
inline std::shared_ptr<Capsule> make_failing(std::int64_t of, std::int64_t remainder) {
  return make_capsule(detector_info("failing", "thing"),
                      [=](const Frame& frame, const auto&, const auto&, auto&) {
                        if (frame.index % of == remainder) throw std::runtime_error("not this one");
                        return DetectionNodes::all();
                      });
}

/// What a run of each video alone writes when it runs in one go.
inline Outputs outputs_of_single_runs(const Job& job, const Capsules& capsules,
                                      const TemporaryFolder& folder) {
  Outputs outputs;
  for (const Job::Video& video : job.videos) {
    const std::string name = video.id + ".jsonl";
    const std::shared_ptr<Sink> sink = make_json_lines_sink(folder / name);
    Pipeline pipeline(capsules);
    pipeline.open_stream({.id = video.id,
                          .source = open_source(video.source),
                          .sinks = {sink},
                          .capsules = video.capsules,
                          .config = video.config,
                          .max_frames = job.max_frames});
    EXPECT_FALSE(pipeline.wait(video.id).failure);
    sink->close();
    outputs.emplace(name, read_file(folder / name));
  }
  return outputs;
}

/// Jobs over clips that the test writes. The clips lie in a folder beside their outputs.
class BulkTest : public testing::Test {
 protected:
  /// Adds a clip of that many frames.
  void add_clip(const std::string& id, int frames) {
    const auto path = folder_ / (id + ".mp4");
    write_clip(path, {.size = {64, 48}, .frames = frames, .options = b_frames(false)});
    job_.videos.push_back({.id = id, .source = path});
  }
  /// Adds a video that cannot be opened.
  void add_broken(const std::string& id) {
    job_.videos.push_back({.id = id, .source = folder_.write(id + ".mp4", "no video")});
  }

  JobReport run(const Capsules& capsules, JobSettings settings = {},
                const std::stop_token& stop = {}) {
    JobFolder folder(job_.outputs.folder, {{"job", "test"}});
    return BulkRun(job_, capsules, folder, std::move(settings)).run(stop);
  }

  const TemporaryFolder folder_;
  Job job_{.outputs = {.folder = folder_ / "out"}, .parallel = 2};
};

}  // namespace vcap::test
