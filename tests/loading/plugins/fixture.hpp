// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "vcap/capsule.hpp"

/// Shared by the plugins of these tests. Each plugin is a separate library, so names may repeat.
namespace fixture {

inline vcap::CapsuleInfo info(std::string name, int version = 1) {
  return {.name = std::move(name),
          .version = version,
          .description = "A capsule for tests",
          .output_type = {.size = vcap::NodeDescription::Size::all, .detections = {"file"}},
          .options = {{"threshold", vcap::FloatOption{.default_value = 0.5, .min = 0, .max = 1}}}};
}

/// Gives a node for each file of the capsule, with the file's name, text and address.
class Backend final : public vcap::Backend {
 public:
  Backend(vcap::CapsuleFiles files, std::string device, nlohmann::json config)
      : files_(std::move(files)), device_(std::move(device)), config_(std::move(config)) {}

  vcap::DetectionNodes process_frame(const vcap::Frame&, vcap::DetectionNodes,
                                     const vcap::OptionValues&, vcap::BaseStreamState&) override {
    vcap::DetectionNodes nodes = vcap::DetectionNodes::all();
    for (const std::string& name : files_.names()) {
      const auto address = reinterpret_cast<std::uintptr_t>(files_[name].data());
      nodes.add({.name = "file",
                 .extra_data = {{"name", name},
                                {"text", files_.text(name)},
                                {"address", address},
                                {"device", device_},
                                {"config", config_}}});
    }
    return nodes;
  }

 private:
  vcap::CapsuleFiles files_;
  std::string device_;
  nlohmann::json config_;
};

class Capsule : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() { return fixture::info("fixture"); }
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles& files,
                                              const std::string& device) override {
    return std::make_unique<Backend>(files, device, config());
  }
};

}  // namespace fixture
