// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "vcap/backends/landmark_reader.hpp"
#include "vcap/backends/model_backend.hpp"
#include "vcap/base/export.hpp"
#include "vcap/image/turned_crop.hpp"

namespace vcap {

/// A backend that adds landmarks, such as those of a face or a body, to the node that shows them.
/// It is for capsules that take nodes one by one:
///
///     return std::make_unique<vcap::LandmarkBackend>(vcap::load_model(files, spec, device),
///                                                    reader(), around, "face_presence");
///
/// The model gets the part of the frame that `around` gives, fitted to its input's size. Its
/// confidence that the thing is there is written to the node's extra_data. Keypoints, in pixels of
/// the frame, are added to those of the node. The capsule's option "threshold", if there is one, is
/// the minimum confidence at which a node gets keypoints. Thread safety: as BaseBackend.
class VCAP_EXPORT LandmarkBackend : public ModelBackend<std::optional<Landmarks>> {
 public:
  /// The part of the frame that shows a node. [frame worker, concurrent]
  using Around = std::function<TurnedBox(const DetectionNode& node)>;

  /// `presence` is the key of the confidence in extra_data.
  LandmarkBackend(std::shared_ptr<ModelRunner> runner, LandmarkReader reader, Around around,
                  std::string presence);

  DetectionNodes process_frame(const Frame& frame, DetectionNodes nodes,
                               const OptionValues& options, BaseStreamState& state) override;

 private:
  const Around around_;
  const std::string presence_;
};

}  // namespace vcap
