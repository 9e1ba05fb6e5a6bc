// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/landmark_backend.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace vcap {

LandmarkBackend::LandmarkBackend(std::shared_ptr<ModelRunner> runner, LandmarkReader reader,
                                 Around around, std::string presence)
    : ModelBackend(std::move(runner), std::move(reader)),
      around_(std::move(around)),
      presence_(std::move(presence)) {}

DetectionNodes LandmarkBackend::process_frame(const Frame& frame, DetectionNodes nodes,
                                              const OptionValues& options, BaseStreamState&) {
  DetectionNode& node = nodes.node();
  const TurnedCrop crop(frame.image, around_(node), runner().input_size());
  const std::optional<Landmarks> found = predict(crop.image());
  const double presence = found ? found->confidence : 0;
  node.extra_data[presence_] = presence;
  if (!found || (options.contains("threshold") && presence < options.get<double>("threshold")))
    return nodes;
  for (const Keypoint& keypoint : found->keypoints)
    node.keypoints.push_back(crop.to_frame(keypoint));
  return nodes;
}

}  // namespace vcap
