// SPDX-License-Identifier: Apache-2.0
//
// Finds faces near the camera with BlazeFace, a network so small that a CPU runs it hundreds of
// times a second (V. Bazarevsky et al., "BlazeFace: Sub-millisecond Neural Face Detection on Mobile
// GPUs", CVPR workshop 2019). Its input has 128×128 pixels, so it misses far faces.
#include <vcap/backends/detector_backend.hpp>
#include <vcap/capsule.hpp>

namespace {

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {.name = "detector_face_fast",
            .version = 1,
            .description =
                "Finds faces near the camera, with eyes, nose, mouth and ears; small and fast",
            .input_type = {.size = vcap::NodeDescription::Size::none},
            .output_type = {.size = vcap::NodeDescription::Size::all,
                            .detections = {"face"},
                            .keypoints = {"right_eye", "left_eye", "nose_tip", "mouth", "right_ear",
                                          "left_ear"},
                            .extra_data = {"detection_confidence"}},
            .options = vcap::common_detector_options(),
            .device_mapper = vcap::DeviceMapper::map_to_single_cpu(),
            .config_schema = vcap::ModelSpec::config_schema()};
  }

  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles& files,
                                              const std::string& device) override {
    const auto spec = vcap::ModelSpec::read(files, "model.json", config());
    return std::make_unique<vcap::DetectorBackend>(files, spec, device);
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
