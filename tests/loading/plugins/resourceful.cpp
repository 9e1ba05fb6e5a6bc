// SPDX-License-Identifier: Apache-2.0
// Needs the resources that VCAP_TEST_RESOURCES lists as JSON, since a test's server has a new port
// each time. Its backends report what their hooks got. With VCAP_TEST_FETCH_ONCE, it fetches
// something by that name itself, and appends a line to the file VCAP_TEST_FETCH_LOG if that runs.
#include <cstdlib>
#include <fstream>

#include <nlohmann/json.hpp>

#include "fixture.hpp"
#include "vcap/loading/fetch_once.hpp"

namespace {

class Backend final : public vcap::Backend {
 public:
  explicit Backend(nlohmann::json fetched) : report_{{"fetched", std::move(fetched)}} {}

  void setup_with_resources(const vcap::CapsuleFiles& files) override {
    report_["weights"] = files.text("models/weights.bin");
  }

  vcap::DetectionNodes process_frame(const vcap::Frame&, vcap::DetectionNodes,
                                     const vcap::OptionValues&, vcap::BaseStreamState&) override {
    vcap::DetectionNodes nodes = vcap::DetectionNodes::all();
    nodes.add({.name = "file", .extra_data = {{"report", report_}}});
    return nodes;
  }

 private:
  nlohmann::json report_;
};

}  // namespace

class Capsule final : public fixture::Capsule {
 public:
  static vcap::CapsuleInfo info() {
    vcap::CapsuleInfo info = fixture::info("resourceful");
    const char* const resources = std::getenv("VCAP_TEST_RESOURCES");
    if (resources == nullptr) return info;
    for (const nlohmann::json& one : nlohmann::json::parse(resources))
      info.resources.push_back({.name = one.at("name"),
                                .url = one.at("url"),
                                .sha256 = one.at("sha256"),
                                .size = one.at("size")});
    return info;
  }
  void fetch_resources(const vcap::CapsuleFiles& files) override {
    fetched_ = files.names();
    if (const char* const name = std::getenv("VCAP_TEST_FETCH_ONCE"))
      fetched_ = vcap::fetch_once(name, [](const std::string& folder) {
        std::ofstream(std::getenv("VCAP_TEST_FETCH_LOG"), std::ios::app) << "fetched\n";
        std::ofstream(folder + "/model") << "weights";
      });
  }
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>(fetched_);
  }

 private:
  nlohmann::json fetched_;
};

VCAP_CAPSULE(Capsule)
