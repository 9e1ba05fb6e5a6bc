// SPDX-License-Identifier: Apache-2.0
#include "cli/eval_pairing.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/eval_exports.hpp"
#include "cli/eval_labels.hpp"
#include "cli/eval_records.hpp"
#include "cli/eval_report.hpp"
#include "cli/exit_code.hpp"
#include "records/csv.hpp"
#include "records/input_file.hpp"

namespace vcap::cli {
namespace {

/// Reads the files in the order of the command line.
class FilePairer {
 public:
  FilePairer(const EvalArguments& arguments, const std::vector<EvalName>& names)
      : arguments_(arguments), names_(names) {}

  EvalPairing pair() {
    std::set<std::string> formats;
    for (std::size_t i = 0; i < arguments_.found().size(); ++i) {
      const std::string format = format_of(arguments_.ground_truth[i]);
      formats.insert(format);
      if (formats.size() > 1)
        throw UsageError("--ground-truth: the files have the formats " + quote_list(formats) +
                         "; compare files of one format at a time");
      if (format == "coco")
        add_coco(i);
      else if (format == "mot")
        add_mot(i);
      else if (const auto exported = exported_format(format))
        add_exported(i, *exported);
      else
        add_labels(i);
    }
    paired_.is_labels = formats.contains("labels");
    return std::move(paired_);
  }

 private:
  std::string format_of(const std::string& path) const {
    if (!arguments_.format.empty()) return arguments_.format;
    std::error_code ignored;
    const std::string extension = std::filesystem::path(path).extension().string();
    if (std::filesystem::is_directory(path, ignored) || extension == ".yaml" ||
        extension == ".xml") {
      const auto format = guess_record_format(path);
      return format ? std::string(to_string(*format)) : "labels";
    }
    if (extension == ".csv") return is_table_of_records(path) ? "csv" : "labels";
    if (extension == ".txt") return "mot";
    if (extension != ".json")
      throw UsageError("--ground-truth " + path +
                       ": its name does not show its format; give --format coco, mot, yolo, csv, "
                       "voc or labels");
    const nlohmann::json content = InputFile(path).read_json();
    return content.is_object() && content.contains("annotations") ? "coco" : "labels";
  }

  static std::optional<RecordFormat> exported_format(const std::string& format) {
    for (const RecordFormat one : {RecordFormat::yolo, RecordFormat::csv, RecordFormat::voc})
      if (format == to_string(one)) return one;
    return std::nullopt;
  }

  /// Whether the CSV file names the columns of records; else it has lines FILE,LABEL.
  static bool is_table_of_records(const std::string& path) {
    const auto header = CsvReader(path).read();
    return header && std::ranges::find(*header, "frame_index") != header->end();
  }

  /// The records of the file with this index on the command line.
  EvalRecords records_of(std::size_t place, bool boxes) {
    return noted(place, read_records(arguments_.records[place],
                                     {arguments_.stream, arguments_.group, boxes}));
  }

  EvalRecords noted(std::size_t place, EvalRecords records) {
    if (records.without_box > 0)
      note(place, counted(records.without_box, "object") + " without a box left out");
    if (records.without_confidence > 0)
      note(place,
           counted(records.without_confidence, "object") + " without a confidence; 1 is used");
    return records;
  }

  void note(std::size_t place, const std::string& text) {
    paired_.notes.push_back(arguments_.found()[place] + ": " + text);
  }

  void add_coco(std::size_t place) {
    const std::string& path = arguments_.ground_truth[place];
    const nlohmann::json content = InputFile(path).read_json();
    EvalCoco coco = read_coco(path, content);
    const bool tracks = coco.scene.has_tracks && !coco.scene.frames.empty();
    if (arguments_.uses_records() || tracks)
      number_frames(arguments_.frames_by, arguments_.first_frame, coco);
    if (arguments_.uses_records())
      take_records(place, records_of(place, true), coco.scene);
    else
      add_coco_results(arguments_.found()[place], coco);
    add_scene(std::move(coco.scene));
  }

  void add_exported(std::size_t place, RecordFormat format) {
    const EvalRecordsWanted wanted{arguments_.stream, arguments_.group, true};
    EvalScene scene = read_exported_truth(arguments_.ground_truth[place], format, wanted);
    EvalRecords records =
        arguments_.uses_records()
            ? records_of(place, true)
            : noted(place, read_exported_results(arguments_.found()[place], format, wanted));
    take_records(place, std::move(records), scene);
    add_scene(std::move(scene));
  }

  void add_scene(EvalScene scene) {
    for (const std::string& name : scene.names)
      if (std::ranges::find(paired_.categories, name) == paired_.categories.end())
        paired_.categories.push_back(name);
    paired_.scenes.push_back(std::move(scene));
  }

  void take_records(std::size_t place, EvalRecords records, EvalScene& scene) {
    std::map<std::int64_t, EvalFrame*> by_number;
    for (EvalFrame& frame : scene.frames) {
      frame.is_recorded = false;
      by_number.emplace(frame.number, &frame);
    }
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
      throw UsageError(arguments_.found()[place] + ": its records match no frame of " +
                       arguments_.ground_truth[place] + ", which has the frames " +
                       range_of(scene) + "; set --frames-by or --first-frame");
    if (unknown > 0)
      note(place, counted(unknown, "record") +
                      " for frames that the ground truth does not have; left out");
  }

  static std::string range_of(const EvalScene& scene) {
    const auto [first, last] = std::ranges::minmax_element(scene.frames, {}, &EvalFrame::number);
    if (first == scene.frames.end()) return "none";
    return std::to_string(first->number) + " to " + std::to_string(last->number);
  }

  void add_mot(std::size_t place) {
    paired_.is_mot = true;
    const std::string category = names_.empty() ? "objects" : names_.front().truth;
    if (names_.size() > 1)
      throw UsageError(
          "--name: a MOT file has objects of one class at a time; give one name and --mot-class");
    EvalMotFrames frames = read_mot_truth(lines_of_mot(arguments_.ground_truth[place]),
                                          arguments_.mot_classes, category);
    if (arguments_.uses_records()) {
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
      add_mot_results(lines_of_mot(arguments_.found()[place]), category, frames);
    }
    if (paired_.categories.empty()) paired_.categories.push_back(category);
    EvalScene scene{.names = {category}, .has_tracks = true};
    for (auto& [number, frame] : frames) scene.frames.push_back(std::move(frame));
    paired_.scenes.push_back(std::move(scene));
  }

  /// The file of a sequence's folder.
  static std::string lines_of_mot(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::is_directory(path, ignored) ? path / "gt" / "gt.txt" : path;
  }

  /// The name that records use for the one class of a MOT file.
  std::string name_in(std::size_t place, const EvalRecords& records) const {
    std::set<std::string> present;
    for (const EvalRecord& record : records.records)
      for (const EvalFound& found : record.objects) present.insert(found.name);
    if (!names_.empty()) {
      check_present(names_.front().found, present, place);
      return names_.front().found;
    }
    if (present.size() > 1)
      throw UsageError(arguments_.found()[place] + ": its objects have the names " +
                       quote_list(present) + "; choose one with --name");
    return present.empty() ? std::string() : *present.begin();
  }

  /// Refuses a name that no object has, unless there are no objects at all.
  void check_present(const std::string& name, const std::set<std::string>& present,
                     std::size_t place) const {
    if (present.empty() || present.contains(name)) return;
    throw UsageError(arguments_.found()[place] + ": no object has the name " + quote(name) +
                     "; there are " + quote_list(present) + suggestion(name, present));
  }

  void add_labels(std::size_t place) {
    const EvalLabels labels = read_labels(arguments_.ground_truth[place]);
    const std::map<std::string, std::string> found = arguments_.uses_records()
                                                         ? labels_in_records(place, labels)
                                                         : labels_in_results(place, labels);
    for (const auto& [file, label] : labels) {
      const auto taken = found.find(file);
      paired_.samples.push_back(
          {label, taken == found.end() ? std::nullopt : std::optional(taken->second)});
    }
    if (const std::size_t missing = labels.size() - found.size(); missing > 0)
      note(place, counted(missing, "image") + " of " + std::to_string(labels.size()) +
                      " got no label; they count as wrong");
  }

  std::map<std::string, std::string> labels_in_results(std::size_t place,
                                                       const EvalLabels& labels) const {
    const InputFile input(arguments_.found()[place]);
    std::set<std::string> files;
    for (const auto& [file, label] : labels) files.insert(file);
    std::map<std::string, std::string> found;
    for (const auto& [file, label] : read_labels(arguments_.found()[place])) {
      if (!files.contains(file))
        input.fail("", "the file " + quote(file) + " is not in " + arguments_.ground_truth[place] +
                           suggestion(file, files));
      found.emplace(file, label);
    }
    return found;
  }

  /// The object of highest confidence in each frame; the frames are the files in their order.
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
      note(place, counted(unknown, "record") + " after the last of " +
                      counted(labels.size(), "image") + "; left out");
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

  const EvalArguments& arguments_;
  const std::vector<EvalName>& names_;
  EvalPairing paired_;
};

}  // namespace

EvalPairing pair_files(const EvalArguments& arguments, const std::vector<EvalName>& names) {
  return FilePairer(arguments, names).pair();
}

}  // namespace vcap::cli
