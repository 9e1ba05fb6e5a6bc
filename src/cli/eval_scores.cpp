// SPDX-License-Identifier: Apache-2.0
#include "cli/eval_scores.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "cli/exit_code.hpp"
#include "vcap/base/error.hpp"

namespace vcap::cli {
namespace {

/// Scores the classes of scenes.
class SceneScorer {
 public:
  SceneScorer(const EvalArguments& arguments, const std::vector<EvalName>& names,
              const EvalPairing& paired, EvalReport& report)
      : arguments_(arguments), names_(names), paired_(paired), report_(report) {}

  void score() {
    const std::vector<EvalName> chosen = chosen_names();
    note_frames(chosen);
    note_names(chosen);
    for (const EvalName& name : chosen) score_class(name);
    std::int64_t objects = 0;
    for (const EvalReport::Class& one : report_.classes) objects += one.truth_boxes;
    if (objects == 0) {
      std::vector<std::string> texts;
      texts.reserve(chosen.size());
      for (const EvalName& name : chosen) texts.push_back(name.truth);
      throw InvalidArgument(ErrorCode::invalid_argument,
                            arguments_.ground_truth.front() + ": it has no object to find of " +
                                quote_list(texts) + "; check the file, --name and --mot-class");
    }
  }

 private:
  /// The classes that are compared.
  std::vector<EvalName> chosen_names() const {
    std::vector<EvalName> chosen;
    if (names_.empty())
      for (const std::string& category : paired_.categories) chosen.push_back({category, category});
    for (const EvalName& name : names_) {
      if (std::ranges::find(paired_.categories, name.truth) == paired_.categories.end())
        throw UsageError("--name " + name.truth + ": the ground truth has no such category; " +
                         "there are " + quote_list(paired_.categories) +
                         suggestion(name.truth, paired_.categories) +
                         "; write NAME=CATEGORY if records "
                         "use another name");
      // In scenes of MOT, both sides have the category's name already.
      chosen.push_back({paired_.is_mot ? name.truth : name.found, name.truth});
    }
    return chosen;
  }

  void score_class(const EvalName& name) {
    EvalReport::Class& scored = report_.classes.emplace_back();
    scored.name = name.truth;
    std::vector<DetectionFrame> frames;
    for (const EvalScene& scene : paired_.scenes)
      for (const EvalFrame& frame : scene.frames) frames.push_back(boxes_of(frame, name));
    for (const DetectionFrame& frame : frames) {
      scored.found_boxes += static_cast<std::int64_t>(frame.found.size());
      scored.truth_boxes += std::ranges::count_if(
          frame.truth, [](const TruthBox& truth) { return !truth.is_crowd && !truth.is_ignored; });
    }
    scored.detection = score_detections(
        frames, report_.iou, report_.threshold.value_or(-std::numeric_limits<double>::infinity()));
    scored.average_precision = average_precision(frames);
    scored.curve = precision_recall_curve(frames, report_.iou);
    if (std::ranges::all_of(paired_.scenes, &EvalScene::has_tracks)) count_tracks(name, scored);
  }

  static DetectionFrame boxes_of(const EvalFrame& frame, const EvalName& name) {
    DetectionFrame boxes;
    for (const EvalTruth& truth : frame.truth)
      if (truth.name == name.truth && truth.role != TruthRole::bystander)
        boxes.truth.push_back(truth.box);
    for (const EvalFound& found : frame.found)
      if (found.name == name.found) boxes.found.push_back(found.box);
    return boxes;
  }

  void count_tracks(const EvalName& name, EvalReport::Class& scored) {
    TrackingCounts all;
    std::size_t tracked = 0, untracked = 0;
    for (const EvalScene& scene : paired_.scenes) {
      std::vector<const EvalFrame*> order;
      for (const EvalFrame& frame : scene.frames) order.push_back(&frame);
      std::ranges::stable_sort(order, {}, &EvalFrame::number);
      std::vector<TrackingFrame> frames;
      for (const EvalFrame* frame : order) {
        TrackingFrame& added = frames.emplace_back();
        for (const EvalTruth& truth : frame->truth)
          if (truth.name == name.truth)
            added.truth.push_back({*truth.track, truth.box.box, truth.role});
        for (const EvalFound& found : frame->found) {
          if (found.name != name.found || is_below_threshold(found)) continue;
          ++(found.track ? tracked : untracked);
          if (found.track) added.found.push_back({*found.track, found.box.box});
        }
      }
      all += count_tracking(frames, report_.iou);
    }
    if (tracked == 0 && untracked > 0) {
      report_.notes.push_back("no object found as " + quote(name.found) +
                              " has a track, so tracking is not scored");
      return;
    }
    if (untracked > 0)
      report_.notes.push_back(counted(untracked, "object") + " found as " + quote(name.found) +
                              " without a track; left out of the tracking figures");
    scored.tracking = std::move(all);
  }

  bool is_below_threshold(const EvalFound& found) const {
    return arguments_.threshold && found.box.score < *arguments_.threshold;
  }

  void note(std::size_t place, const std::string& text) {
    report_.notes.push_back(arguments_.found()[place] + ": " + text);
  }

  void note_frames(const std::vector<EvalName>& chosen) {
    for (std::size_t i = 0; i < paired_.scenes.size(); ++i) {
      std::size_t missing = 0, objects = 0;
      std::optional<std::int64_t> first;
      for (const EvalFrame& frame : paired_.scenes[i].frames) {
        if (frame.is_recorded) continue;
        ++missing;
        if (!first || frame.number < *first) first = frame.number;
        objects += static_cast<std::size_t>(
            std::ranges::count_if(frame.truth, [&](const EvalTruth& truth) {
              return truth.role == TruthRole::counted &&
                     std::ranges::any_of(
                         chosen, [&](const EvalName& name) { return name.truth == truth.name; });
            }));
      }
      if (missing > 0)
        note(i, counted(missing, "frame") + " of " +
                    std::to_string(paired_.scenes[i].frames.size()) +
                    " of the ground truth without a record, the first with frame_index " +
                    std::to_string(*first) + "; their " + counted(objects, "object") + " " +
                    (objects == 1 ? "counts" : "count") + " as missed");
    }
  }

  /// Notes objects that are compared with nothing.
  void note_names(const std::vector<EvalName>& chosen) {
    for (std::size_t i = 0; i < paired_.scenes.size(); ++i) {
      std::map<std::string, std::size_t> left_out;
      std::set<std::string> present;
      for (const EvalFrame& frame : paired_.scenes[i].frames)
        for (const EvalFound& found : frame.found) {
          present.insert(found.name);
          if (std::ranges::find(chosen, found.name, &EvalName::found) == chosen.end())
            ++left_out[found.name];
        }
      if (!present.empty() && left_out.size() == present.size())
        throw UsageError(arguments_.found()[i] + ": its objects have the names " +
                         quote_list(present) + ", but the ground truth has the categories " +
                         quote_list(paired_.categories) + "; pair them with --name NAME=CATEGORY");
      if (!names_.empty()) continue;  // the others are left out on purpose
      for (const auto& [name, count] : left_out)
        note(i, counted(count, "object") + " named " + quote(name) +
                    ", which is not a category; left out");
    }
  }

  const EvalArguments& arguments_;
  const std::vector<EvalName>& names_;
  const EvalPairing& paired_;
  EvalReport& report_;
};

}  // namespace

EvalReport score_pairing(const EvalArguments& arguments, const std::vector<EvalName>& names,
                         EvalPairing paired) {
  EvalReport report;
  report.ground_truth = arguments.ground_truth;
  report.found = arguments.found();
  report.iou = arguments.iou;
  report.threshold = arguments.threshold;
  report.notes = std::move(paired.notes);
  if (paired.is_labels)
    report.classification = score_classification(paired.samples);
  else
    SceneScorer(arguments, names, paired, report).score();
  return report;
}

}  // namespace vcap::cli
