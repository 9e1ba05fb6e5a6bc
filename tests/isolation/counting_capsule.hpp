// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include <nlohmann/json.hpp>

#include "capsule/fake_capsule.hpp"
#include "vcap/capsule/stream_state.hpp"

namespace vcap::test {

/// Counts the frames of its stream, from a number of the config or of an earlier state.
struct CountingState final : BaseStreamState {
  explicit CountingState(const StreamInfo& info)
      : first(info.saved.is_null() ? info.config.value("first", 0) : info.saved.get<int>()) {
    ++alive;
  }
  ~CountingState() override { --alive; }
  nlohmann::json save() const override { return first + frames; }

  static inline std::atomic<int> alive = 0;
  const int first;
  int frames = 0;
};

inline CapsuleInfo counting_info() {
  CapsuleInfo info = detector_info();
  info.stream_state = make_stream_state<CountingState>();
  return info;
}

inline DetectionNodes count(const Frame&, DetectionNodes, const OptionValues&,
                            BaseStreamState& state) {
  auto& counting = state_of<CountingState>(state);
  ++counting.frames;
  return DetectionNodes::all(
      {{.name = "person", .extra_data = {{"count", counting.first + counting.frames}}}});
}

inline int counted_by(Capsule& capsule, StreamRef stream, std::int64_t index,
                      Discontinuity discontinuity = Discontinuity::none) {
  return capsule.process_frame(frame_at(index, discontinuity), {}, {}, stream)[0]
      .extra_data["count"]
      .get<int>();
}

}  // namespace vcap::test
