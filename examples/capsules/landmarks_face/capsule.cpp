// SPDX-License-Identifier: Apache-2.0
//
// Gives a face 468 points of its surface, with MediaPipe's face mesh (Y. Kartynnik et al.,
// "Real-time Facial Surface Geometry from Monocular Video on Mobile GPUs", CVPR workshop 2019).
#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <vcap/backends/landmark_reader.hpp>
#include <vcap/backends/model_backend.hpp>
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
  settings.threshold = 0;  // the capsule's option decides
  return vcap::LandmarkReader(std::move(settings));
}

const vcap::Keypoint* find(const vcap::DetectionNode& node, const std::string& name) {
  const auto found = std::ranges::find(node.keypoints, name, &vcap::Keypoint::name);
  return found == node.keypoints.end() ? nullptr : &*found;
}

// The angle by which a face is turned in the picture, in radians, if its detector gave the eyes.
double tilt(const vcap::DetectionNode& face) {
  const vcap::Keypoint* const right = find(face, "right_eye");  // the person's right: at the left
  const vcap::Keypoint* const left = find(face, "left_eye");
  if (right == nullptr || left == nullptr) return 0;
  return std::atan2(left->point.y - right->point.y, left->point.x - right->point.x);
}

// The square around a face with a quarter of its longer side added on each side, turned upright, as
// the network was trained with; and the way back from its pixels to those of the frame.
class Patch {
 public:
  Patch(const cv::Mat& frame, const vcap::DetectionNode& face, cv::Size size) : angle_(tilt(face)) {
    const vcap::BoundingBox box = face.bbox();
    scale_ = std::max({box.width(), box.height(), 1.0}) * 1.5 / size.width;
    const double c = scale_ * std::cos(angle_), s = scale_ * std::sin(angle_);
    const cv::Point2d middle(size.width / 2.0, size.height / 2.0), centre = box.centre();
    to_frame_ = {c, -s, centre.x - c * middle.x + s * middle.y,  //
                 s, c,  centre.y - s * middle.x - c * middle.y};
    // OpenCV counts from the middle of the first pixel, and vcap from its edge.
    cv::Matx23d from_middles = to_frame_;
    from_middles(0, 2) += (c - s) / 2 - 0.5;
    from_middles(1, 2) += (s + c) / 2 - 0.5;
    cv::warpAffine(frame, image_, from_middles, size, cv::INTER_LINEAR | cv::WARP_INVERSE_MAP);
  }

  cv::Mat image() const { return image_; }

  vcap::Keypoint to_frame(vcap::Keypoint keypoint) const {
    keypoint.point = to_frame_ * cv::Vec3d(keypoint.point.x, keypoint.point.y, 1);
    if (keypoint.z) *keypoint.z *= scale_;
    return keypoint;
  }

 private:
  double angle_, scale_ = 1;
  cv::Matx23d to_frame_;
  cv::Mat image_;
};

class Backend final : public vcap::ModelBackend<std::optional<vcap::Landmarks>> {
 public:
  using ModelBackend::ModelBackend;

  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes nodes,
                                     const vcap::OptionValues& options,
                                     vcap::BaseStreamState&) override {
    vcap::DetectionNode& face = nodes.node();
    const Patch patch(frame.image, face, runner().input_size());
    const std::optional<vcap::Landmarks> found = predict(patch.image());
    const double presence = found ? found->confidence : 0;
    face.extra_data["face_presence"] = presence;
    if (presence < options.get<double>("threshold")) return nodes;
    for (const vcap::Keypoint& keypoint : found->keypoints)
      face.keypoints.push_back(patch.to_frame(keypoint));
    return nodes;
  }
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {
        .name = "landmarks_face",
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
