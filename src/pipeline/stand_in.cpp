// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stand_in.hpp"

#include <utility>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

class StandInBackend final : public Backend {
 public:
  explicit StandInBackend(std::string capsule) : capsule_(std::move(capsule)) {}

  DetectionNodes process_frame(const Frame& frame, DetectionNodes, const OptionValues&,
                               BaseStreamState&) override {
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "capsule " + capsule_ + " stands in for a recorded one and has no " +
                              "result of its own for frame " + std::to_string(frame.index) +
                              "; open streams with the configuration that Replay::stream() gives");
  }

 private:
  const std::string capsule_;
};

class StandInCapsule final : public BaseCapsule {
 public:
  explicit StandInCapsule(std::string name) : name_(std::move(name)) {}
  std::unique_ptr<Backend> load_backend(const CapsuleFiles&, const std::string&) override {
    return std::make_unique<StandInBackend>(name_);
  }

 private:
  const std::string name_;
};

}  // namespace

std::shared_ptr<Capsule> make_stand_in(CapsuleInfo info) {
  info.device_mapper = DeviceMapper::map_to_single_cpu();
  info.device_set.reset();
  info.config_schema = nullptr;
  info.stream_config_schema = nullptr;
  info.stream_state = {};
  info.stream_parameters = {};
  info.warmup.reset();
  info.keeps_state_at.clear();
  info.batch.reset();
  info.max_concurrent_calls.reset();
  info.stencil.reset();
  info.resources.clear();
  const std::string name = info.name;
  return std::make_shared<Capsule>(std::move(info), std::make_unique<StandInCapsule>(name),
                                   Capsule::Setup{.devices = {"CPU:0"}});
}

}  // namespace vcap
