// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/backends/model_outputs.hpp"
#include "vcap/backends/output_ref.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// A label for each pixel of a picture. Copies share their pixels, as copies of cv::Mat do. Thread
/// safety: value.
struct VCAP_EXPORT Segmentation {
  cv::Mat labels{};  ///< CV_8U for up to 256 classes, otherwise CV_16U; indices into the list

  /// A picture in BGR, CV_8UC3, that has the palette's color for each label. If a label is beyond
  /// the palette's end, the palette is repeated. An empty palette is default_palette().
  cv::Mat colored(std::span<const cv::Vec3b> palette = {}) const;

  /// The 256 colors of PASCAL VOC in BGR, which differ well for small labels. The bits 0, 1 and 2
  /// of a label are the highest bits of red, green and blue; the bits 3, 4 and 5 are the next.
  /// Label 0 is black, label 1 is (0, 0, 128).
  static const std::vector<cv::Vec3b>& default_palette();
};

/// How a SegmentationReader reads. Thread safety: value.
struct SegmentationSettings {
  /// How the output is laid out.
  enum class Form {
    planes,       ///< [1,C,H,W]: a plane of scores for each class
    interleaved,  ///< [1,H,W,C]: the scores of a cell side by side
    labels,       ///< [1,H,W] or [1,1,H,W]: the label of each cell
  };

  OutputRef output{};
  Form form = Form::planes;
  std::size_t classes = 21;  ///< C, up to 65536
  /// With two classes, the output may have only the scores of label 1. A cell has label 1 if its
  /// score is at least this: ½ for probabilities, 0 for logits.
  double threshold = 0.5;
  /// true: one label for each pixel of the picture, that of the nearest cell. false: one label for
  /// each cell of the output; the cells cover the model's input.
  bool picture_size = true;
};

/// Reads semantic segmentation. A cell has the label of its greatest score; of equal scores, the
/// first label. Scores that are NaN or infinite do not count. A cell without other scores has label
/// 0. Thread-safe.
class VCAP_EXPORT SegmentationReader {
 public:
  /// Throws EngineError (invalid_model_spec) that names the setting at fault.
  explicit SegmentationReader(SegmentationSettings settings);

  /// Throws EngineError (model_output) if the output has another shape or number of classes.
  Segmentation operator()(const ModelOutputs& outputs) const;

 private:
  SegmentationSettings settings_;
};

}  // namespace vcap
