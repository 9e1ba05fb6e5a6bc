// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vcap/algorithms/merge_tiles.hpp"
#include "vcap/backends/detection.hpp"
#include "vcap/backends/model_backend.hpp"
#include "vcap/backends/model_spec.hpp"
#include "vcap/base/export.hpp"
#include "vcap/image/tiling.hpp"
#include "vcap/model/detection_nodes.hpp"

namespace vcap {

/// Makes the reader of detections that `spec.output` describes: its "reader" and the settings of
/// that reader (docs/backends.md lists them). The number of classes is the number of labels. Throws
/// EngineError (invalid_model_spec) that names the field, its value and what is allowed.
VCAP_EXPORT std::function<Detections(const ModelOutputs&)> make_detection_reader(
    const ModelSpec& spec);

/// A node for each detection: its box as coords, its label's name, its keypoints, and
/// "detection_confidence" in extra_data. Throws EngineError (model_output) for a label that is not
/// in the list.
VCAP_EXPORT DetectionNodes to_nodes(const Detections& detections,
                                    const std::vector<std::string>& labels);

/// A detector that consists only of data: a network, its ModelSpec and its labels.
///
///     std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles& files,
///                                                 const std::string& device) override {
///       const auto spec = vcap::ModelSpec::read(files, "model.json", config());
///       return std::make_unique<vcap::DetectorBackend>(files, spec, device);
///     }
///
/// The capsule's option "threshold", if there is one, is the minimum confidence of the nodes. If
/// `spec.output` has a "tiling", each frame is cut into tiles. Each tile is a request of its own,
/// and the detections of all tiles are merged. Thread safety: as BaseBackend.
class VCAP_EXPORT DetectorBackend : public ModelBackend<Detections> {
 public:
  /// Throws as load_model and make_detection_reader.
  DetectorBackend(const CapsuleFiles& files, const ModelSpec& spec, const std::string& device);
  DetectorBackend(const CapsuleFiles& files, const ModelSpec& spec, const std::string& device,
                  Reader reader);

  DetectionNodes process_frame(const Frame& frame, DetectionNodes nodes,
                               const OptionValues& options, BaseStreamState& state) override;

  /// What the model finds on a picture.
  Detections detect(const cv::Mat& picture) { return this->predict(picture); }
  /// What it finds on the tiles of a picture, in pixels of the picture. [frame worker, concurrent]
  Detections detect(const cv::Mat& picture, const Tiling& tiling, const TileMerge& merge = {});
  /// What the model finds in each of the given parts of a picture, in pixels of the picture. The
  /// parts must lie within the picture. [frame worker, concurrent]
  std::vector<Detections> detect(const cv::Mat& picture, std::span<const cv::Rect> parts);

  const std::vector<std::string>& labels() const& noexcept { return labels_; }
  const std::vector<std::string>& labels() const&& = delete;  // would refer into a temporary

 private:
  const std::vector<std::string> labels_;
  std::optional<Tiling> tiling_{};
};

}  // namespace vcap
