// SPDX-License-Identifier: Apache-2.0
#include "cli/eval_report.hpp"

#include <algorithm>
#include <cstdio>
#include <ostream>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace vcap::cli {
namespace {

using nlohmann::json;
using Figures = std::vector<std::pair<const char*, std::optional<double>>>;

/// More classes than that make a table that nobody reads.
constexpr std::size_t kMostClassesOfMatrix = 12;

std::string figure_text(const std::optional<double>& value, int digits = 4) {
  if (!value) return "-";
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, *value);
  return text;
}

/// Columns as wide as what is in them; the first to the left, the others to the right.
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

Figures figures_of(const AveragePrecision& of) {
  return {{"ap", of.ap},
          {"ap_50", of.ap_50},
          {"ap_75", of.ap_75},
          {"ap_small", of.ap_small},
          {"ap_medium", of.ap_medium},
          {"ap_large", of.ap_large},
          {"ar_1", of.ar_1},
          {"ar_10", of.ar_10},
          {"ar_100", of.ar_100},
          {"ar_small", of.ar_small},
          {"ar_medium", of.ar_medium},
          {"ar_large", of.ar_large}};
}

Figures figures_of(const TrackingScores& of) {
  return {{"mota", of.mota},
          {"motp", of.motp},
          {"precision", of.precision},
          {"recall", of.recall},
          {"idf1", of.idf1},
          {"id_precision", of.id_precision},
          {"id_recall", of.id_recall},
          {"hota", of.hota},
          {"det_a", of.det_a},
          {"det_precision", of.det_precision},
          {"det_recall", of.det_recall},
          {"ass_a", of.ass_a},
          {"ass_precision", of.ass_precision},
          {"ass_recall", of.ass_recall},
          {"loc_a", of.loc_a},
          {"median_truth_length", of.median_truth_length},
          {"median_found_length", of.median_found_length}};
}

void add_figures(json& object, const Figures& figures) {
  for (const auto& [name, value] : figures)
    if (value) object[name] = *value;
}

json json_of(const DetectionScores& scores) {
  json object = {{"true_positives", scores.true_positives},
                 {"false_positives", scores.false_positives},
                 {"misses", scores.misses}};
  add_figures(object,
              {{"precision", scores.precision}, {"recall", scores.recall}, {"f1", scores.f1}});
  return object;
}

double f1_of(const PrecisionRecallPoint& point) {
  const double sum = point.precision + point.recall;
  return sum > 0 ? 2 * point.precision * point.recall / sum : 0;
}

json json_of(const AveragePrecision& figures) {
  json object = json::object();
  add_figures(object, figures_of(figures));
  return object;
}

json json_of(const TrackingCounts& counts) {
  const TrackingScores scores = tracking_scores(counts);
  json object = {{"truth_boxes", counts.truth_boxes},
                 {"found_boxes", counts.found_boxes},
                 {"matches", counts.matches},
                 {"misses", counts.truth_boxes - counts.matches},
                 {"false_positives", counts.found_boxes - counts.matches},
                 {"id_switches", counts.id_switches},
                 {"fragmentations", counts.fragmentations},
                 {"truth_tracks", counts.truth_lengths.size()},
                 {"found_tracks", counts.found_lengths.size()},
                 {"mostly_tracked", counts.mostly_tracked},
                 {"partly_tracked", counts.partly_tracked},
                 {"mostly_lost", counts.mostly_lost},
                 {"identity_matches", counts.identity_matches},
                 {"hota_at", scores.hota_at},
                 {"det_a_at", scores.det_a_at},
                 {"ass_a_at", scores.ass_a_at}};
  add_figures(object, figures_of(scores));
  return object;
}

json json_of(const ClassificationScores& scores) {
  json object = {{"samples", scores.samples},
                 {"right", scores.right},
                 {"classes", json::array()},
                 {"confusion", scores.confusion}};
  add_figures(object, {{"accuracy", scores.accuracy},
                       {"macro_precision", scores.macro_precision},
                       {"macro_recall", scores.macro_recall},
                       {"macro_f1", scores.macro_f1}});
  for (std::size_t i = 0; i < scores.classes.size(); ++i) {
    const ClassificationScores::Class& one = scores.classes[i];
    json& entry = object["classes"].emplace_back(
        json{{"label", one.label}, {"samples", one.samples}, {"not_found", scores.not_found[i]}});
    add_figures(entry, {{"precision", one.precision}, {"recall", one.recall}, {"f1", one.f1}});
  }
  return object;
}

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

std::optional<TrackingCounts> EvalReport::all_tracking() const {
  std::optional<TrackingCounts> all;
  for (const Class& one : classes) {
    if (!one.tracking) continue;
    if (!all) all.emplace();
    *all += *one.tracking;
  }
  return all;
}

AveragePrecision EvalReport::mean_average_precision() const {
  std::vector<AveragePrecision> each;
  for (const Class& one : classes) each.push_back(one.average_precision);
  return mean_over_classes(each);
}

std::optional<PrecisionRecallPoint> best_point(const std::vector<PrecisionRecallPoint>& curve) {
  const auto best = std::ranges::max_element(curve, {}, f1_of);
  if (best == curve.end()) return std::nullopt;
  return *best;
}

void print_report(const EvalReport& report, std::ostream& out) {
  if (report.classification) print_classification(*report.classification, out);
  if (!report.classes.empty()) print_detection(report, out);
  print_tracking(report, out);
  if (!report.notes.empty()) out << "\nNotes\n";
  for (const std::string& note : report.notes) out << "  " << printable(note) << '\n';
}

json json_of_report(const EvalReport& report) {
  json object = {{"schema", "vcap.evaluation/1"},
                 {"ground_truth", report.ground_truth},
                 {"found", report.found},
                 {"notes", report.notes}};
  if (report.threshold) object["threshold"] = *report.threshold;
  if (report.classification) object["classification"] = json_of(*report.classification);
  if (report.classes.empty()) return object;
  object["iou"] = report.iou;
  object["mean_average_precision"] = json_of(report.mean_average_precision());
  for (const EvalReport::Class& one : report.classes) {
    json& entry = object["classes"].emplace_back(json{
        {"name", one.name}, {"truth_boxes", one.truth_boxes}, {"found_boxes", one.found_boxes}});
    entry["detection"] = json_of(one.detection);
    entry["average_precision"] = json_of(one.average_precision);
    if (const auto best = best_point(one.curve))
      entry["best"] = {{"confidence", best->score},
                       {"precision", best->precision},
                       {"recall", best->recall},
                       {"f1", f1_of(*best)}};
    if (one.tracking) entry["tracking"] = json_of(*one.tracking);
  }
  if (const auto all = report.all_tracking()) object["tracking"] = json_of(*all);
  return object;
}

}  // namespace vcap::cli
