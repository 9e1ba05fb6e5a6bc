// SPDX-License-Identifier: Apache-2.0
// A small capsule that uses many features: it batches, keeps state, and reads a file of its own.
#include "vcap/capsule.hpp"

namespace {

struct State final : vcap::BaseStreamState {
  std::int64_t frames = 0;
};

class Backend final : public vcap::BaseBackend<std::string, std::size_t> {
 public:
  explicit Backend(vcap::CapsuleFiles files) : files_(std::move(files)) {}

  vcap::DetectionNodes process_frame(const vcap::Frame&, vcap::DetectionNodes,
                                     const vcap::OptionValues&,
                                     vcap::BaseStreamState& state) override {
    const std::size_t size = predict(std::string(files_.text("words.txt")));
    vcap::DetectionNode node{.name = "words"};
    node.extra_data["size"] = size;
    node.extra_data["frames"] = ++static_cast<State&>(state).frames;
    auto nodes = vcap::DetectionNodes::all();
    nodes.add(std::move(node));
    return nodes;
  }
  std::vector<std::size_t> batch_predict(std::span<const std::string> inputs) override {
    std::vector<std::size_t> sizes;
    for (const std::string& input : inputs) sizes.push_back(input.size());
    return sizes;
  }

 private:
  vcap::CapsuleFiles files_;
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    // Sets member by member: if an allocation fails within a returned braced list, GCC 12 destroys
    // members that it has not constructed yet.
    vcap::CapsuleInfo info;
    info.name = "words";
    info.version = 1;
    info.description = "Counts the letters of a file, once for each frame";
    info.output_type.size = vcap::NodeDescription::Size::all;
    info.output_type.detections.emplace_back("words");
    info.options["threshold"] = vcap::FloatOption{.default_value = 0.5, .min = 0, .max = 1};
    info.stream_state = vcap::make_stream_state<State>();
    return info;
  }
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles& files,
                                              const std::string&) override {
    return std::make_unique<Backend>(files);
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
