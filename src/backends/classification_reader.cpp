// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/classification_reader.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "backends/reading.hpp"
#include "base/text.hpp"

namespace vcap {
namespace {

using HeadActivation = ClassificationHead::Activation;
constexpr std::string_view kClassification = "ClassificationReader";
constexpr double kNoConfidence = std::numeric_limits<double>::quiet_NaN();

std::span<const float> head_scores(const ClassificationHead& head, const ModelOutputs& outputs) {
  const TensorView& tensor = reading::output(kClassification, outputs, head.output);
  const std::size_t count = head.labels.size(), size = tensor.values.size();
  const std::size_t first = head.first_score.value_or(0);
  const bool fits = head.first_score ? first <= size && count <= size - first : size == count;
  if (!fits || !reading::is_vector(tensor))
    reading::refuse_shape(
        kClassification, tensor,
        head.first_score
            ? "[1,N] with " + std::to_string(count) + " scores from score " +
                  std::to_string(first) + " on, for head " + quote(head.name)
            : "[1," + std::to_string(count) + "] for the labels of head " + quote(head.name),
        "give the list of labels that the model was trained with");
  return tensor.values.subspan(first, count);
}

/// The confidence of each score; NaN if a score has no confidence.
std::vector<double> label_confidences(HeadActivation activation, std::span<const float> scores) {
  if (activation == HeadActivation::softmax)
    return reading::all_finite(scores) ? reading::softmax(scores)
                                       : std::vector<double>(scores.size(), kNoConfidence);
  std::vector<double> result;
  result.reserve(scores.size());
  for (const float score : scores) {
    if (!std::isfinite(score))
      result.push_back(kNoConfidence);
    else
      result.push_back(activation == HeadActivation::sigmoid ? reading::sigmoid(score)
                                                             : reading::probability(score));
  }
  return result;
}

Classification classify(const ClassificationHead& head, const ModelOutputs& outputs) {
  const std::vector<double> scores = label_confidences(head.activation, head_scores(head, outputs));
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (scores[i] >= head.threshold) order.push_back(i);
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t i) { return scores[i]; });
  if (head.most > 0 && order.size() > head.most) order.resize(head.most);
  Classification result{head.name, {}};
  for (const std::size_t index : order)
    result.labels.push_back({index, head.labels[index], scores[index]});
  return result;
}

}  // namespace

std::map<std::string, std::string> attributes(const std::vector<Classification>& classifications) {
  std::map<std::string, std::string> result;
  for (const Classification& classification : classifications)
    if (!classification.labels.empty())
      result.insert_or_assign(classification.name, classification.labels.front().label);
  return result;
}

ClassificationReader::ClassificationReader(std::vector<ClassificationHead> heads)
    : heads_(std::move(heads)) {
  if (heads_.empty()) reading::refuse_setting(kClassification, "no heads; give at least one");
  for (const ClassificationHead& head : heads_) {
    if (head.labels.empty())
      reading::refuse_setting(kClassification,
                              "head " + quote(head.name) + " has no labels; give the model's");
    reading::require_fraction(kClassification, "threshold of head " + quote(head.name),
                              head.threshold);
    const auto same = [&](const ClassificationHead& other) { return other.name == head.name; };
    if (std::ranges::count_if(heads_, same) > 1)
      reading::refuse_setting(
          kClassification, "two heads are named " + quote(head.name) + "; give each its own name");
  }
}

std::vector<Classification> ClassificationReader::operator()(const ModelOutputs& outputs) const {
  std::vector<Classification> result;
  for (const ClassificationHead& head : heads_) result.push_back(classify(head, outputs));
  return result;
}

}  // namespace vcap
