// SPDX-License-Identifier: Apache-2.0
//
// Finds lines of text at any angle with the detector of PP-OCRv4, a DB network
// (M. Liao et al., "Real-time Scene Text Detection with Differentiable Binarization", AAAI 2020).
#include <vcap/backends/model_backend.hpp>
#include <vcap/backends/model_spec.hpp>
#include <vcap/backends/text_reader.hpp>
#include <vcap/capsule.hpp>

namespace {

class Backend final : public vcap::ModelBackend<std::vector<vcap::TextBox>> {
 public:
  using ModelBackend::ModelBackend;

  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes,
                                     const vcap::OptionValues& options,
                                     vcap::BaseStreamState&) override {
    const auto threshold = options.get<double>("threshold");
    vcap::DetectionNodes lines = vcap::DetectionNodes::all();
    for (vcap::TextBox& box : predict(frame.image)) {
      if (box.confidence < threshold) continue;
      lines.add({.name = "text",
                 .coords = std::move(box.corners),
                 .extra_data = {{"detection_confidence", box.confidence}}});
    }
    return lines;
  }
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {.name = "detector_text",
            .version = 1,
            .description =
                "Finds lines of text at any angle; the coords of each are its corners, "
                "clockwise from the left top",
            .input_type = {.size = vcap::NodeDescription::Size::none},
            .output_type = {.size = vcap::NodeDescription::Size::all,
                            .detections = {"text"},
                            .extra_data = {"detection_confidence"}},
            .options = vcap::common_detector_options(),
            .device_mapper = vcap::DeviceMapper::map_to_single_cpu(),
            .config_schema = vcap::ModelSpec::config_schema()};
  }

  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles& files,
                                              const std::string& device) override {
    const auto spec = vcap::ModelSpec::read(files, "model.json", config());
    // The least confidence of the reader; the option asks for a higher one.
    return std::make_unique<Backend>(vcap::load_model(files, spec, device),
                                     vcap::TextBoxReader({.threshold = 0.3}));
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
