// SPDX-License-Identifier: Apache-2.0
#include "capsules.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/program_capsule.hpp"
#include "vcap/capsule/base_backend.hpp"

namespace vcap::soak {
namespace {

constexpr int kPersons = 3;

class Finder final : public BaseBackend<std::int64_t, double> {
 public:
  explicit Finder(bool leaks) : leaks_(leaks) {}

  DetectionNodes process_frame(const Frame& frame, DetectionNodes, const OptionValues&,
                               BaseStreamState&) override {
    if (frame.index % 101 == 100) throw std::runtime_error("it does not like this frame");
    if (leaks_) leak();
    DetectionNodes persons = DetectionNodes::all();
    for (const double x : predict_all(std::vector<std::int64_t>(kPersons, frame.index)))
      persons.add({.name = "person",
                   .coords = rect_to_coords(
                       cv::Rect2d(x, 60.0 * static_cast<double>(persons.size()), 20, 50))});
    return persons;
  }
  std::vector<double> batch_predict(std::span<const std::int64_t> inputs) override {
    std::vector<double> places;
    for (const std::int64_t input : inputs) places.push_back(static_cast<double>(input % 200));
    return places;
  }

 private:
  static void leak() {
    constexpr std::size_t kBytes = 16 << 10;
    // Written, so that it is resident; kept in a pointer that the compiler cannot remove.
    static std::atomic<void*> last;
    void* memory = std::malloc(kBytes);
    std::memset(memory, 1, kBytes);
    last = memory;
  }

  const bool leaks_;
};

/// Continues the count of the previous version.
class Count final : public BaseStreamState {
 public:
  explicit Count(const StreamInfo& info)
      : frames(info.saved.is_object() ? info.saved.value("frames", std::int64_t{0}) : 0) {}
  nlohmann::json save() const override { return {{"frames", frames}}; }

  std::int64_t frames;
};

}  // namespace

std::shared_ptr<Capsule> make_finder(int version, bool leaks) {
  return test::program_capsule(
      test::finder_info("finder", "person", version),
      [leaks]() -> std::unique_ptr<Backend> { return std::make_unique<Finder>(leaks); });
}

std::shared_ptr<Capsule> make_counter(int version, std::shared_ptr<Hang> hang, bool broken) {
  CapsuleInfo info{.name = "counter",
                   .version = version,
                   .input_type = {.size = NodeDescription::Size::all, .detections = {"person"}},
                   .output_type = {.size = NodeDescription::Size::all, .detections = {"person"}},
                   .stream_state = make_stream_state<Count>()};
  return test::program_capsule(std::move(info), [hang = std::move(hang), broken](
                                                    const Frame&, DetectionNodes persons,
                                                    const OptionValues&, BaseStreamState& state) {
    if (broken) throw std::runtime_error("this version is broken");
    if (hang->wanted.exchange(false)) std::this_thread::sleep_for(hang->time);
    auto& count = dynamic_cast<Count&>(state);
    ++count.frames;
    for (DetectionNode& person : persons) person.extra_data["frames"] = count.frames;
    return persons;
  });
}

}  // namespace vcap::soak
