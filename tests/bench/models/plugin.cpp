// SPDX-License-Identifier: Apache-2.0
// A capsule with two backends over its packed model: model.onnx, or model.xml and model.bin. When
// it is loaded, each backend runs four pictures, so that each of its requests has run.
#include <vcap/backends/model_spec.hpp>
#include <vcap/capsule.hpp>

namespace {

class Backend final : public vcap::Backend {
 public:
  explicit Backend(std::shared_ptr<vcap::ModelRunner> runner) : runner_(std::move(runner)) {
    const std::vector<cv::Mat> pictures(4, cv::Mat(288, 384, CV_8UC3, cv::Scalar::all(128)));
    runner_->run(pictures, [](std::size_t, const vcap::ModelOutputs&) {});
  }
  vcap::DetectionNodes process_frame(const vcap::Frame&, vcap::DetectionNodes,
                                     const vcap::OptionValues&, vcap::BaseStreamState&) override {
    return vcap::DetectionNodes::all();
  }

 private:
  const std::shared_ptr<vcap::ModelRunner> runner_;
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {
        .name = "large",
        .version = 1,
        .description = "Runs a large model and finds nothing",
        .output_type = {.size = vcap::NodeDescription::Size::all, .detections = {"person"}},
        .device_mapper = vcap::DeviceMapper("all", [](const auto& devices) { return devices; })};
  }
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles& files,
                                              const std::string&) override {
    vcap::ModelSpec spec;
    spec.model = files.contains("model.onnx") ? "model.onnx" : "model.xml";
    if (files.contains("model.bin")) spec.weights = "model.bin";
    return std::make_unique<Backend>(vcap::load_model(files, spec, "CPU"));
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
