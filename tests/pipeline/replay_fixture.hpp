// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "records/record_line.hpp"
#include "support/live_helpers.hpp"
#include "support/pipeline_helpers.hpp"
#include "support/temporary_folder.hpp"
#include "vcap/model/uuid.hpp"
#include "vcap/pipeline/replay.hpp"

namespace vcap::test {

using Capsules = std::vector<std::shared_ptr<Capsule>>;

/// Gives nodes an id that depends on the stream's seed, and the number of frames since the state
/// was made.
inline CapsuleInfo tracker_info() {
  CapsuleInfo info = all_info("tracker", "person");
  info.output_type.tracked = true;
  info.output_type.extra_data = {"age"};
  info.stream_state = make_stream_state<CountingState>();
  info.keeps_state_at = {Discontinuity::gap};
  return info;
}

inline std::shared_ptr<Capsule> make_tracker(std::atomic<int>* calls = nullptr) {
  return make_capsule(tracker_info(), [calls](const Frame&, DetectionNodes nodes,
                                              const OptionValues&, BaseStreamState& state) {
    if (calls) ++*calls;
    auto& counted = dynamic_cast<CountingState&>(state);
    std::mt19937_64 engine(counted.info.seed);
    ++counted.frames;
    for (DetectionNode& node : nodes) {
      node.track_id = Uuid::random(engine);
      node.extra_data["age"] = counted.frames;
    }
    return nodes;
  });
}

inline CapsuleInfo finder_info() {
  CapsuleInfo info = detector_info("finder", "person");
  info.options = {{"left", FloatOption{.default_value = 0.5}}};
  return info;
}

/// Finds a person at option `left` plus the brightness of the picture.
inline DetectionNodes find(const Frame& frame, const OptionValues& options) {
  return DetectionNodes::all(
      {node_at("person", options.get<double>("left") + frame.image.at<cv::Vec3b>(0, 0)[0], 1)});
}

inline std::shared_ptr<Capsule> make_finder(std::function<void(const Frame&)> before = {}) {
  return make_capsule(finder_info(), [before](const Frame& frame, DetectionNodes,
                                              const OptionValues& options, BaseStreamState&) {
    if (before) before(frame);
    return find(frame, options);
  });
}

inline std::vector<std::string> lines_of(const std::vector<FrameRecord>& records) {
  std::vector<std::string> lines;
  for (const FrameRecord& record : records) lines.push_back(record_line(record));
  return lines;
}

class ReplayTest : public testing::Test {
 protected:
  std::string recording() const { return (folder_ / "night").string(); }

  /// Runs the stream and records it; returns its records.
  std::vector<FrameRecord> record(const Capsules& capsules, StreamConfig config) {
    Pipeline pipeline(capsules);
    return record(pipeline, capsules, std::move(config));
  }
  std::vector<FrameRecord> record(Pipeline& pipeline, const Capsules& capsules,
                                  StreamConfig config) {
    RecordingManifest manifest = recorded_settings({});
    for (const auto& capsule : capsules)
      manifest.capsules.push_back(recorded_capsule(*capsule, ""));
    Recorder recorder(recording(), manifest);
    config.id = "door";
    const auto sink = recorder.add_stream(recorded_stream(config, ""));
    config.sinks.push_back(sink);
    std::vector<FrameRecord> records = run(pipeline, std::move(config));
    sink->close();
    return records;
  }

  std::vector<FrameRecord> replay(const Capsules& capsules, ReplaySettings settings = {}) {
    const Replay replay(recording(), std::move(settings));
    Pipeline pipeline(capsules, replay.pipeline_settings());
    return run(pipeline, replay.stream("door", capsules));
  }

  Capsules standing_in_for_finder(std::shared_ptr<Capsule> next) {
    return {Replay(recording(), {.from = "finder"}).stand_in("finder"), std::move(next)};
  }

  const TemporaryFolder folder_;
};

}  // namespace vcap::test
