// SPDX-License-Identifier: Apache-2.0
//
// Gives a face 468 points of its surface, with MediaPipe's face mesh (Y. Kartynnik et al.,
// "Real-time Facial Surface Geometry from Monocular Video on Mobile GPUs", CVPR workshop 2019).
#include <algorithm>
#include <cmath>
#include <vcap/backends/landmark_backend.hpp>
#include <vcap/backends/model_spec.hpp>
#include <vcap/capsule.hpp>

namespace {

constexpr std::size_t kPoints = 468;

std::vector<std::string> point_names() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kPoints; ++i) names.push_back(std::to_string(i));
  return names;
}

vcap::LandmarkReader reader() {
  vcap::LandmarkSettings settings;
  settings.names = point_names();
  settings.values = 3;
  settings.z = 2;
  settings.flag = vcap::CertaintyOutput{{"", 1}};
  settings.threshold = 0;  // the option of the capsule decides
  return vcap::LandmarkReader(std::move(settings));
}

const vcap::Keypoint* find(const vcap::DetectionNode& node, const std::string& name) {
  const auto found = std::ranges::find(node.keypoints, name, &vcap::Keypoint::name);
  return found == node.keypoints.end() ? nullptr : &*found;
}

// The angle in radians by which a face is rotated in the picture; 0 if its detector gave no eyes.
double tilt(const vcap::DetectionNode& face) {
  const vcap::Keypoint* const right =
      find(face, "right_eye");  // the person's right, so left in the picture
  const vcap::Keypoint* const left = find(face, "left_eye");
  if (right == nullptr || left == nullptr) return 0;
  return std::atan2(left->point.y - right->point.y, left->point.x - right->point.x);
}

// The square around a face, turned upright, with a quarter of its longer side added on each side.
// The network was trained with such squares.
vcap::TurnedBox around(const vcap::DetectionNode& face) {
  return vcap::TurnedBox::square(face.bbox(), 1.5, tilt(face));
}

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {.name = "landmarks_face",
            .version = 1,
            .description =
                "Gives a face the 468 points of a mesh, with their depths; upright if "
                "its detector has found the eyes",
            .input_type = {.size = vcap::NodeDescription::Size::single, .detections = {"face"}},
            .output_type = {.size = vcap::NodeDescription::Size::single,
                            .detections = {"face"},
                            .keypoints = point_names(),
                            .extra_data = {"face_presence"}},
            .options = {{"threshold",
                         vcap::FloatOption{.default_value = 0.5,
                                           .min = 0.0,
                                           .max = 1.0,
                                           .description = "The least presence of a face that gets "
                                                          "points; others get only the presence"}}},
            .device_mapper = vcap::DeviceMapper::map_to_single_cpu(),
            .config_schema = vcap::ModelSpec::config_schema()};
  }

  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles& files,
                                              const std::string& device) override {
    const auto spec = vcap::ModelSpec::read(files, "model.json", config());
    return std::make_unique<vcap::LandmarkBackend>(vcap::load_model(files, spec, device), reader(),
                                                   around, "face_presence");
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
