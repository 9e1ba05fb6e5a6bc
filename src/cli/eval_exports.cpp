// SPDX-License-Identifier: Apache-2.0
#include "cli/eval_exports.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "records/input_file.hpp"
#include "records/outline.hpp"

namespace vcap::cli {
namespace {

/// The frames of the one stream that is wanted, by their index.
std::map<std::int64_t, FrameRecord> frames_of_stream(const std::string& path, RecordFormat format,
                                                     const EvalRecordsWanted& wanted) {
  const InputFile input(path);
  const auto reader = open_records(path, {.format = format});
  std::set<std::string> streams, groups;
  std::map<std::int64_t, FrameRecord> frames;
  while (std::optional<FrameRecord> record = reader->read()) {
    streams.insert(record->stream_id);
    if (wanted.stream && record->stream_id != *wanted.stream) continue;
    if (wanted.group && record->group != wanted.group) continue;
    groups.insert(record->group ? std::to_string(*record->group) : "");
    if (!wanted.stream && streams.size() > 1)
      input.fail("", "it has the frames of several streams, " + quote_list(streams) +
                         "; choose one with --stream");
    if (groups.size() > 1) input.fail("", "it has several groups; choose one with --group");
    const std::int64_t index = record->frame.index;
    if (!frames.emplace(index, std::move(*record)).second)
      input.fail("", "frame " + std::to_string(index) + " is there twice");
  }
  if (frames.empty() && !streams.empty())
    input.fail("", "it has no such frames; there are the streams " + quote_list(streams));
  return frames;
}

/// Gives tracks numbers, each once in a frame.
class TrackPlaces {
 public:
  std::optional<std::int64_t> of(const std::string& path, const FrameRecord& record,
                                 const DetectionNode& node) {
    if (!node.track_id) return std::nullopt;
    if (record.frame.index != frame_) seen_.clear();
    frame_ = record.frame.index;
    if (!seen_.insert(*node.track_id).second)
      InputFile(path).fail("", "two objects of frame " + std::to_string(frame_) +
                                   " have the track_id " + quote(node.track_id->to_string()) +
                                   "; give each object of a frame its own track_id");
    return places_.try_emplace(*node.track_id, static_cast<std::int64_t>(places_.size()))
        .first->second;
  }

 private:
  std::int64_t frame_ = -1;
  std::set<Uuid> seen_;
  std::unordered_map<Uuid, std::int64_t> places_;
};

void each_node(const std::vector<DetectionNode>& nodes,
               const std::function<void(const DetectionNode&)>& take) {
  for (const DetectionNode& node : nodes) {
    take(node);
    each_node(node.children, take);
  }
}

bool has_flag(const DetectionNode& node, const char* key) {
  const auto flag = node.extra_data->find(key);
  return flag != node.extra_data->end() && *flag == 1;
}

EvalTruth truth_of(const DetectionNode& node) {
  EvalTruth truth{.name = node.name,
                  .box = {.box = node.bbox(),
                          .area = outline_area(node.coords),
                          .is_crowd = has_flag(node, "iscrowd"),
                          .is_ignored = has_flag(node, "ignore")}};
  if (truth.box.is_crowd || truth.box.is_ignored) truth.role = TruthRole::distractor;
  return truth;
}

}  // namespace

EvalScene read_exported_truth(const std::string& path, RecordFormat format,
                              const EvalRecordsWanted& wanted) {
  EvalScene scene{.has_tracks = true};
  TrackPlaces tracks;
  std::int64_t nameless = 0;
  for (const auto& [index, record] : frames_of_stream(path, format, wanted)) {
    EvalFrame& frame = scene.frames.emplace_back(EvalFrame{.number = index});
    each_node(record.objects, [&, index = index, &record = record](const DetectionNode& node) {
      if (node.coords.empty())
        InputFile(path).fail("", "frame " + std::to_string(index) + " has the object " +
                                     quote(node.name) + " without a box; give x, y, w and h");
      EvalTruth truth = truth_of(node);
      truth.track = tracks.of(path, record, node);
      if (!truth.track && truth.role == TruthRole::distractor) truth.track = --nameless;
      if (!truth.track) scene.has_tracks = false;
      if (std::ranges::find(scene.names, node.name) == scene.names.end())
        scene.names.push_back(node.name);
      frame.truth.push_back(std::move(truth));
    });
  }
  return scene;
}

EvalRecords read_exported_results(const std::string& path, RecordFormat format,
                                  const EvalRecordsWanted& wanted) {
  EvalRecords records;
  TrackPlaces tracks;
  for (const auto& [index, record] : frames_of_stream(path, format, wanted)) {
    records.stream = record.stream_id;
    EvalRecord& added = records.records.emplace_back(EvalRecord{.frame_index = index});
    each_node(record.objects, [&, &record = record](const DetectionNode& node) {
      if (node.coords.empty()) {
        ++records.without_box;
        return;
      }
      EvalFound found{.name = node.name, .attributes = node.attributes};
      found.box = {.box = node.bbox(), .area = node.bbox().area()};
      const auto confidence = node.confidence();
      if (!confidence) ++records.without_confidence;
      found.box.score = confidence.value_or(1);
      found.track = tracks.of(path, record, node);
      added.objects.push_back(std::move(found));
    });
  }
  return records;
}

}  // namespace vcap::cli
