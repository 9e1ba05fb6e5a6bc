// SPDX-License-Identifier: Apache-2.0
// Compares records, or results of other tools, with ground truth.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/eval_arguments.hpp"
#include "cli/eval_pairing.hpp"
#include "cli/eval_report.hpp"
#include "cli/eval_scores.hpp"
#include "cli/exit_code.hpp"
#include "files/output_file.hpp"

namespace vcap::cli {
namespace {

constexpr const char* kEvalHelp =
    "Ground truth is a COCO instances file, a MOT Challenge gt.txt, a folder of YOLO labels, a CSV "
    "table of vcap convert, or labels: a folder with a "
    "folder of images for each class, a CSV file of lines FILE,LABEL, or a JSON object of file to "
    "label. The detections are records of vcap run, or results in the same format. COCO gives "
    "precision, recall and average precision; MOT also tracking figures; labels give accuracy and "
    "the confusion matrix. Frames without records count as missed.";

int evaluate(const EvalArguments& arguments) {
  const std::vector<EvalName> names = read_names(arguments.names);
  const EvalReport report = score_pairing(arguments, names, pair_files(arguments, names));
  if (!arguments.plots.empty()) write_plots(report, arguments.plots);
  if (!arguments.json.empty()) {
    OutputFile file(arguments.json);
    file.write(json_of_report(report).dump(2) + "\n");
    file.commit();
  }
  if (arguments.json != "-") print_report(report, std::cout);
  return kDone;
}

}  // namespace

void add_eval(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<EvalArguments>();
  CLI::App* command = app.add_subcommand("eval",
                                         "Compares results with ground truth: detection, tracking, "
                                         "classification");
  arguments->add_to(*command);
  command->footer(std::string(kEvalHelp) + "\n" + kExitCodesHelp);
  command->callback([arguments, &chosen] {
    arguments->check();
    chosen = [arguments] { return evaluate(*arguments); };
  });
}

}  // namespace vcap::cli
