// SPDX-License-Identifier: Apache-2.0
// Throws in the function that "where" of its config names. "what" chooses a number or an exception.
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "fixture.hpp"

namespace {

void throw_if(const nlohmann::json& config, const std::string& where) {
  if (config.value("where", "") != where) return;
  if (config.value("what", "") == "number") throw 7;
  throw std::runtime_error("told to");
}

struct State final : vcap::BaseStreamState {};

class Backend final : public vcap::BaseBackend<int, int> {
 public:
  explicit Backend(nlohmann::json config) : config_(std::move(config)) {}

  vcap::DetectionNodes process_frame(const vcap::Frame&, vcap::DetectionNodes,
                                     const vcap::OptionValues&, vcap::BaseStreamState&) override {
    throw_if(config_, "process_frame");
    predict(1);
    return vcap::DetectionNodes::all();
  }
  std::vector<int> batch_predict(std::span<const int> inputs) override {
    throw_if(config_, "batch_predict");
    return {inputs.begin(), inputs.end()};
  }
  std::uint64_t batch_key(const int&) const override {
    throw_if(config_, "batch_key");
    return 0;
  }
  std::vector<float> distances(std::span<const float>,
                               std::span<const std::vector<float>> others) const override {
    throw_if(config_, "distances");
    return std::vector<float>(others.size());
  }

 private:
  nlohmann::json config_;
};

/// A backend without batches, so that it has its own drain().
class Undrained final : public vcap::Backend {
 public:
  explicit Undrained(nlohmann::json config) : config_(std::move(config)) {}

  vcap::DetectionNodes process_frame(const vcap::Frame&, vcap::DetectionNodes,
                                     const vcap::OptionValues&, vcap::BaseStreamState&) override {
    return vcap::DetectionNodes::all();
  }
  void drain() override { throw_if(config_, "drain"); }

 private:
  nlohmann::json config_;
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    vcap::CapsuleInfo info = fixture::info("thrower");
    info.output_type.encoded = true;
    info.recognition_threshold = 0.5;
    info.stream_state = [](const vcap::StreamInfo& stream) -> std::unique_ptr<State> {
      throw_if(stream.config, "stream_state");
      return std::make_unique<State>();
    };
    return info;
  }
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    throw_if(config(), "load_backend");
    if (config().value("where", "") == "drain") return std::make_unique<Undrained>(config());
    return std::make_unique<Backend>(config());
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
