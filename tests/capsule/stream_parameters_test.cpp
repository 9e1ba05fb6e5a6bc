// SPDX-License-Identifier: Apache-2.0
// The config of a stream, given to a capsule that keeps no state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include <nlohmann/json.hpp>

#include "capsule/fake_capsule.hpp"
#include "support/bounded_wait.hpp"
#include "support/throws_error.hpp"

namespace vcap::test {

struct Thresholds final : BaseStreamParameters {
  explicit Thresholds(const StreamInfo& stream)
      : id(stream.id), threshold(stream.config.at("threshold").get<double>()) {}
  const std::string id;
  const double threshold;
};
struct OtherParameters final : BaseStreamParameters {
  explicit OtherParameters(const StreamInfo&) {}
};

namespace {

using testing::AllOf;
using testing::HasSubstr;

/// A detector with a threshold for each stream, 0.5 by default.
CapsuleInfo thresholds_info() {
  CapsuleInfo info = detector_info();
  info.output_type.extra_data = {"stream", "threshold"};
  info.stream_config_schema = nlohmann::json::parse(
      R"({"properties": {"threshold": {"type": "number", "minimum": 0, "default": 0.5}}})");
  info.stream_parameters = make_stream_parameters<Thresholds>();
  return info;
}

DetectionNodes tell(const BaseStreamState& state) {
  const auto& own = parameters_of<Thresholds>(state);
  return DetectionNodes::all(
      {{.name = "person", .extra_data = {{"stream", own.id}, {"threshold", own.threshold}}}});
}

std::unique_ptr<Capsule> telling(CapsuleInfo info = thresholds_info()) {
  return make_capsule(std::move(info), [](const Frame&, DetectionNodes, const auto&,
                                          BaseStreamState& state) { return tell(state); });
}

double threshold_of(Capsule& capsule, StreamRef stream) {
  return capsule.process_frame(frame_at(0), {}, {}, stream)[0]
      .extra_data.at("threshold")
      .get<double>();
}

TEST(StreamParameters, AreMadeFromTheConfigOfTheStream) {
  const auto capsule = telling();
  capsule->open_stream({.id = "door", .config = {{"threshold", 0.75}}});
  EXPECT_EQ(threshold_of(*capsule, "door"), 0.75);
  EXPECT_EQ(threshold_of(*capsule, "gate"), 0.5) << "not opened: the default";
  EXPECT_EQ(
      threshold_of(*capsule, capsule->open_apart({.id = "door", .config = {{"threshold", 0.25}}})),
      0.25);
  capsule->clean_up("door");
  EXPECT_EQ(threshold_of(*capsule, "door"), 0.5) << "cleaned up";
}

TEST(StreamParameters, AreRefusedIfTheyDoNotFitTheSchema) {
  const auto capsule = telling();
  EXPECT_THAT(
      [&] {
        capsule->open_stream({.id = "door", .config = {{"threshold", -1}}});
      },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_config,
                                   HasSubstr("stream door's config of capsule detector_fake: "
                                             "/threshold is -1")));
}

TEST(StreamParameters, AreMadeOnceForAllFramesOfAStream) {
  std::atomic<int> made = 0;
  CapsuleInfo info = thresholds_info();
  info.stream_parameters = [&made](const StreamInfo& stream) {
    ++made;
    return std::make_unique<Thresholds>(stream);
  };
  const auto capsule = telling(info);
  for (const Discontinuity kind : {Discontinuity::start, Discontinuity::gap, Discontinuity::none})
    capsule->process_frame(frame_at(0, kind), {}, {}, "door");
  EXPECT_EQ(made, 1) << "no discontinuity makes them again";
  capsule->process_frame(frame_at(0), {}, {}, "gate");
  EXPECT_EQ(made, 2);
}

TEST(StreamParameters, LetFramesOfOneStreamRunAtOnce) {
  constexpr int kFrames = 3;
  Meeting meeting(kFrames);
  const auto capsule = make_capsule(
      thresholds_info(), [&](const Frame&, DetectionNodes, const auto&, BaseStreamState& state) {
        meeting.arrive_and_wait("calls for other frames of the stream");
        return tell(state);
      });
  capsule->open_stream({.id = "door", .config = {{"threshold", 0.75}}});
  std::vector<std::future<double>> calls;
  for (int i = 0; i < kFrames; ++i)
    calls.push_back(std::async(std::launch::async, [&] { return threshold_of(*capsule, "door"); }));
  for (std::future<double>& call : calls) EXPECT_EQ(call.get(), 0.75);
}

TEST(StreamParameters, ReachFramesThatGoTogetherAndWindows) {
  class Both final : public Backend {
   public:
    std::optional<std::vector<DetectionNodes>> process_frames(std::span<const Frame> frames,
                                                              std::span<DetectionNodes>,
                                                              const OptionValues&,
                                                              BaseStreamState& state) override {
      return std::vector<DetectionNodes>(frames.size(), tell(state));
    }
    DetectionNodes process_window(std::span<const Frame>, std::span<DetectionNodes>,
                                  const OptionValues&, BaseStreamState& state) override {
      return tell(state);
    }
  };
  const auto load = [](auto&&...) { return std::make_unique<Both>(); };
  const std::vector<Frame> frames{frame_at(0), frame_at(1)};
  std::vector<DetectionNodes> nodes(2);
  const StreamInfo door{.id = "door", .config = {{"threshold", 0.75}}};

  Capsule together(thresholds_info(), author_of(load), Capsule::Setup{.devices = {"CPU:0"}});
  together.open_stream(door);
  const auto results = together.process_frames(frames, nodes, {}, "door");
  ASSERT_TRUE(results);
  for (const DetectionNodes& result : *results)
    EXPECT_EQ(result[0].extra_data.at("threshold"), 0.75);

  CapsuleInfo info = thresholds_info();
  info.stencil = {{-1, 0}};
  Capsule windowed(info, author_of(load), Capsule::Setup{.devices = {"CPU:0"}});
  windowed.open_stream(door);
  EXPECT_EQ(
      windowed.process_window(frames[1], frames, nodes, {}, "door")[0].extra_data.at("threshold"),
      0.75);
}

TEST(StreamParameters, FailTheFrameIfTheyCannotBeMadeAndAreTriedAgain) {
  int tries = 0;
  CapsuleInfo info = thresholds_info();
  info.stream_parameters = [&](const StreamInfo& s) -> std::unique_ptr<BaseStreamParameters> {
    if (++tries == 1) throw std::runtime_error("no such zone");
    if (tries == 2) return nullptr;
    return std::make_unique<Thresholds>(s);
  };
  const auto capsule = telling(info);
  EXPECT_THAT([&] { threshold_of(*capsule, "door"); },
              ThrowsError<Error>(ErrorCode::capsule_threw,
                                 HasSubstr("capsule detector_fake made no set of parameters for "
                                           "stream \"door\" at frame 0: no such zone")));
  EXPECT_THAT([&] { threshold_of(*capsule, "door"); },
              ThrowsError<Error>(ErrorCode::capsule_threw, HasSubstr("returned null")));
  EXPECT_EQ(threshold_of(*capsule, "door"), 0.5);
}

TEST(StreamParameters, AreReadInTheirOwnTypeOrExplained) {
  CapsuleInfo other = thresholds_info();
  other.stream_parameters = make_stream_parameters<OtherParameters>();
  EXPECT_THAT([&] { threshold_of(*telling(other), "a"); },
              ThrowsError<TypeMismatch>(
                  ErrorCode::type_mismatch,
                  AllOf(HasSubstr("are of type vcap::test::OtherParameters"),
                        HasSubstr("asks for stream parameters of type vcap::test::Thresholds"))));
  EXPECT_THAT([&] { threshold_of(*telling(detector_info()), "a"); },
              ThrowsError<TypeMismatch>(
                  ErrorCode::type_mismatch,
                  AllOf(HasSubstr("the capsule has no stream parameters"),
                        HasSubstr("vcap::make_stream_parameters<vcap::test::Thresholds>()"))));
  CapsuleInfo stateful = detector_info();
  stateful.stream_state = make_stream_state<BaseStreamState>();
  EXPECT_THROW(threshold_of(*telling(stateful), "a"), TypeMismatch);
}

TEST(StreamParameters, AreNotDeclaredBesideAState) {
  CapsuleInfo info = thresholds_info();
  info.stream_state = make_stream_state<BaseStreamState>();
  EXPECT_THAT([&] { check(info); },
              ThrowsError<InvalidCapsuleError>(
                  ErrorCode::invalid_capsule_info,
                  HasSubstr("stream_parameters and stream_state are both given")));
}

TEST(StreamParameters, AreInTheDescription) {
  const nlohmann::json json = thresholds_info();
  EXPECT_EQ(json.at("stream_parameters"), true);
  EXPECT_EQ(json.at("stateful"), false);
  const auto read = json.get<CapsuleInfo>();
  EXPECT_NO_THROW(check(read));
  EXPECT_THROW(read.stream_parameters(StreamInfo{}), InvalidArgument);
  EXPECT_FALSE(nlohmann::json(detector_info()).contains("stream_parameters"));
}

}  // namespace
}  // namespace vcap::test
