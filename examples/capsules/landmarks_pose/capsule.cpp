// SPDX-License-Identifier: Apache-2.0
//
// Gives a person 33 joints and other points, with BlazePose (V. Bazarevsky et al., "BlazePose:
// On-device Real-time Body Pose tracking", CVPR workshop 2020).
#include <vcap/backends/landmark_backend.hpp>
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

vcap::LandmarkReader reader() {
  vcap::LandmarkSettings settings;
  settings.names = kJoints;
  // Six more points are for a tracker, which uses them in the next frame. They have no name, so
  // they are left out.
  settings.names.resize(kJoints.size() + 6);
  settings.values = 5;
  settings.z = 2;
  settings.visibility = 3;
  settings.presence = 4;
  settings.flag = vcap::CertaintyOutput{.output = {"", 1}, .sigmoid = false};
  settings.threshold = 0;  // the option of the capsule decides
  return vcap::LandmarkReader(std::move(settings));
}

// The square around a person with an eighth of the longer side added on each side, since the
// network was trained with people whose arms are in the picture.
vcap::TurnedBox around(const vcap::DetectionNode& person) {
  return vcap::TurnedBox::square(person.bbox(), 1.25);
}

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {.name = "landmarks_pose",
            .version = 1,
            .description =
                "Gives a person 33 joints and other points of the body, each with the "
                "confidence that it is visible",
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
                                                          "points; others get only the presence"}}},
            .device_mapper = vcap::DeviceMapper::map_to_single_cpu(),
            .config_schema = vcap::ModelSpec::config_schema()};
  }

  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles& files,
                                              const std::string& device) override {
    const auto spec = vcap::ModelSpec::read(files, "model.json", config());
    return std::make_unique<vcap::LandmarkBackend>(vcap::load_model(files, spec, device), reader(),
                                                   around, "pose_presence");
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
