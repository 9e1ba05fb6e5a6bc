// SPDX-License-Identifier: Apache-2.0
#include "vcap/algorithms/classification_evaluation.hpp"

#include <cstddef>
#include <map>

#include "algorithms/evaluation_parts.hpp"

namespace vcap {
namespace {

void score_class(std::size_t place, ClassificationScores& scores) {
  std::int64_t taken_for_it = 0;
  for (const std::vector<std::int64_t>& row : scores.confusion) taken_for_it += row[place];
  ClassificationScores::Class& one = scores.classes[place];
  const std::int64_t right = scores.confusion[place][place];
  one.precision = ratio(right, taken_for_it);
  one.recall = ratio(right, one.samples);
  one.f1 = ratio(2 * right, taken_for_it + one.samples);
  scores.right += right;
}

std::optional<double> mean_over_shown(const std::vector<ClassificationScores::Class>& classes,
                                      std::optional<double> ClassificationScores::Class::*figure) {
  double sum = 0, count = 0;
  for (const ClassificationScores::Class& one : classes) {
    if (one.samples == 0) continue;
    sum += (one.*figure).value_or(0);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

}  // namespace

ClassificationScores score_classification(std::span<const ClassifiedSample> samples) {
  std::map<std::string, std::size_t> places;
  for (const ClassifiedSample& sample : samples) {
    places.emplace(sample.truth, 0);
    if (sample.found) places.emplace(*sample.found, 0);
  }
  ClassificationScores scores;
  for (auto& [label, place] : places) {
    place = scores.classes.size();
    scores.classes.push_back({.label = label});
  }
  scores.confusion.assign(places.size(), std::vector<std::int64_t>(places.size(), 0));
  scores.not_found.assign(places.size(), 0);
  for (const ClassifiedSample& sample : samples) {
    const std::size_t truth = places.at(sample.truth);
    ++scores.classes[truth].samples;
    ++(sample.found ? scores.confusion[truth][places.at(*sample.found)] : scores.not_found[truth]);
  }
  scores.samples = static_cast<std::int64_t>(samples.size());
  for (std::size_t i = 0; i < scores.classes.size(); ++i) score_class(i, scores);
  scores.accuracy = ratio(scores.right, scores.samples);
  using Class = ClassificationScores::Class;
  scores.macro_precision = mean_over_shown(scores.classes, &Class::precision);
  scores.macro_recall = mean_over_shown(scores.classes, &Class::recall);
  scores.macro_f1 = mean_over_shown(scores.classes, &Class::f1);
  return scores;
}

}  // namespace vcap
