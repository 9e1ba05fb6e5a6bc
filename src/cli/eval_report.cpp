// SPDX-License-Identifier: Apache-2.0
// An evaluation as a value and as JSON; the tables are in eval_tables.cpp, the plots in
// eval_plots.cpp.
#include "cli/eval_report.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace vcap::cli {
namespace {

using Json = nlohmann::json;
using Figures = std::vector<std::pair<const char*, std::optional<double>>>;

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

void add_figures(Json& object, const Figures& figures) {
  for (const auto& [name, value] : figures)
    if (value) object[name] = *value;
}

Json json_of(const DetectionScores& scores) {
  Json object = {{"true_positives", scores.true_positives},
                 {"false_positives", scores.false_positives},
                 {"misses", scores.misses}};
  add_figures(object,
              {{"precision", scores.precision}, {"recall", scores.recall}, {"f1", scores.f1}});
  return object;
}

Json json_of(const AveragePrecision& figures) {
  Json object = Json::object();
  add_figures(object, figures_of(figures));
  return object;
}

Json json_of(const TrackingCounts& counts) {
  const TrackingScores scores = tracking_scores(counts);
  Json object = {{"truth_boxes", counts.truth_boxes},
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

Json json_of(const ClassificationScores& scores) {
  Json object = {{"samples", scores.samples},
                 {"right", scores.right},
                 {"classes", Json::array()},
                 {"confusion", scores.confusion}};
  add_figures(object, {{"accuracy", scores.accuracy},
                       {"macro_precision", scores.macro_precision},
                       {"macro_recall", scores.macro_recall},
                       {"macro_f1", scores.macro_f1}});
  for (std::size_t i = 0; i < scores.classes.size(); ++i) {
    const ClassificationScores::Class& one = scores.classes[i];
    Json& entry = object["classes"].emplace_back(
        Json{{"label", one.label}, {"samples", one.samples}, {"not_found", scores.not_found[i]}});
    add_figures(entry, {{"precision", one.precision}, {"recall", one.recall}, {"f1", one.f1}});
  }
  return object;
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

double f1_of(const PrecisionRecallPoint& point) {
  const double sum = point.precision + point.recall;
  return sum > 0 ? 2 * point.precision * point.recall / sum : 0;
}

std::optional<PrecisionRecallPoint> best_point(const std::vector<PrecisionRecallPoint>& curve) {
  const auto best = std::ranges::max_element(curve, {}, f1_of);
  if (best == curve.end()) return std::nullopt;
  return *best;
}

Json json_of_report(const EvalReport& report) {
  Json object = {{"schema", "vcap.evaluation/1"},
                 {"ground_truth", report.ground_truth},
                 {"found", report.found},
                 {"notes", report.notes}};
  if (report.threshold) object["threshold"] = *report.threshold;
  if (report.classification) object["classification"] = json_of(*report.classification);
  if (report.classes.empty()) return object;
  object["iou"] = report.iou;
  object["mean_average_precision"] = json_of(report.mean_average_precision());
  for (const EvalReport::Class& one : report.classes) {
    Json& entry = object["classes"].emplace_back(Json{
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
