// SPDX-License-Identifier: Apache-2.0
#include "cli/eval_arguments.hpp"

#include <algorithm>
#include <cmath>

#include <CLI/CLI.hpp>

#include "base/text.hpp"
#include "cli/exit_code.hpp"

namespace vcap::cli {
namespace {

CLI::Validator iou_validator() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && value > 0 && value <= 1) return {};
        return text + " is not allowed; give a number above 0 and at most 1";
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

void EvalArguments::add_to(CLI::App& command) {
  const auto repeated = [&command](const char* name, std::vector<std::string>& values,
                                   const char* help, const char* type) {
    return command.add_option(name, values, help)->type_name(type)->allow_extra_args(false);
  };
  CLI::Option* const by_records =
      repeated("--records", records,
               "Records of vcap run --jsonl; one file for each sequence; may be repeated", "PATH");
  repeated("--results", results,
           "Another tool's results instead of records: COCO, MOT Challenge, YOLO, CSV, Pascal VOC, "
           "or labels",
           "PATH")
      ->excludes(by_records);
  repeated("--ground-truth", ground_truth,
           "Ground truth; once for each of --records or --results, in the same order", "PATH")
      ->required();
  command
      .add_option("--format", format,
                  "The format of the ground truth, if its file does not show it")
      ->type_name("coco|mot|yolo|csv|voc|labels")
      ->check(CLI::IsMember({"coco", "mot", "yolo", "csv", "voc", "labels"}).description(""));
  repeated(
      "--name", names,
      "The class of the compared objects, and the ground truth's name for it if it differs; may "
      "be repeated (default: all categories)",
      "NAME[=CATEGORY]");
  command.add_option("--stream", stream, "The stream of the records to compare")->type_name("ID");
  command.add_option("--group", group, "The group of the stream to compare")->type_name("N");
  command
      .add_option("--iou", iou, "The minimum IoU at which an object counts as found (default: 0.5)")
      ->type_name("NUMBER")
      ->check(iou_validator());
  command
      .add_option("--threshold", threshold,
                  "Leaves out objects of lower confidence, except for average precision "
                  "(default: no threshold)")
      ->type_name("NUMBER")
      ->check(finite_validator());
  command
      .add_option_function<std::string>(
          "--frames-by",
          [this](const std::string& rule) {
            frames_by = rule == "field"       ? CocoFramesBy::field
                        : rule == "file-name" ? CocoFramesBy::file_name
                        : rule == "id"        ? CocoFramesBy::id
                                              : CocoFramesBy::order;
          },
          "What gives the frame number of a COCO image: its field frame_index, the last number in "
          "its file_name, its id, or its place among the sorted file names (default: the first of "
          "field, file-name and id that all images have)")
      ->type_name("field|file-name|id|order")
      ->check(CLI::IsMember({"field", "file-name", "id", "order"}).description(""));
  command
      .add_option("--first-frame", first_frame,
                  "The first frame's number in file names or ids (default: 0)")
      ->type_name("N");
  command
      .add_option("--mot-class", mot_classes.counted,
                  "The class of a MOT file that is compared (default: 1, pedestrians)")
      ->type_name("N");
  command
      .add_option(
          "--mot-distractor", mot_classes.distractors,
          "A class of a MOT file whose boxes count neither as right nor as wrong; may be repeated "
          "(default: 2, 7, 8, 12)")
      ->type_name("N")
      ->allow_extra_args(false);
  command
      .add_option("--attribute", attribute,
                  "Uses an object's attribute as its label, instead of its name")
      ->type_name("CATEGORY");
  command
      .add_option(
          "--json", json,
          "Writes all figures to that file; \"-\": to standard output, instead of the tables")
      ->type_name("PATH");
  command.add_option("--plots", plots, "Writes plots into that folder, as SVG")
      ->type_name("FOLDER");
}

void EvalArguments::check() const {
  if (records.empty() && results.empty()) throw CLI::RequiredError("--records or --results");
  if (found().size() != ground_truth.size())
    throw CLI::ValidationError(uses_records() ? "--records" : "--results",
                               std::to_string(found().size()) + " given, but " +
                                   std::to_string(ground_truth.size()) +
                                   " of --ground-truth; give one for each, in the same order");
}

std::vector<EvalName> read_names(const std::vector<std::string>& names) {
  std::vector<EvalName> read;
  for (const std::string& text : names) {
    const std::size_t equals = text.find('=');
    const bool has_both = equals != std::string::npos;
    const EvalName name{text.substr(0, equals), has_both ? text.substr(equals + 1) : text};
    if (name.found.empty() || name.truth.empty())
      throw UsageError("--name " + quote(text) + ": a name is empty; write NAME or NAME=CATEGORY");
    if (std::ranges::any_of(read, [&](const EvalName& one) { return one.truth == name.truth; }))
      throw UsageError("--name " + quote(text) + ": the category " + quote(name.truth) +
                       " is given twice; give each once");
    read.push_back(name);
  }
  return read;
}

}  // namespace vcap::cli
