// SPDX-License-Identifier: Apache-2.0
// Keeps no state. Tells for each frame which zone the config of its stream names. In version 3, it
// hangs while its backend is loaded.
#include <unistd.h>

#include <string>

#include <nlohmann/json.hpp>

#include "vcap/capsule.hpp"

#ifndef VCAP_TEST_VERSION
#define VCAP_TEST_VERSION 1
#endif

namespace {

class Zone final : public vcap::BaseStreamParameters {
 public:
  explicit Zone(const vcap::StreamInfo& stream)
      : name_(stream.config.at("zone").get<std::string>()) {}
  const std::string& name() const& { return name_; }

 private:
  const std::string name_;
};

class Backend final : public vcap::Backend {
 public:
  vcap::DetectionNodes process_frame(const vcap::Frame&, vcap::DetectionNodes,
                                     const vcap::OptionValues&,
                                     vcap::BaseStreamState& state) override {
    const std::string& zone = vcap::parameters_of<Zone>(state).name();
    return vcap::DetectionNodes::all({{.name = "place", .extra_data = {{"zone", zone}}}});
  }
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {.name = "zoned",
            .version = VCAP_TEST_VERSION,
            .input_type = {.size = vcap::NodeDescription::Size::none},
            .output_type = {.size = vcap::NodeDescription::Size::all,
                            .detections = {"place"},
                            .extra_data = {"zone"}},
            .stream_config_schema = nlohmann::json::parse(
                R"({"properties": {"zone": {"type": "string", "default": "everywhere"}}})"),
            .stream_parameters = vcap::make_stream_parameters<Zone>()};
  }
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    while (VCAP_TEST_VERSION == 3) ::pause();
    return std::make_unique<Backend>();
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
