// SPDX-License-Identifier: Apache-2.0
// vcap's figures equal those of the public tools on the random cases of evaluation_golden.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "vcap/algorithms/classification_evaluation.hpp"
#include "vcap/algorithms/detection_evaluation.hpp"
#include "vcap/algorithms/tracking_evaluation.hpp"

namespace vcap {
namespace {

using Json = nlohmann::json;

constexpr double kTolerance = 1e-6;

const Json& golden() {
  static const Json content = [] {
    std::ifstream file(test::in_sources("tests/algorithms/evaluation_golden.json"));
    return Json::parse(file);
  }();
  return content;
}

BoundingBox box_at(const Json& values, std::size_t place) {
  const double x = values.at(place), y = values.at(place + 1);
  return {x, y, x + values.at(place + 2).get<double>(), y + values.at(place + 3).get<double>()};
}

std::vector<DetectionFrame> detection_frames(const Json& list) {
  std::vector<DetectionFrame> frames;
  for (const Json& one : list) {
    DetectionFrame& frame = frames.emplace_back();
    for (const Json& truth : one.at("truth"))
      frame.truth.push_back({.box = box_at(truth, 0),
                             .area = truth.at(4).get<double>(),
                             .is_crowd = truth.at(5) == 1,
                             .is_ignored = truth.at(6) == 1});
    for (const Json& found : one.at("found"))
      frame.found.push_back({.box = box_at(found, 0), .score = found.at(4)});
  }
  return frames;
}

void expect_figures(const AveragePrecision& actual, const Json& expected) {
  const std::array<std::pair<const char*, std::optional<double>>, 12> figures{
      {{"ap", actual.ap},
       {"ap_50", actual.ap_50},
       {"ap_75", actual.ap_75},
       {"ap_small", actual.ap_small},
       {"ap_medium", actual.ap_medium},
       {"ap_large", actual.ap_large},
       {"ar_1", actual.ar_1},
       {"ar_10", actual.ar_10},
       {"ar_100", actual.ar_100},
       {"ar_small", actual.ar_small},
       {"ar_medium", actual.ar_medium},
       {"ar_large", actual.ar_large}}};
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const auto& [name, figure] = figures[i];
    ASSERT_EQ(figure.has_value(), !expected.at(i).is_null()) << name;
    if (!figure) continue;
    EXPECT_NEAR(*figure, expected.at(i).get<double>(), kTolerance) << name;
  }
}

TEST(EvaluationAgreement, DetectionFiguresEqualThoseOfPycocotools) {
  ASSERT_GE(golden().at("detection").size(), 19u);
  for (const Json& one : golden().at("detection")) {
    SCOPED_TRACE(one.at("name").get<std::string>());
    std::vector<AveragePrecision> classes;
    for (const Json& of_class : one.at("classes")) {
      const std::vector<DetectionFrame> frames = detection_frames(of_class.at("frames"));
      classes.push_back(average_precision(frames));
      expect_figures(classes.back(), of_class.at("figures"));
      const DetectionScores scores = score_detections(frames, one.at("iou"), one.at("least_score"));
      EXPECT_EQ(Json::array({scores.true_positives, scores.false_positives, scores.misses}),
                of_class.at("counts"));
    }
    expect_figures(mean_over_classes(classes), one.at("mean"));
  }
}

TruthRole role_of(const std::string& name) {
  if (name == "distractor") return TruthRole::distractor;
  return name == "bystander" ? TruthRole::bystander : TruthRole::counted;
}

std::vector<TrackingFrame> tracking_frames(const Json& list) {
  std::vector<TrackingFrame> frames;
  for (const Json& one : list) {
    TrackingFrame& frame = frames.emplace_back();
    for (const Json& truth : one.at("truth"))
      frame.truth.push_back(
          {.id = truth.at(0), .box = box_at(truth, 1), .role = role_of(truth.at(5))});
    for (const Json& found : one.at("found"))
      frame.found.push_back({.id = found.at(0), .box = box_at(found, 1)});
  }
  return frames;
}

/// The figures by TrackEval's names. A figure without a denominator is 0 there.
std::map<std::string, double> numbers_of(const TrackingCounts& counts) {
  const TrackingScores scores = tracking_scores(counts);
  const auto number = [](std::int64_t count) { return static_cast<double>(count); };
  return {{"HOTA", scores.hota.value_or(0)},
          {"DetA", scores.det_a.value_or(0)},
          {"AssA", scores.ass_a.value_or(0)},
          {"DetRe", scores.det_recall.value_or(0)},
          {"DetPr", scores.det_precision.value_or(0)},
          {"AssRe", scores.ass_recall.value_or(0)},
          {"AssPr", scores.ass_precision.value_or(0)},
          {"LocA", scores.loc_a.value_or(0)},
          {"MOTA", scores.mota.value_or(0)},
          {"MOTP", scores.motp.value_or(0)},
          {"CLR_Re", scores.recall.value_or(0)},
          {"CLR_Pr", scores.precision.value_or(0)},
          {"IDSW", number(counts.id_switches)},
          {"Frag", number(counts.fragmentations)},
          {"MT", number(counts.mostly_tracked)},
          {"PT", number(counts.partly_tracked)},
          {"ML", number(counts.mostly_lost)},
          {"CLR_TP", number(counts.matches)},
          {"CLR_FP", number(counts.found_boxes - counts.matches)},
          {"CLR_FN", number(counts.truth_boxes - counts.matches)},
          {"IDF1", scores.idf1.value_or(0)},
          {"IDP", scores.id_precision.value_or(0)},
          {"IDR", scores.id_recall.value_or(0)},
          {"IDTP", number(counts.identity_matches)}};
}

void expect_numbers(const TrackingCounts& counts, const Json& expected) {
  const std::map<std::string, double> numbers = numbers_of(counts);
  ASSERT_EQ(numbers.size() + 1, expected.size());
  for (const auto& [name, number] : numbers)
    EXPECT_NEAR(number, expected.at(name).get<double>(), kTolerance) << name;
  const std::vector<double> hota_at = tracking_scores(counts).hota_at;
  ASSERT_EQ(hota_at.size(), expected.at("HOTA_at").size());
  for (std::size_t i = 0; i < hota_at.size(); ++i)
    EXPECT_NEAR(hota_at[i], expected.at("HOTA_at").at(i).get<double>(), kTolerance) << i;
}

TEST(EvaluationAgreement, TrackingFiguresEqualThoseOfTrackEval) {
  ASSERT_GE(golden().at("tracking").size(), 17u);
  std::map<std::string, TrackingCounts> counted;
  for (const Json& one : golden().at("tracking")) {
    const std::string name = one.at("name");
    SCOPED_TRACE(name);
    TrackingCounts& counts = counted[name];
    if (one.contains("together"))
      for (const std::string part : one.at("together")) counts += counted.at(part);
    else
      counts = count_tracking(tracking_frames(one.at("frames")), one.at("iou"));
    expect_numbers(counts, one.at("expected"));
  }
}

TEST(EvaluationAgreement, ClassificationFiguresEqualThoseOfScikitLearn) {
  ASSERT_GE(golden().at("classification").size(), 3u);
  for (const Json& one : golden().at("classification")) {
    std::vector<ClassifiedSample> samples;
    for (std::size_t i = 0; i < one.at("truth").size(); ++i)
      samples.push_back({one.at("truth").at(i), one.at("found").at(i).get<std::string>()});
    const ClassificationScores scores = score_classification(samples);
    EXPECT_NEAR(scores.accuracy.value(), one.at("accuracy").get<double>(), kTolerance);
    EXPECT_EQ(Json(scores.confusion), one.at("confusion"));
    EXPECT_NEAR(scores.macro_precision.value(), one.at("macro").at(0).get<double>(), kTolerance);
    EXPECT_NEAR(scores.macro_recall.value(), one.at("macro").at(1).get<double>(), kTolerance);
    EXPECT_NEAR(scores.macro_f1.value(), one.at("macro").at(2).get<double>(), kTolerance);
    ASSERT_EQ(scores.classes.size(), one.at("labels").size());
    for (std::size_t i = 0; i < scores.classes.size(); ++i) {
      const ClassificationScores::Class& of_class = scores.classes[i];
      EXPECT_EQ(of_class.label, one.at("labels").at(i));
      EXPECT_NEAR(of_class.precision.value_or(0), one.at("precision").at(i).get<double>(),
                  kTolerance);
      EXPECT_NEAR(of_class.recall.value_or(0), one.at("recall").at(i).get<double>(), kTolerance);
      EXPECT_NEAR(of_class.f1.value_or(0), one.at("f1").at(i).get<double>(), kTolerance);
    }
  }
}

}  // namespace
}  // namespace vcap
