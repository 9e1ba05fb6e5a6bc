// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/annotator.hpp"

#include <set>

#include "image/drawing.hpp"
#include "vcap/base/error.hpp"

namespace vcap {

Annotator::~Annotator() = default;

void Annotator::annotate(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame& frame) {
  check_canvas(image, "annotate");
  draw(image, nodes, frame);
}

void Annotator::reset() {}

std::vector<std::string> Annotator::pictures() const { return {}; }

Annotators::~Annotators() = default;

Annotators& Annotators::add(std::unique_ptr<Annotator> part) & {
  if (!part)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "Annotators::add: the annotator is null; give an object");
  parts_.push_back(std::move(part));
  return *this;
}

void Annotators::reset() {
  for (const std::unique_ptr<Annotator>& part : parts_) part->reset();
}

std::vector<std::string> Annotators::pictures() const {
  std::set<std::string> names;
  for (const std::unique_ptr<Annotator>& part : parts_)
    for (std::string& name : part->pictures()) names.insert(std::move(name));
  return {names.begin(), names.end()};
}

void Annotators::draw(cv::Mat& image, std::span<const DetectionNode> nodes, const Frame& frame) {
  for (const std::unique_ptr<Annotator>& part : parts_) part->annotate(image, nodes, frame);
}

}  // namespace vcap
