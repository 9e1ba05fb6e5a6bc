// SPDX-License-Identifier: Apache-2.0
// Finds a person at the same place in every frame, and fails in the ways that its config sets:
//   "throw_at": [7]        process_frame throws on these frames
//   "extra_results": -1    batch_predict gives this many results more than inputs
//   "name": "persn"        the name of what it finds; it declares "person"
//   "count": 2             how often it gives the person
//   "gate": PATH           from frame "gate_at" on, waits until the FIFO has a writer
#include <algorithm>
#include <fstream>
#include <mutex>
#include <stdexcept>

#include "vcap/capsule.hpp"

namespace {

class Backend final : public vcap::BaseBackend<int, int> {
 public:
  explicit Backend(const nlohmann::json& config)
      : throw_at_(config.value("throw_at", std::vector<std::int64_t>())),
        extra_results_(config.value("extra_results", 0)),
        name_(config.value("name", std::string("person"))),
        count_(config.value("count", std::size_t{1})),
        gate_(config.value("gate", std::string())),
        gate_at_(config.value("gate_at", std::int64_t{0})) {}

  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes,
                                     const vcap::OptionValues& options,
                                     vcap::BaseStreamState&) override {
    if (!gate_.empty() && frame.index >= gate_at_) pass_gate();
    if (std::ranges::count(throw_at_, frame.index) > 0)
      throw std::runtime_error("a frame that this capsule does not like");
    predict(0);
    const vcap::DetectionNode person{
        .name = name_,
        .coords = vcap::rect_to_coords(cv::Rect2d(2, 2, 8, 8)),
        .extra_data = {{"detection_confidence", options.get<double>("threshold")}}};
    vcap::DetectionNodes people = vcap::DetectionNodes::all();
    for (std::size_t i = 0; i < count_; ++i) people.add(person);
    return people;
  }

  std::vector<int> batch_predict(std::span<const int> inputs) override {
    return std::vector<int>(
        static_cast<std::size_t>(static_cast<std::ptrdiff_t>(inputs.size()) + extra_results_));
  }

 private:
  /// Opening a FIFO for reading waits until it is opened for writing. Only the first call does it.
  void pass_gate() {
    std::call_once(gate_passed_, [this] { std::ifstream waits(gate_); });
  }

  const std::vector<std::int64_t> throw_at_;
  const int extra_results_;
  const std::string name_;
  const std::size_t count_;
  const std::string gate_;
  const std::int64_t gate_at_;
  std::once_flag gate_passed_;
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    return {.name = "finder",
            .version = 1,
            .output_type = {.size = vcap::NodeDescription::Size::all, .detections = {"person"}},
            .options = {
                {"threshold", vcap::FloatOption{.default_value = 0.5, .min = 0.1, .max = 1.0}}}};
  }
  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles&,
                                              const std::string&) override {
    return std::make_unique<Backend>(config());
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
