// SPDX-License-Identifier: Apache-2.0
//
// Gives a person 33 joints and other points, with BlazePose (V. Bazarevsky et al., "BlazePose:
// On-device Real-time Body Pose tracking", CVPR workshop 2020).
#include <algorithm>
#include <vcap/backends/landmark_reader.hpp>
#include <vcap/backends/model_backend.hpp>
#include <vcap/backends/model_spec.hpp>
#include <vcap/capsule.hpp>

namespace {

const std::vector<std::string> kJoints{
    "nose",        "left_eye_inner",  "left_eye",        "left_eye_outer", "right_eye_inner",
    "right_eye",   "right_eye_outer", "left_ear",        "right_ear",      "mouth_left",
    "mouth_right", "left_shoulder",   "right_shoulder",  "left_elbow",     "right_elbow",
    "left_wrist",  "right_wrist",     "left_pinky",      "right_pinky",    "left_index",
    "right_index", "left_thumb",      "right_thumb",     "left_hip",       "right_hip",
    "left_knee",   "right_knee",      "left_ankle",      "right_ankle",    "left_heel",
    "right_heel",  "left_foot_index", "right_foot_index"};

// Six more points tell a tracker where to look in the next frame; nobody else wants them.
vcap::LandmarkReader reader() {
  vcap::LandmarkSettings settings;
  settings.names = kJoints;
  for (int i = 0; i < 6; ++i) settings.names.push_back("auxiliary_" + std::to_string(i));
  settings.values = 5;
  settings.z = 2;
  settings.visibility = 3;
  settings.presence = 4;
  settings.flag = vcap::CertaintyOutput{.output = {"", 1}, .sigmoid = false};
  settings.threshold = 0;  // the capsule's option decides
  return vcap::LandmarkReader(std::move(settings));
}

// The person's box with an eighth of its longer side added on each side, made square: the network
// knows people whose arms are in the picture.
vcap::Crop around(const vcap::DetectionNode& person) {
  const vcap::BoundingBox box = person.bbox();
  const double side = 1.25 * std::max(box.width(), box.height());
  const double x = (side - box.width()) / 2, y = (side - box.height()) / 2;
  return vcap::Crop::from_node(person).pad_px({.top = y, .bottom = y, .left = x, .right = x});
}

class Backend final : public vcap::ModelBackend<std::optional<vcap::Landmarks>> {
 public:
  using ModelBackend::ModelBackend;

  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes nodes,
                                     const vcap::OptionValues& options,
                                     vcap::BaseStreamState&) override {
    vcap::DetectionNode& person = nodes.node();
    const cv::Rect crop = around(person).rect(frame.image.size());
    const std::optional<vcap::Landmarks> found = predict(frame.image(crop));
    const double presence = found ? found->confidence : 0;
    person.extra_data["pose_presence"] = presence;
    if (presence < options.get<double>("threshold")) return nodes;
    for (vcap::Keypoint keypoint : found->keypoints) {
      if (std::ranges::find(kJoints, keypoint.name) == kJoints.end()) continue;
      keypoint.point += cv::Point2d(crop.tl());
      person.keypoints.push_back(std::move(keypoint));
    }
    return nodes;
  }
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {
        .name = "landmarks_pose",
        .version = 1,
        .description =
            "Gives a person 33 joints and other points of the body, with how sure "
            "it is that each is in sight",
        .input_type = {.size = vcap::NodeDescription::Size::single, .detections = {"person"}},
        .output_type = {.size = vcap::NodeDescription::Size::single,
                        .detections = {"person"},
                        .keypoints = kJoints,
                        .extra_data = {"pose_presence"}},
        .options = {{"threshold",
                     vcap::FloatOption{.default_value = 0.5,
                                       .min = 0.0,
                                       .max = 1.0,
                                       .description = "The least presence of a person who gets "
                                                      "points; others get the presence alone"}}},
        .device_mapper = vcap::DeviceMapper::map_to_single_cpu(),
        .config_schema = {{"type", "object"},
                          {"additionalProperties", false},
                          {"properties", {{"engine", vcap::engine_config_schema()}}}}};
  }

  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles& files,
                                              const std::string& device) override {
    auto spec = vcap::ModelSpec::read(files, "model.json");
    spec.apply(config());
    return std::make_unique<Backend>(vcap::load_model(files, spec, device), reader());
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
