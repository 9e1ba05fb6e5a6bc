// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <opencv2/core.hpp>

#include "support/isolated_capsule.hpp"
#include "vcap/base/error.hpp"
#include "vcap/capsule/capsule.hpp"

namespace vcap::test {

/// A backend whose behaviour each test sets.
class FakeBackend final : public Backend {
 public:
  using Process = std::function<DetectionNodes(const Frame&, DetectionNodes, const OptionValues&,
                                               BaseStreamState&)>;

  Process process = [](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState&) {
    return DetectionNodes::all();
  };
  std::function<std::vector<float>(std::span<const float>, std::span<const std::vector<float>>)>
      compare{};
  std::function<double()> load = [] { return 0.0; };
  std::function<void()> on_drain = [] {};
  std::function<void()> on_close = [] {};

  DetectionNodes process_frame(const Frame& frame, DetectionNodes nodes,
                               const OptionValues& options, BaseStreamState& state) override {
    return process(frame, std::move(nodes), options, state);
  }
  std::vector<float> distances(std::span<const float> encoding,
                               std::span<const std::vector<float>> others) const override {
    return compare ? compare(encoding, others) : Backend::distances(encoding, others);
  }
  double workload() const noexcept override { return load(); }
  void drain() override { on_drain(); }
  void close() noexcept override { on_close(); }
};

/// An author's class that loads the backend which a function of the test gives.
class FakeCapsule final : public BaseCapsule {
 public:
  using Load = std::function<std::unique_ptr<Backend>(const CapsuleFiles&, const std::string&)>;

  explicit FakeCapsule(Load load) : load_(std::move(load)) {}
  std::unique_ptr<Backend> load_backend(const CapsuleFiles& files,
                                        const std::string& device) override {
    return load_(files, device);
  }

 private:
  Load load_;
};

/// A description that check() accepts: a detector on every GPU, or on the CPU if there is no GPU.
inline CapsuleInfo detector_info() {
  return {.name = "detector_fake",
          .version = 1,
          .output_type = {.size = NodeDescription::Size::all, .detections = {"person"}},
          .options = {{"threshold", FloatOption{.default_value = 0.5, .min = 0.0, .max = 1.0}}},
          .device_mapper = DeviceMapper::map_to_all_gpus()};
}

inline std::unique_ptr<BaseCapsule> author_of(FakeCapsule::Load load) {
  return std::make_unique<FakeCapsule>(std::move(load));
}

/// A capsule on the given devices. The backend of each calls `process`.
inline std::unique_ptr<Capsule> make_capsule(CapsuleInfo info, FakeBackend::Process process,
                                             std::vector<std::string> devices = {"CPU:0"}) {
  return kept_capsule_of(std::move(info),
                         author_of([process](const CapsuleFiles&, const std::string&) {
                           auto backend = std::make_unique<FakeBackend>();
                           backend->process = process;
                           return backend;
                         }),
                         Capsule::Setup{.devices = std::move(devices)});
}

/// A resource that check() accepts.
inline Resource resource(std::string name) {
  return {.name = std::move(name),
          .url = "https://models.example/large.onnx",
          .sha256 = std::string(64, 'a'),
          .size = 7};
}

/// A frame of one black pixel, because this layer does not use them.
inline Frame frame_at(std::int64_t index, Discontinuity discontinuity = Discontinuity::none) {
  return {.image = cv::Mat(1, 1, CV_8UC3, cv::Scalar::all(0)),
          .index = index,
          .discontinuity = discontinuity};
}

/// The exception of type E that `action` throws. The test fails if it throws nothing.
template <class E>
E error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const E& error) {
    return error;
  }
  throw std::logic_error("the action was to throw, and did not");
}

}  // namespace vcap::test
