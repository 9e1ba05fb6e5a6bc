// SPDX-License-Identifier: Apache-2.0
#include "view/replay.hpp"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/figures.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"
#include "support/video.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/pipeline/replay.hpp"

namespace vcap::bench {
namespace {

using Capsules = std::vector<std::shared_ptr<Capsule>>;

const auto kReplayedFrames = workload<std::int64_t>(200, 4);

/// Runs the stream to its end, with its records in a file.
void run_stream(const Capsules& capsules, StreamConfig config, const std::string& records) {
  const std::shared_ptr<Sink> sink = make_json_lines_sink(records);
  config.sinks.push_back(sink);
  const std::string id = config.id;
  Pipeline pipeline(capsules);
  pipeline.open_stream(std::move(config));
  const StreamReport report = pipeline.wait(id);
  if (report.failure) throw std::runtime_error(*report.failure);
  sink->close();
}

void record(const Capsules& capsules, const std::string& clip, const std::string& folder) {
  RecordingManifest manifest = recorded_settings({});
  for (const auto& capsule : capsules) manifest.capsules.push_back(recorded_capsule(*capsule, ""));
  StreamConfig config{.id = "vtest", .source = open_source(clip), .max_frames = kReplayedFrames};
  Recorder recorder(folder, std::move(manifest));
  const auto sink = recorder.add_stream(recorded_stream(config, clip));
  config.sinks.push_back(sink);
  run_stream(capsules, std::move(config), folder + ".jsonl");
  sink->close();
}

}  // namespace

double run_to_replay() {
  const test::TemporaryFolder folder;
  const std::string clip = footage();
  const std::string recording = (folder / "night").string();
  const auto tracker = load_capsule(
      test::built("examples/capsules/tracker_person/tracker_person.cap"), {.devices = {"CPU:0"}});
  const Capsules all{
      load_capsule(test::built("examples/capsules/detector_person_hog/detector_person_hog.cap"),
                   {.devices = {"CPU:0"}}),
      tracker};
  record(all, clip, recording);

  const std::string ran = (folder / "ran.jsonl").string();
  const std::string replayed = (folder / "replayed.jsonl").string();
  const double full = seconds([&] {
    run_stream(all, {.id = "vtest", .source = open_source(clip), .max_frames = kReplayedFrames},
               ran);
  });
  const double replay = seconds([&] {
    const Replay from_detector(recording, {.from = all[0]->name()});
    const Capsules capsules{from_detector.stand_in(all[0]->name()), tracker};
    run_stream(capsules, from_detector.stream("vtest", capsules), replayed);
  });
  if (test::read_file(ran) != test::read_file(replayed))
    throw std::logic_error("the replay has other records than the run");
  return full / replay;
}

}  // namespace vcap::bench
