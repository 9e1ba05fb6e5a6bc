// SPDX-License-Identifier: Apache-2.0
// Tests of the states and parameters of streams of a capsule whose code is elsewhere.
#include <gmock/gmock.h>

#include <memory>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include "isolation/counting_capsule.hpp"
#include "isolation/remote_fixtures.hpp"
#include "vcap/base/error.hpp"
#include "vcap/capsule/stream_parameters.hpp"

namespace vcap::test {
namespace {

TEST(RemoteState, KeepsSavesAndDropsStates) {
  const auto capsule = remote(counting_info(), count);
  const auto opening = capsule->open_stream({.id = "a", .config = {{"first", 10}}});
  EXPECT_EQ(counted_by(*capsule, opening, 0), 11);
  EXPECT_EQ(counted_by(*capsule, "a", 1), 12);
  EXPECT_EQ(counted_by(*capsule, "b", 0), 1);
  EXPECT_EQ(capsule->save_state("a"), 12);
  EXPECT_EQ(CountingState::alive, 2);
  EXPECT_EQ(counted_by(*capsule, "b", 1, Discontinuity::gap), 1) << "it begins anew";
  capsule->clean_up("b");
  EXPECT_EQ(CountingState::alive, 1);
  const auto later =
      capsule->open_apart({.id = "a", .saved = capsule->save_state("a"), .saved_by = 1});
  EXPECT_EQ(counted_by(*capsule, later, 2), 13);
  capsule->close();
  EXPECT_EQ(CountingState::alive, 2) << "of the handles, which are not dropped yet";
}

TEST(RemoteState, DropsStatesThatOutliveIt) {
  StreamHandle opening;
  {
    const auto capsule = remote(counting_info(), count);
    opening = capsule->open_stream({.id = "a"});
    counted_by(*capsule, opening, 0);
  }
  EXPECT_EQ(CountingState::alive, 1);
  opening.reset();
  EXPECT_EQ(CountingState::alive, 0);
}

TEST(RemoteState, ExplainsWrongAndMissingStatesInTheSameWords) {
  const auto text_of = [](const CapsuleInfo& info, bool is_remote) {
    const auto capsule = is_remote ? remote(info, count) : make_capsule(info, count);
    return std::string(
        error_of<Error>([&] { capsule->process_frame(frame_at(0), {}, {}, "a"); }).what());
  };
  CapsuleInfo without = detector_info();
  CapsuleInfo other = detector_info();
  other.stream_state = make_stream_state<BaseStreamState>();
  CapsuleInfo null = detector_info();
  null.stream_state = [](const StreamInfo&) { return nullptr; };
  CapsuleInfo failing = detector_info();
  failing.stream_state = [](const StreamInfo&) -> std::unique_ptr<BaseStreamState> {
    throw std::runtime_error("no room");
  };
  for (const CapsuleInfo& info : {without, other, null, failing})
    EXPECT_EQ(text_of(info, true), text_of(info, false));
}

struct Thresholds final : BaseStreamParameters {
  explicit Thresholds(const StreamInfo& info) : least(info.config.value("least", 1)) {}
  const int least;
};

TEST(RemoteState, GivesTheParametersOfStreams) {
  CapsuleInfo info = detector_info();
  info.stream_parameters = make_stream_parameters<Thresholds>();
  const auto capsule = remote(info, [](const Frame&, DetectionNodes, const auto&,
                                       BaseStreamState& state) {
    return DetectionNodes::all(
        {{.name = "person", .extra_data = {{"least", parameters_of<Thresholds>(state).least}}}});
  });
  capsule->open_stream({.id = "a", .config = {{"least", 5}}});
  const auto least = [&](const char* stream) {
    return capsule->process_frame(frame_at(0), {}, {}, stream)[0].extra_data["least"].get<int>();
  };
  EXPECT_EQ(least("a"), 5);
  EXPECT_EQ(least("b"), 1);
}

}  // namespace
}  // namespace vcap::test
