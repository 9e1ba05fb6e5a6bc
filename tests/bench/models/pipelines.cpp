// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "models/by_hand.hpp"
#include "models/networks.hpp"
#include "models/parts.hpp"
#include "models/python_peers.hpp"
#include "models/rate_pair.hpp"
#include "support/paths.hpp"
#include "support/program_capsule.hpp"
#include "support/temporary_folder.hpp"
#include "support/video.hpp"
#include "vcap/backends/blaze_reader.hpp"
#include "vcap/backends/yunet_reader.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/pipeline/pipeline.hpp"

namespace vcap::bench::models {
namespace {

constexpr int kTile = 192;
constexpr double kOverlap = 0.2;
const cv::Size kFrame{768, 576};       // of the footage
const long kFrames = workload(60, 2);  // per sample

long tiles() {
  const Tiling tiling{.tile = {kTile, kTile}, .overlap = kOverlap};
  return static_cast<long>(tiling.tiles(kFrame).size());
}

Network pose_on_tiles() {
  Network network = pose();
  network.spec.output["tiling"] = {{"tile", {kTile, kTile}}, {"overlap", kOverlap}};
  return network;
}

CapsuleInfo detector_info(const Network& network) {
  CapsuleInfo info = test::finder_info("detector", network.spec.labels.front());
  info.output_type.keypoints = network.spec.labels.front() == "face"
                                   ? YunetSettings().keypoints
                                   : BlazeSettings::pose().keypoints;
  info.output_type.extra_data = {"detection_confidence"};
  return info;
}

struct Detector {
  explicit Detector(const Network& network)
      : capsule(test::program_capsule(detector_info(network), [&]() -> std::unique_ptr<Backend> {
          auto made = make_backend(network);
          backend = made.get();
          return made;
        })) {}
  DetectorBackend* backend = nullptr;  // owned by the capsule
  const std::shared_ptr<Capsule> capsule;
};

/// Runs frames of the footage through the capsules, into a file of records for each stream.
Rate in_pipeline(const std::vector<std::shared_ptr<Capsule>>& capsules, int streams, long frames) {
  Window window(frames, frames / 10 + 2 * streams);
  const test::TemporaryFolder records;
  Pipeline pipeline(capsules);
  const std::shared_ptr<Sink> counter = make_callback_sink([&](const FrameRecord& record) {
    if (!record.errors.empty()) throw std::runtime_error(record.errors.front().message);
    window.count();
  });
  for (int i = 0; i < streams; ++i) {
    const std::string id = std::to_string(i);
    pipeline.open_stream(
        {.id = id,
         .source = open_source(footage()),
         .sinks = {counter, make_json_lines_sink(records.path() / (id + ".jsonl"))},
         .max_frames = (window.images() + streams - 1) / streams + 8});
  }
  for (int i = 0; i < streams; ++i) {
    const StreamReport report = pipeline.wait(std::to_string(i));
    if (report.failure) throw std::runtime_error(*report.failure);
  }
  return window.rate();
}

/// The detector on tiles, and the tracker.
const std::vector<std::shared_ptr<Capsule>>& people() {
  static const auto& all = *new std::vector<std::shared_ptr<Capsule>>{
      Detector(pose_on_tiles()).capsule,
      load_capsule(test::built("examples/capsules/tracker_person/tracker_person.cap"))};
  return all;
}

/// The rate of the pipeline, divided by that of the network alone. For the latter, tensors are
/// filled beforehand, and outputs are not read.
Rate to_network_alone(int streams) {
  static ByHand& hand = *new ByHand(pose(), PerformanceGoal::throughput);
  static bool pipeline_first = false;
  pipeline_first = !pipeline_first;
  // So many frames per stream that the frames in flight at the end are a small part.
  const long frames = std::max(kFrames, workload(15L, 1L) * streams);
  Rate by_pipeline;
  if (pipeline_first) by_pipeline = in_pipeline(people(), streams, frames);
  const Rate alone = hand.refill_ready(kFrames * tiles());
  if (!pipeline_first) by_pipeline = in_pipeline(people(), streams, frames);
  const auto of_frame = static_cast<double>(tiles());
  return {by_pipeline.of_time * of_frame / alone.of_time,
          by_pipeline.of_cpu * of_frame / alone.of_cpu};
}

/// The share of frames whose pixels were copied, for a network of the size of the frame.
double copies_of_frames() {
  const long kWhole = workload(40, 3);
  const Detector detector(yunet(kFrame));
  in_pipeline({detector.capsule}, 1, kWhole);
  const ModelRunner::Counts counts = detector.backend->runner().counts();
  if (counts.pictures < static_cast<std::size_t>(kWhole))
    throw std::logic_error("the network was not run on every frame");
  return static_cast<double>(counts.pictures - counts.shared) /
         static_cast<double>(counts.pictures);
}

}  // namespace

std::vector<Figure> pipelines() {
  std::vector<Figure> figures;
  for (const int streams : {1, 4, 16}) {
    const auto pair = std::make_shared<RatePair>([=] { return to_network_alone(streams); });
    const std::string who = "tiles, tracker, records, " + std::to_string(streams) +
                            (streams == 1 ? " stream" : " streams");
    figures.push_back({.id = "models.2",
                       .what = who + ", rate of its network alone",
                       .target = 0.95,
                       .better = Better::higher,
                       .sample = [=] { return pair->of_time(); },
                       .samples = 5});
    figures.push_back({.id = "models.2",
                       .what = who + ", frames a CPU-second, of the same",
                       .target = 0.95,
                       .better = Better::higher,
                       .sample = [=] { return pair->of_cpu(); },
                       .samples = 5});
  }
  if (has_python())
    figures.push_back({.id = "models.2",
                       .what = "the same on 1 stream, frame rate of the way of Python's vcap",
                       .target = 3,
                       .better = Better::higher,
                       .sample =
                           [] {
                             return ratio(
                                 [] { return in_pipeline(people(), 1, kFrames).of_time; },
                                 [] { return by_python_way(pose(), kFrames, kTile, kOverlap); });
                           },
                       .samples = 3});
  figures.push_back({.id = "models.3",
                     .what = "copies of a frame's pixels between decoder and engine",
                     .target = 0,
                     .sample = copies_of_frames,
                     .samples = 3});
  return figures;
}

}  // namespace vcap::bench::models
