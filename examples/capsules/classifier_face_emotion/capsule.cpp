// SPDX-License-Identifier: Apache-2.0
//
// Names the emotion that a face shows, with the network of the Python package fer. The result says
// how a face looks, not what a person feels.
#include <vcap/backends/classification_reader.hpp>
#include <vcap/backends/model_backend.hpp>
#include <vcap/backends/model_spec.hpp>
#include <vcap/capsule.hpp>

namespace {

// In the order of the network's outputs.
const std::vector<std::string> kEmotions{"angry", "disgust",  "fear",   "happy",
                                         "sad",   "surprise", "neutral"};

class Backend final : public vcap::ModelBackend<std::vector<vcap::Classification>> {
 public:
  using ModelBackend::ModelBackend;

  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes nodes,
                                     const vcap::OptionValues&, vcap::BaseStreamState&) override {
    vcap::DetectionNode& face = nodes.node();
    // A square, so that faces are not stretched.
    const cv::Mat picture = vcap::Crop::from_node(face).pad_to_square().apply(frame.image);
    const std::vector<vcap::Classification> found = predict(picture);
    for (const auto& [category, value] : vcap::attributes(found)) face.attributes[category] = value;
    for (const vcap::Classification& one : found)
      if (!one.labels.empty())
        face.extra_data[one.name + "_confidence"] = one.labels.front().confidence;
    return nodes;
  }
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {.name = "classifier_face_emotion",
            .version = 1,
            .description = "Names the emotion that a face shows",
            .input_type = {.size = vcap::NodeDescription::Size::single, .detections = {"face"}},
            .output_type = {.size = vcap::NodeDescription::Size::single,
                            .detections = {"face"},
                            .attributes = {{"emotion", kEmotions}},
                            .extra_data = {"emotion_confidence"}},
            .device_mapper = vcap::DeviceMapper::map_to_single_cpu(),
            .config_schema = vcap::ModelSpec::config_schema()};
  }

  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles& files,
                                              const std::string& device) override {
    const auto spec = vcap::ModelSpec::read(files, "model.json", config());
    vcap::ClassificationHead head;
    head.name = "emotion";
    head.labels = kEmotions;
    head.activation = vcap::ClassificationHead::Activation::none;  // the network has applied it
    vcap::ClassificationReader reader({head});
    return std::make_unique<Backend>(vcap::load_model(files, spec, device), std::move(reader));
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
