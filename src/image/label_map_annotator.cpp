// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/label_map_annotator.hpp"

#include <cstdint>
#include <string>
#include <utility>

#include <opencv2/imgproc.hpp>

#include "base/text.hpp"
#include "image/drawing.hpp"
#include "vcap/base/error.hpp"
#include "vcap/image/stable_color.hpp"
#include "vcap/model/picture_description.hpp"

namespace vcap {
namespace {

/// The colours of the labels 0 to `greatest`.
std::vector<cv::Vec3b> colors_up_to(std::size_t greatest, const std::vector<cv::Vec3b>& palette) {
  std::vector<cv::Vec3b> colors;
  colors.reserve(greatest + 1);
  for (std::size_t label = 0; label <= greatest; ++label) {
    if (!palette.empty()) {
      colors.push_back(palette[label % palette.size()]);
      continue;
    }
    const cv::Scalar color = stable_color(std::to_string(label));
    colors.emplace_back(cv::saturate_cast<std::uint8_t>(color[0]),
                        cv::saturate_cast<std::uint8_t>(color[1]),
                        cv::saturate_cast<std::uint8_t>(color[2]));
  }
  return colors;
}

template <class Label>
void paint_labels(cv::Mat& layer, const cv::Mat& labels, const LabelMapSettings& settings) {
  double greatest = 0;
  cv::minMaxLoc(labels, nullptr, &greatest);
  const auto colors = colors_up_to(static_cast<std::size_t>(greatest), settings.palette);
  for (int y = 0; y < labels.rows; ++y) {
    const auto* const from = labels.ptr<Label>(y);
    auto* const to = layer.ptr<cv::Vec3b>(y);
    for (int x = 0; x < labels.cols; ++x)
      if (from[x] != settings.background) to[x] = colors[from[x]];
  }
}

}  // namespace

LabelMapAnnotator::LabelMapAnnotator(LabelMapSettings settings) : settings_(std::move(settings)) {
  check_setting(settings_.opacity, 0, 1, "LabelMapAnnotator", "the opacity");
  if (settings_.picture.empty())
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "LabelMapAnnotator: the picture's name is empty; give the name of a "
                          "picture that a capsule gives");
}

LabelMapAnnotator::~LabelMapAnnotator() = default;

void LabelMapAnnotator::draw(cv::Mat& image, std::span<const DetectionNode>, const Frame& frame) {
  const cv::Mat* const given = frame.pictures.find(settings_.picture);
  if (given == nullptr || given->empty()) return;
  if (given->type() != CV_8UC1 && given->type() != CV_16UC1)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "LabelMapAnnotator: picture " + quote(settings_.picture) +
                              " is of type " + picture_type_text(given->type()) +
                              ", and labels are 8UC1 or 16UC1");
  cv::Mat labels = *given;
  if (labels.size() != image.size())
    cv::resize(*given, labels, image.size(), 0, 0, cv::INTER_NEAREST);
  cv::Mat layer = image.clone();
  if (labels.type() == CV_8UC1)
    paint_labels<std::uint8_t>(layer, labels, settings_);
  else
    paint_labels<std::uint16_t>(layer, labels, settings_);
  mix(image, layer, settings_.opacity);
}

}  // namespace vcap
