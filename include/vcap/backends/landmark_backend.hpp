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

/// A backend that gives a node the landmarks of what it shows, such as those of a face or a body,
/// for capsules that take nodes one by one:
///
///     return std::make_unique<vcap::LandmarkBackend>(vcap::load_model(files, spec, device),
///                                                    reader(), around, "face_presence");
///
/// The model sees the part of the frame that `around` gives, brought to its input's size. Its
/// confidence that the thing is there goes into the node's extra_data; keypoints, in pixels of the
/// frame, are added to those of the node. The capsule's option "threshold", if there is one, is the
/// least confidence of a node that gets keypoints. Thread safety: as BaseBackend.
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
