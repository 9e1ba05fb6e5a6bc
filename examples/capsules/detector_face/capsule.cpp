// SPDX-License-Identifier: Apache-2.0
//
// Finds faces with YuNet, a network inside the capsule (W. Wu et al., "YuNet: A Tiny
// Millisecond-level Face Detector", Machine Intelligence Research 20, 2023). It needs little code:
// model.json says how pictures go into the network and how its outputs are read.
#include <vcap/backends/detector_backend.hpp>
#include <vcap/capsule.hpp>

namespace {

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {.name = "detector_face",
            .version = 2,
            .description = "Finds faces, and the eyes, nose and mouth corners of each",
            .input_type = {.size = vcap::NodeDescription::Size::none},
            .output_type = {.size = vcap::NodeDescription::Size::all,
                            .detections = {"face"},
                            .keypoints = {"right_eye", "left_eye", "nose_tip", "right_mouth_corner",
                                          "left_mouth_corner"},
                            .extra_data = {"detection_confidence"}},
            .options = options(),
            .device_mapper = vcap::DeviceMapper::map_to_single_cpu(),
            .config_schema = vcap::ModelSpec::config_schema()};
  }

  static vcap::Options options() {
    vcap::Options options = vcap::common_detector_options();
    // YuNet gives faces higher confidences than other detectors; below this, most boxes are no
    // faces.
    std::get<vcap::FloatOption>(options.at("threshold")).default_value = 0.7;
    return options;
  }

  // [load]
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles& files,
                                              const std::string& device) override {
    const auto spec = vcap::ModelSpec::read(files, "model.json", config());
    return std::make_unique<vcap::DetectorBackend>(files, spec, device);
  }
  // [/load]
};

}  // namespace

VCAP_CAPSULE(Capsule)
