// SPDX-License-Identifier: Apache-2.0
// Gives all persons of a stream the same track id.
#include <random>

#include "vcap/capsule.hpp"

namespace {

struct State final : vcap::BaseStreamState {
  explicit State(const vcap::StreamInfo& info) {
    std::mt19937_64 engine(info.seed);
    track = vcap::Uuid::random(engine);
  }
  vcap::Uuid track;
};

class Backend final : public vcap::Backend {
 public:
  vcap::DetectionNodes process_frame(const vcap::Frame&, vcap::DetectionNodes nodes,
                                     const vcap::OptionValues&,
                                     vcap::BaseStreamState& state) override {
    for (vcap::DetectionNode& node : nodes) node.track_id = static_cast<State&>(state).track;
    return nodes;
  }
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    using Size = vcap::NodeDescription::Size;
    return {.name = "follower",
            .version = 1,
            .input_type = {.size = Size::all, .detections = {"person"}},
            .output_type = {.size = Size::all, .detections = {"person"}, .tracked = true},
            .stream_state = vcap::make_stream_state<State>()};
  }
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>();
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
