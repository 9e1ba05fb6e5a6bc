// SPDX-License-Identifier: Apache-2.0
// Declares schemas of its configs, and reports the configs that it got.
#include <nlohmann/json.hpp>

#include "fixture.hpp"

namespace {

struct State final : vcap::BaseStreamState {
  explicit State(const vcap::StreamInfo& stream) : config(stream.config) {}
  const nlohmann::json config;
};

class Backend final : public vcap::Backend {
 public:
  explicit Backend(nlohmann::json config) : config_(std::move(config)) {}
  vcap::DetectionNodes process_frame(const vcap::Frame&, vcap::DetectionNodes,
                                     const vcap::OptionValues&,
                                     vcap::BaseStreamState& state) override {
    return vcap::DetectionNodes::all(
        {{.name = "file",
          .extra_data = {{"config", config_},
                         {"stream", dynamic_cast<const State&>(state).config}}}});
  }

 private:
  const nlohmann::json config_;
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    vcap::CapsuleInfo info = fixture::info("configured");
    // [schemas]
    info.config_schema = nlohmann::json::parse(R"({
        "properties": {"model": {"enum": ["small", "large"], "default": "small",
                                 "description": "Which weights"}},
        "additionalProperties": false})");
    info.stream_config_schema = nlohmann::json::parse(R"({
        "properties": {"line": {"type": "array", "minItems": 2, "items": {"type": "number"}},
                       "both_ways": {"type": "boolean", "default": true}},
        "required": ["line"]})");
    // [/schemas]
    info.stream_state = vcap::make_stream_state<State>();
    return info;
  }
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>(config());
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
