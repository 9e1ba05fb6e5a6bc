// SPDX-License-Identifier: Apache-2.0
// The tables of an evaluation.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "cli/eval_report.hpp"

namespace vcap::cli {
namespace {

/// A confusion matrix of more classes is too wide for a terminal.
constexpr std::size_t kMostClassesOfMatrix = 12;

std::string figure_text(const std::optional<double>& value, int digits = 4) {
  if (!value) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, *value);
  return text;
}

/// Columns as wide as their widest cell; the first is aligned left, the others right.
class TextTable {
 public:
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  void print(std::ostream& out) const {
    std::vector<std::size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()));
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    for (const auto& row : rows_) {
      std::string line(2, ' ');
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::size_t blanks = widths[i] - row[i].size();
        if (i > 0) line.append(2 + blanks, ' ');
        line.append(row[i]);
        if (i == 0) line.append(blanks, ' ');
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out << line << '\n';
    }
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

void print_detection(const EvalReport& report, std::ostream& out) {
  out << "Detection, IoU " << number_text(report.iou);
  if (report.threshold) out << ", confidence from " << number_text(*report.threshold);
  out << '\n';
  TextTable table;
  table.add({"class", "objects", "found", "TP", "FP", "misses", "precision", "recall", "F1",
             "AP 0.5", "AP 0.5:0.95", "best F1", "at"});
  for (const EvalReport::Class& one : report.classes) {
    const DetectionScores& scores = one.detection;
    const auto best = best_point(one.curve);
    table.add({printable(one.name), std::to_string(one.truth_boxes),
               std::to_string(one.found_boxes), std::to_string(scores.true_positives),
               std::to_string(scores.false_positives), std::to_string(scores.misses),
               figure_text(scores.precision), figure_text(scores.recall), figure_text(scores.f1),
               figure_text(one.average_precision.ap_50), figure_text(one.average_precision.ap),
               best ? figure_text(f1_of(*best)) : "-", best ? figure_text(best->score) : "-"});
  }
  table.print(out);

  const AveragePrecision mean = report.mean_average_precision();
  out << "\nAverage precision and recall" << (report.classes.size() > 1 ? ", mean of classes" : "")
      << '\n';
  TextTable figures;
  figures.add({"", "0.5:0.95", "0.5", "0.75", "small", "medium", "large"});
  figures.add({"AP", figure_text(mean.ap), figure_text(mean.ap_50), figure_text(mean.ap_75),
               figure_text(mean.ap_small), figure_text(mean.ap_medium),
               figure_text(mean.ap_large)});
  figures.add({"", "1 a frame", "10", "100", "small", "medium", "large"});
  figures.add({"AR", figure_text(mean.ar_1), figure_text(mean.ar_10), figure_text(mean.ar_100),
               figure_text(mean.ar_small), figure_text(mean.ar_medium),
               figure_text(mean.ar_large)});
  figures.print(out);
}

void add_tracking_row(const std::string& name, const TrackingCounts& counts, TextTable& first,
                      TextTable& second) {
  const TrackingScores scores = tracking_scores(counts);
  first.add({printable(name), figure_text(scores.hota), figure_text(scores.det_a),
             figure_text(scores.ass_a), figure_text(scores.loc_a), figure_text(scores.mota),
             figure_text(scores.motp), figure_text(scores.idf1), figure_text(scores.id_precision),
             figure_text(scores.id_recall)});
  second.add(
      {printable(name), std::to_string(counts.id_switches), std::to_string(counts.fragmentations),
       std::to_string(counts.mostly_tracked), std::to_string(counts.partly_tracked),
       std::to_string(counts.mostly_lost), std::to_string(counts.truth_lengths.size()),
       std::to_string(counts.found_lengths.size()), figure_text(scores.median_truth_length, 1),
       figure_text(scores.median_found_length, 1)});
}

void print_tracking(const EvalReport& report, std::ostream& out) {
  const auto all = report.all_tracking();
  if (!all) return;
  out << "\nTracking, IoU " << number_text(report.iou) << " (HOTA: 0.05 to 0.95)\n";
  TextTable first, second;
  first.add({"class", "HOTA", "DetA", "AssA", "LocA", "MOTA", "MOTP", "IDF1", "IDP", "IDR"});
  second.add({"class", "ID switches", "fragments", "mostly tracked", "partly", "mostly lost",
              "true tracks", "found tracks", "median length", "found"});
  for (const EvalReport::Class& one : report.classes)
    if (one.tracking) add_tracking_row(one.name, *one.tracking, first, second);
  if (report.classes.size() > 1) add_tracking_row("all", *all, first, second);
  first.print(out);
  second.print(out);
}

void print_classification(const ClassificationScores& scores, std::ostream& out) {
  out << "Classification\n  " << scores.right << " of " << scores.samples << " right, accuracy "
      << figure_text(scores.accuracy) << '\n';
  TextTable table;
  table.add({"class", "samples", "precision", "recall", "F1"});
  for (const ClassificationScores::Class& one : scores.classes)
    table.add({printable(one.label), std::to_string(one.samples), figure_text(one.precision),
               figure_text(one.recall), figure_text(one.f1)});
  table.add({"mean", std::to_string(scores.samples), figure_text(scores.macro_precision),
             figure_text(scores.macro_recall), figure_text(scores.macro_f1)});
  table.print(out);
  if (scores.classes.size() > kMostClassesOfMatrix) return;
  out << "\nTrue class (rows), found class (columns)\n";
  TextTable matrix;
  std::vector<std::string> head{""};
  for (const ClassificationScores::Class& one : scores.classes)
    head.push_back(printable(one.label));
  head.emplace_back("(none)");
  matrix.add(std::move(head));
  for (std::size_t i = 0; i < scores.classes.size(); ++i) {
    std::vector<std::string> row{printable(scores.classes[i].label)};
    for (const std::int64_t count : scores.confusion[i]) row.push_back(std::to_string(count));
    row.push_back(std::to_string(scores.not_found[i]));
    matrix.add(std::move(row));
  }
  matrix.print(out);
}

}  // namespace

void print_report(const EvalReport& report, std::ostream& out) {
  if (report.classification) print_classification(*report.classification, out);
  if (!report.classes.empty()) print_detection(report, out);
  print_tracking(report, out);
  if (!report.notes.empty()) out << "\nNotes\n";
  for (const std::string& note : report.notes) out << "  " << printable(note) << '\n';
}

}  // namespace vcap::cli
