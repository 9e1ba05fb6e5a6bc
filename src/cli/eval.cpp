// SPDX-License-Identifier: Apache-2.0
// Records, or what other tools have found, against ground truth.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/eval_coco.hpp"
#include "cli/eval_input.hpp"
#include "cli/eval_labels.hpp"
#include "cli/eval_mot.hpp"
#include "cli/eval_records.hpp"
#include "cli/eval_report.hpp"
#include "cli/exit_code.hpp"
#include "runtime/output_file.hpp"
#include "vcap/base/error.hpp"

namespace vcap::cli {
namespace {

constexpr const char* kEvalHelp =
    "Ground truth is a COCO instances file, a MOT Challenge gt.txt, or labels: a folder with a "
    "folder of images for each class, a CSV file of lines FILE,LABEL, or a JSON object of file to "
    "label. What was found is the records of vcap run, or results in the same form. COCO gives "
    "precision, recall and average precision; MOT the figures of tracking too; labels accuracy and "
    "the confusion matrix. Frames without records count as missed.";

struct EvalArguments {
  std::vector<std::string> records;
  std::vector<std::string> results;
  std::vector<std::string> ground_truth;
  std::string format;  ///< empty: by the file
  std::vector<std::string> names;
  std::optional<std::string> stream;
  std::optional<std::int64_t> group;
  double iou = 0.5;
  std::optional<double> threshold;
  EvalFramesBy frames_by = EvalFramesBy::automatic;
  std::int64_t first_frame = 0;
  EvalMotClasses mot_classes;
  std::optional<std::string> attribute;
  std::string json;
  std::string plots;
};

/// A class of the ground truth, and how records call it.
struct EvalName {
  std::string found;
  std::string truth;
};

std::vector<EvalName> read_names(const std::vector<std::string>& texts) {
  std::vector<EvalName> names;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const bool has_both = equals != std::string::npos;
    const EvalName name{text.substr(0, equals), has_both ? text.substr(equals + 1) : text};
    if (name.found.empty() || name.truth.empty())
      throw UsageError("--name " + quote(text) + ": a name is empty; write NAME or NAME=CATEGORY");
    if (std::ranges::any_of(names, [&](const EvalName& one) { return one.truth == name.truth; }))
      throw UsageError("--name " + quote(text) + ": the category " + quote(name.truth) +
                       " is given twice; give each once");
    names.push_back(name);
  }
  return names;
}

std::string plural(std::size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// Compares all that the command line names.
class Evaluation {
 public:
  explicit Evaluation(const EvalArguments& arguments)
      : arguments_(arguments), names_(read_names(arguments.names)) {
    report_.ground_truth = arguments.ground_truth;
    report_.found = uses_records() ? arguments.records : arguments.results;
    report_.iou = arguments.iou;
    report_.threshold = arguments.threshold;
  }

  EvalReport run() {
    std::set<std::string> formats;
    for (std::size_t i = 0; i < report_.found.size(); ++i) {
      const std::string format = format_of(report_.ground_truth[i]);
      formats.insert(format);
      if (formats.size() > 1)
        throw UsageError("--ground-truth: the files are of the forms " + quote_list(formats) +
                         "; compare files of one form at once");
      if (format == "coco")
        add_coco(i);
      else if (format == "mot")
        add_mot(i);
      else
        add_labels(i);
    }
    if (formats.contains("labels"))
      report_.classification = score_classification(samples_);
    else
      score_scenes();
    return std::move(report_);
  }

 private:
  bool uses_records() const { return !arguments_.records.empty(); }

  std::string format_of(const std::string& path) const {
    if (!arguments_.format.empty()) return arguments_.format;
    std::error_code ignored;
    const std::string extension = std::filesystem::path(path).extension().string();
    if (std::filesystem::is_directory(path, ignored) || extension == ".csv") return "labels";
    if (extension == ".txt") return "mot";
    if (extension != ".json")
      throw UsageError("--ground-truth " + path +
                       ": its form is not known by its name; give --format coco, mot or labels");
    const nlohmann::json content = EvalInput(path).read_json();
    return content.is_object() && content.contains("annotations") ? "coco" : "labels";
  }

  /// The records of that place of the command line.
  EvalRecords records_of(std::size_t place, bool boxes) {
    EvalRecords records =
        read_records(arguments_.records[place], {arguments_.stream, arguments_.group, boxes});
    if (records.without_box > 0)
      note(place, plural(records.without_box, "object") + " without a box left out");
    if (records.without_confidence > 0)
      note(place, plural(records.without_confidence, "object") +
                      " without a confidence, for which 1 is taken");
    return records;
  }

  void note(std::size_t place, const std::string& text) {
    report_.notes.push_back(report_.found[place] + ": " + text);
  }

  void add_coco(std::size_t place) {
    const std::string& path = report_.ground_truth[place];
    const nlohmann::json content = EvalInput(path).read_json();
    EvalCoco coco = read_coco(path, content);
    const bool tracks = coco.scene.has_tracks && !coco.scene.frames.empty();
    if (uses_records() || tracks)
      number_frames(path, content, arguments_.frames_by, arguments_.first_frame, coco);
    if (uses_records())
      take_records(place, coco);
    else
      add_coco_results(report_.found[place], coco);
    for (const std::string& name : coco.scene.names)
      if (std::ranges::find(categories_, name) == categories_.end()) categories_.push_back(name);
    scenes_.push_back(std::move(coco.scene));
  }

  void take_records(std::size_t place, EvalCoco& coco) {
    std::map<std::int64_t, EvalFrame*> by_number;
    for (EvalFrame& frame : coco.scene.frames) {
      frame.is_recorded = false;
      by_number.emplace(frame.number, &frame);
    }
    EvalRecords records = records_of(place, true);
    std::size_t unknown = 0;
    for (EvalRecord& record : records.records) {
      const auto found = by_number.find(record.frame_index);
      if (found == by_number.end()) {
        ++unknown;
        continue;
      }
      found->second->is_recorded = true;
      found->second->found = std::move(record.objects);
    }
    if (unknown == records.records.size())
      throw UsageError(report_.found[place] + ": none of its " +
                       plural(records.records.size(), "record") + " is of a frame of " +
                       report_.ground_truth[place] + ", whose frames are " + range_of(coco.scene) +
                       "; set --frames-by or --first-frame");
    if (unknown > 0)
      note(place,
           plural(unknown, "record") + " of frames that the ground truth does not have, left out");
  }

  static std::string range_of(const EvalScene& scene) {
    const auto [first, last] = std::ranges::minmax_element(scene.frames, {}, &EvalFrame::number);
    if (first == scene.frames.end()) return "none";
    return std::to_string(first->number) + " to " + std::to_string(last->number);
  }

  void add_mot(std::size_t place) {
    is_mot_ = true;
    const std::string category = names_.empty() ? "objects" : names_.front().truth;
    if (names_.size() > 1)
      throw UsageError(
          "--name: a MOT file has objects of one class at a time; give one name, and --mot-class");
    EvalMotFrames frames =
        read_mot_truth(report_.ground_truth[place], arguments_.mot_classes, category);
    if (uses_records()) {
      for (auto& [number, frame] : frames) frame.is_recorded = false;
      EvalRecords records = records_of(place, true);
      const std::string name = name_in(place, records);
      for (EvalRecord& record : records.records) {
        std::erase_if(record.objects, [&](const EvalFound& one) { return one.name != name; });
        for (EvalFound& found : record.objects) found.name = category;
        EvalFrame& frame = frames[record.frame_index];
        frame.number = record.frame_index;
        frame.is_recorded = true;
        frame.found = std::move(record.objects);
      }
    } else {
      add_mot_results(report_.found[place], category, frames);
    }
    if (categories_.empty()) categories_.push_back(category);
    EvalScene scene{.names = {category}, .has_tracks = true};
    for (auto& [number, frame] : frames) scene.frames.push_back(std::move(frame));
    scenes_.push_back(std::move(scene));
  }

  /// By which name records call the one class of a MOT file.
  std::string name_in(std::size_t place, const EvalRecords& records) const {
    std::set<std::string> present;
    for (const EvalRecord& record : records.records)
      for (const EvalFound& found : record.objects) present.insert(found.name);
    if (!names_.empty()) {
      check_present(names_.front().found, present, place);
      return names_.front().found;
    }
    if (present.size() > 1)
      throw UsageError(report_.found[place] + ": its objects have the names " +
                       quote_list(present) + "; choose one with --name");
    return present.empty() ? std::string() : *present.begin();
  }

  /// A name that is nowhere was misspelt; where nothing was found at all, there is none to be.
  void check_present(const std::string& name, const std::set<std::string>& present,
                     std::size_t place) const {
    if (present.empty() || present.contains(name)) return;
    throw UsageError(report_.found[place] + ": no object has the name " + quote(name) +
                     "; there are " + quote_list(present) + suggestion(name, present));
  }

  void add_labels(std::size_t place) {
    const EvalLabels labels = read_labels(report_.ground_truth[place]);
    const std::map<std::string, std::string> found =
        uses_records() ? labels_in_records(place, labels) : labels_in_results(place, labels);
    for (const auto& [file, label] : labels) {
      const auto taken = found.find(file);
      samples_.push_back(
          {label, taken == found.end() ? std::nullopt : std::optional(taken->second)});
    }
    if (const std::size_t missing = labels.size() - found.size(); missing > 0)
      note(place, plural(missing, "image") + " of " + std::to_string(labels.size()) +
                      " taken for nothing; they count as wrong");
  }

  std::map<std::string, std::string> labels_in_results(std::size_t place,
                                                       const EvalLabels& labels) const {
    const EvalInput input(report_.found[place]);
    std::set<std::string> files;
    for (const auto& [file, label] : labels) files.insert(file);
    std::map<std::string, std::string> found;
    for (const auto& [file, label] : read_labels(report_.found[place])) {
      if (!files.contains(file))
        input.fail("", "the file " + quote(file) + " is not in " + report_.ground_truth[place] +
                           suggestion(file, files));
      found.emplace(file, label);
    }
    return found;
  }

  /// The surest object of each frame; the frames are the files in their order.
  std::map<std::string, std::string> labels_in_records(std::size_t place,
                                                       const EvalLabels& labels) {
    std::map<std::string, std::string> found;
    std::size_t unknown = 0;
    for (const EvalRecord& record : records_of(place, false).records) {
      const auto frame = static_cast<std::size_t>(record.frame_index);
      if (frame >= labels.size()) {
        ++unknown;
        continue;
      }
      const EvalFound* surest = nullptr;
      for (const EvalFound& one : record.objects)
        if (is_classified(one) && (surest == nullptr || one.box.score > surest->box.score))
          surest = &one;
      if (surest != nullptr)
        found.emplace(labels[frame].first, arguments_.attribute
                                               ? surest->attributes.at(*arguments_.attribute)
                                               : truth_name(surest->name));
    }
    if (unknown > 0)
      note(place, plural(unknown, "record") + " after the last of " +
                      plural(labels.size(), "image") + ", left out");
    return found;
  }

  bool is_classified(const EvalFound& found) const {
    if (arguments_.threshold && found.box.score < *arguments_.threshold) return false;
    if (arguments_.attribute && !found.attributes.contains(*arguments_.attribute)) return false;
    return names_.empty() || std::ranges::any_of(names_, [&](const EvalName& one) {
             return one.found == found.name;
           });
  }

  std::string truth_name(const std::string& found) const {
    const auto name = std::ranges::find(names_, found, &EvalName::found);
    return name == names_.end() ? found : name->truth;
  }

  /// The classes that are compared.
  std::vector<EvalName> chosen_names() const {
    std::vector<EvalName> chosen;
    if (names_.empty())
      for (const std::string& category : categories_) chosen.push_back({category, category});
    for (const EvalName& name : names_) {
      if (std::ranges::find(categories_, name.truth) == categories_.end())
        throw UsageError("--name " + name.truth + ": the ground truth has no such category; " +
                         "there are " + quote_list(categories_) +
                         suggestion(name.truth, categories_) +
                         "; write NAME=CATEGORY if records "
                         "call it by another name");
      // In scenes of MOT, both sides have the category's name already.
      chosen.push_back({is_mot_ ? name.truth : name.found, name.truth});
    }
    return chosen;
  }

  void score_scenes() {
    const std::vector<EvalName> chosen = chosen_names();
    note_frames(chosen);
    note_names(chosen);
    for (const EvalName& name : chosen) score_class(name);
    std::int64_t objects = 0;
    for (const EvalReport::Class& one : report_.classes) objects += one.truth_boxes;
    if (objects == 0) {
      std::vector<std::string> texts;
      for (const EvalName& name : chosen) texts.push_back(name.truth);
      throw InvalidArgument(ErrorCode::invalid_argument,
                            report_.ground_truth.front() + ": no object of " + quote_list(texts) +
                                " has to be found; check the file, --name and --mot-class");
    }
  }

  void score_class(const EvalName& name) {
    EvalReport::Class& scored = report_.classes.emplace_back();
    scored.name = name.truth;
    std::vector<DetectionFrame> frames;
    for (const EvalScene& scene : scenes_)
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
    if (std::ranges::all_of(scenes_, &EvalScene::has_tracks)) count_tracks(name, scored);
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
    for (const EvalScene& scene : scenes_) {
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
      report_.notes.push_back(plural(untracked, "object") + " found as " + quote(name.found) +
                              " without a track, left out of the figures of tracking");
    scored.tracking = std::move(all);
  }

  bool is_below_threshold(const EvalFound& found) const {
    return arguments_.threshold && found.box.score < *arguments_.threshold;
  }

  void note_frames(const std::vector<EvalName>& chosen) {
    for (std::size_t i = 0; i < scenes_.size(); ++i) {
      std::size_t missing = 0, objects = 0;
      std::optional<std::int64_t> first;
      for (const EvalFrame& frame : scenes_[i].frames) {
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
        note(i, plural(missing, "frame") + " of " + std::to_string(scenes_[i].frames.size()) +
                    " of the ground truth without a record, the first with frame_index " +
                    std::to_string(*first) + "; their " + plural(objects, "object") + " " +
                    (objects == 1 ? "counts" : "count") + " as missed");
    }
  }

  /// Of objects that are compared with nothing.
  void note_names(const std::vector<EvalName>& chosen) {
    for (std::size_t i = 0; i < scenes_.size(); ++i) {
      std::map<std::string, std::size_t> left_out;
      std::set<std::string> present;
      for (const EvalFrame& frame : scenes_[i].frames)
        for (const EvalFound& found : frame.found) {
          present.insert(found.name);
          if (std::ranges::find(chosen, found.name, &EvalName::found) == chosen.end())
            ++left_out[found.name];
        }
      if (!present.empty() && left_out.size() == present.size())
        throw UsageError(report_.found[i] + ": its objects have the names " + quote_list(present) +
                         ", and the ground truth the categories " + quote_list(categories_) +
                         "; pair them with --name NAME=CATEGORY");
      if (!names_.empty()) continue;  // the others are left out on purpose
      for (const auto& [name, count] : left_out)
        note(i, plural(count, "object") + " of the name " + quote(name) +
                    ", which is no category, left out");
    }
  }

  const EvalArguments& arguments_;
  const std::vector<EvalName> names_;
  EvalReport report_;
  std::vector<EvalScene> scenes_;
  std::vector<std::string> categories_;
  std::vector<ClassifiedSample> samples_;
  bool is_mot_ = false;
};

int evaluate(const EvalArguments& arguments) {
  const EvalReport report = Evaluation(arguments).run();
  if (!arguments.plots.empty()) write_plots(report, arguments.plots);
  if (!arguments.json.empty()) {
    OutputFile file(arguments.json);
    file.write(json_of_report(report).dump(2) + "\n");
    file.commit();
  }
  if (arguments.json != "-") print_report(report, std::cout);
  return kDone;
}

/// What CLI11 does not see. Throws CLI::ParseError.
void check(const EvalArguments& arguments) {
  const bool records = !arguments.records.empty(), results = !arguments.results.empty();
  if (!records && !results) throw CLI::RequiredError("--records or --results");
  const std::size_t found = records ? arguments.records.size() : arguments.results.size();
  if (found != arguments.ground_truth.size())
    throw CLI::ValidationError(records ? "--records" : "--results",
                               "there are " + std::to_string(found) + " of them and " +
                                   std::to_string(arguments.ground_truth.size()) +
                                   " of --ground-truth; give one for each, in the same order");
}

CLI::Validator iou_validator() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && value > 0 && value <= 1) return {};
        return text + " is not above 0 and at most 1";
      },
      "");
}

CLI::Validator finite_validator() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && std::isfinite(value)) return {};
        return text + " is not a finite number";
      },
      "");
}

}  // namespace

void add_eval(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<EvalArguments>();
  CLI::App* command =
      app.add_subcommand("eval",
                         "Compares what was found with ground truth: detection, tracking, "
                         "classification");
  const auto repeated = [command](const char* name, std::vector<std::string>& values,
                                  const char* help, const char* type) {
    return command->add_option(name, values, help)->type_name(type)->allow_extra_args(false);
  };
  CLI::Option* records = repeated("--records", arguments->records,
                                  "Records of vcap run --jsonl; once for each sequence", "PATH");
  repeated("--results", arguments->results,
           "What another tool has found, in place of records: COCO results, MOT results, or labels",
           "PATH")
      ->excludes(records);
  repeated("--ground-truth", arguments->ground_truth,
           "What is there; once for each of --records or --results, in the same order", "PATH")
      ->required();
  command
      ->add_option("--format", arguments->format,
                   "The form of the ground truth, where its file does not tell")
      ->type_name("coco|mot|labels")
      ->check(CLI::IsMember({"coco", "mot", "labels"}).description(""));
  repeated("--name", arguments->names,
           "Which objects are compared, and the ground truth's name for them where it is another; "
           "once for each class (default: all categories)",
           "NAME[=CATEGORY]");
  command->add_option("--stream", arguments->stream, "Which of the records' streams")
      ->type_name("ID");
  command->add_option("--group", arguments->group, "Which of the stream's groups")->type_name("N");
  command
      ->add_option("--iou", arguments->iou,
                   "Overlap from which an object counts as found (default: 0.5)")
      ->type_name("NUMBER")
      ->check(iou_validator());
  command
      ->add_option("--threshold", arguments->threshold,
                   "Leaves out objects of lower confidence, but for average precision (default: "
                   "none)")
      ->type_name("NUMBER")
      ->check(finite_validator());
  command
      ->add_option_function<std::string>(
          "--frames-by",
          [arguments](const std::string& rule) {
            arguments->frames_by = rule == "field"       ? EvalFramesBy::field
                                   : rule == "file-name" ? EvalFramesBy::file_name
                                   : rule == "id"        ? EvalFramesBy::id
                                                         : EvalFramesBy::order;
          },
          "Which number of a COCO image is its frame: its field frame_index, the last number of "
          "its "
          "file_name, its id, or its place among the file names (default: the first of field, "
          "file-name and id that all images have)")
      ->type_name("field|file-name|id|order")
      ->check(CLI::IsMember({"field", "file-name", "id", "order"}).description(""));
  command
      ->add_option("--first-frame", arguments->first_frame,
                   "The first frame's number in file names or ids (default: 0)")
      ->type_name("N");
  command
      ->add_option("--mot-class", arguments->mot_classes.counted,
                   "The class of a MOT file that is compared (default: 1, pedestrians)")
      ->type_name("N");
  command
      ->add_option(
          "--mot-distractor", arguments->mot_classes.distractors,
          "A class of a MOT file on which boxes are neither right nor wrong; once for each "
          "(default: 2, 7, 8, 12)")
      ->type_name("N")
      ->allow_extra_args(false);
  command
      ->add_option("--attribute", arguments->attribute,
                   "Takes an object's attribute for its label, and not its name")
      ->type_name("CATEGORY");
  command
      ->add_option("--json", arguments->json,
                   "Writes all figures there; \"-\" is standard output, without the tables")
      ->type_name("PATH");
  command->add_option("--plots", arguments->plots, "Writes plots into that folder, as SVG")
      ->type_name("FOLDER");
  command->footer(std::string(kEvalHelp) + "\n" + kExitCodesHelp);
  command->callback([arguments, &chosen] {
    check(*arguments);
    chosen = [arguments] { return evaluate(*arguments); };
  });
}

}  // namespace vcap::cli
