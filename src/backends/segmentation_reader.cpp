// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/segmentation_reader.hpp"

#include <cmath>
#include <cstdint>
#include <utility>

#include "backends/cells.hpp"
#include "base/text.hpp"

namespace vcap {
namespace {

using SegmentationForm = SegmentationSettings::Form;
constexpr std::string_view kSegmentation = "SegmentationReader";

/// Where the scores of a cell are.
struct ScoreGrid {
  std::span<const float> values;
  cv::Size size;
  std::size_t classes, cell_step, class_step;

  float at(std::size_t cell, std::size_t label) const {
    return values[cell * cell_step + label * class_step];
  }
};

ScoreGrid score_grid(const SegmentationSettings& settings, const TensorView& tensor) {
  const std::string count = std::to_string(settings.classes);
  const bool planes = settings.form == SegmentationForm::planes;
  const bool labels = settings.form == SegmentationForm::labels;
  std::string wanted = labels   ? "[1,H,W] or [1,1,H,W]"
                       : planes ? "[1," + count + ",H,W]"
                                : "[1,H,W," + count + "]";
  if (settings.classes == 2 && !labels) wanted += planes ? " or [1,1,H,W]" : " or [1,H,W,1]";
  const auto shape = reading::shape_of_rank(tensor, labels ? 2 : 3);
  std::size_t classes = 1;
  if (shape && !labels) classes = planes ? shape->front() : shape->back();
  const bool fits =
      labels || classes == settings.classes || (settings.classes == 2 && classes == 1);
  if (!shape || !fits)
    reading::refuse_shape(kSegmentation, tensor, wanted, "set form and classes to the model's");
  const std::size_t first = planes ? 1 : 0;
  const cv::Size size =
      reading::grid_size(kSegmentation, tensor, (*shape)[first], (*shape)[first + 1], wanted);
  const std::size_t cells = (*shape)[first] * (*shape)[first + 1];
  return {tensor.values, size, classes, planes ? 1 : classes, planes ? cells : 1};
}

std::size_t given_label(const SegmentationSettings& settings, float value) {
  if (!std::isfinite(value)) return 0;
  const double label = std::round(static_cast<double>(value));
  if (!(label >= 0 && label < static_cast<double>(settings.classes)))
    reading::refuse_label(kSegmentation, label, settings.classes, "set classes to the model's");
  return static_cast<std::size_t>(label);
}

std::size_t best_label(const SegmentationSettings& settings, const ScoreGrid& grid,
                       std::size_t cell) {
  if (settings.form == SegmentationForm::labels) return given_label(settings, grid.at(cell, 0));
  if (grid.classes == 1 && settings.classes == 2) {
    const float score = grid.at(cell, 0);
    return std::isfinite(score) && score >= settings.threshold ? 1 : 0;
  }
  std::size_t best = grid.classes;
  for (std::size_t label = 0; label < grid.classes; ++label) {
    const float score = grid.at(cell, label);
    if (!std::isfinite(score)) continue;
    if (best == grid.classes || score > grid.at(cell, best)) best = label;
  }
  return best == grid.classes ? 0 : best;
}

template <class Pixel>
cv::Mat label_picture(const SegmentationSettings& settings, const ModelOutputs& outputs,
                      const ScoreGrid& grid) {
  cv::Mat_<Pixel> labels(grid.size);
  std::size_t cell = 0;
  for (Pixel& label : labels) label = static_cast<Pixel>(best_label(settings, grid, cell++));
  if (!settings.picture_size) return labels;
  const std::vector<int> columns =
      reading::nearest_cells(reading::x_axis(outputs, grid.size.width));
  const std::vector<int> rows = reading::nearest_cells(reading::y_axis(outputs, grid.size.height));
  cv::Mat_<Pixel> picture(static_cast<int>(rows.size()), static_cast<int>(columns.size()));
  for (int y = 0; y < picture.rows; ++y)
    for (int x = 0; x < picture.cols; ++x)
      picture(y, x) =
          labels(rows[static_cast<std::size_t>(y)], columns[static_cast<std::size_t>(x)]);
  return picture;
}

template <class Pixel>
void paint(const cv::Mat_<Pixel>& labels, std::span<const cv::Vec3b> palette, cv::Mat3b& picture) {
  for (int y = 0; y < labels.rows; ++y)
    for (int x = 0; x < labels.cols; ++x) picture(y, x) = palette[labels(y, x) % palette.size()];
}

std::vector<cv::Vec3b> voc_palette() {
  std::vector<cv::Vec3b> palette(256);
  for (unsigned label = 0; label < 256; ++label)
    for (unsigned bit = 0; bit < 8; ++bit)
      if (label >> bit & 1) {
        std::uint8_t& channel = palette[label][static_cast<int>(2 - bit % 3)];
        channel = static_cast<std::uint8_t>(channel | 128u >> bit / 3);
      }
  return palette;
}

}  // namespace

cv::Mat Segmentation::colored(std::span<const cv::Vec3b> palette) const {
  if (palette.empty()) palette = default_palette();
  cv::Mat3b picture(labels.size());
  if (labels.depth() == CV_8U)
    paint(cv::Mat_<std::uint8_t>(labels), palette, picture);
  else
    paint(cv::Mat_<std::uint16_t>(labels), palette, picture);
  return picture;
}

const std::vector<cv::Vec3b>& Segmentation::default_palette() {
  static const std::vector<cv::Vec3b> palette = voc_palette();
  return palette;
}

SegmentationReader::SegmentationReader(SegmentationSettings settings)
    : settings_(std::move(settings)) {
  if (settings_.classes == 0 || settings_.classes > 65536)
    reading::refuse_setting(kSegmentation, "classes must be within 1 to 65536, got " +
                                               std::to_string(settings_.classes));
  if (!std::isfinite(settings_.threshold))
    reading::refuse_setting(kSegmentation, "threshold must be a finite number, got " +
                                               number_text(settings_.threshold));
}

Segmentation SegmentationReader::operator()(const ModelOutputs& outputs) const {
  const TensorView& tensor = reading::output(kSegmentation, outputs, settings_.output);
  const ScoreGrid grid = score_grid(settings_, tensor);
  return {settings_.classes <= 256 ? label_picture<std::uint8_t>(settings_, outputs, grid)
                                   : label_picture<std::uint16_t>(settings_, outputs, grid)};
}

}  // namespace vcap
