// SPDX-License-Identifier: Apache-2.0
// How a stateful capsule keeps the states of its streams.
#include <atomic>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "capsule/fake_capsule.hpp"
#include "support/bounded_wait.hpp"
#include "vcap/capsule/capsule.hpp"

namespace vcap {
namespace {

using test::detector_info;
using test::error_of;
using test::frame_at;
using test::make_capsule;
using testing::ElementsAre;
using testing::HasSubstr;

/// Keeps what it was made from, and how many calls have used it.
struct CountingState final : BaseStreamState {
  explicit CountingState(const StreamInfo& from) : info(from) {}
  const StreamInfo info;
  int calls = 0;
};

/// A capsule with this state. Each call gives one node: the stream, the number of calls so far, the
/// seed and the config.
CapsuleInfo counting_info() {
  CapsuleInfo info = detector_info();
  info.stream_state = make_stream_state<CountingState>();
  return info;
}

test::FakeBackend::Process counting() {
  return [](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState& state) {
    auto& counter = dynamic_cast<CountingState&>(state);
    ++counter.calls;
    return DetectionNodes::all({{.name = "person",
                                 .extra_data = {{"stream", counter.info.id},
                                                {"calls", counter.calls},
                                                {"seed", counter.info.seed},
                                                {"config", counter.info.config}}}});
  };
}

class StreamStates : public testing::Test {
 protected:
  nlohmann::json run(const std::string& stream, std::int64_t index,
                     Discontinuity discontinuity = Discontinuity::none) {
    return *capsule_->process_frame(frame_at(index, discontinuity), {}, {}, stream)[0].extra_data;
  }
  int calls(const std::string& stream, std::int64_t index,
            Discontinuity discontinuity = Discontinuity::none) {
    return run(stream, index, discontinuity)["calls"].get<int>();
  }
  std::uint64_t seed(const std::string& stream, std::int64_t index,
                     Discontinuity discontinuity = Discontinuity::none) {
    return run(stream, index, discontinuity)["seed"].get<std::uint64_t>();
  }

  std::unique_ptr<Capsule> capsule_ = make_capsule(counting_info(), counting());
};

TEST_F(StreamStates, StayFromFrameToFrame) {
  EXPECT_EQ(calls("a", 0), 1);
  EXPECT_EQ(calls("a", 1), 2);
}

TEST_F(StreamStates, AreSeparateForEachStream) {
  EXPECT_EQ(calls("a", 0), 1);
  EXPECT_EQ(calls("b", 0), 1);
  EXPECT_EQ(calls("a", 1), 2);
  EXPECT_EQ(capsule_->stream_count(), 2u);
}

TEST_F(StreamStates, StartAfreshAfterCleanUp) {
  calls("a", 0);

  capsule_->clean_up("a");

  EXPECT_EQ(capsule_->stream_count(), 0u);
  EXPECT_EQ(calls("a", 1), 1);
}

TEST_F(StreamStates, AreNotTouchedByTheCleanUpOfAnUnknownStream) {
  calls("a", 0);

  capsule_->clean_up("b");

  EXPECT_EQ(calls("a", 1), 2);
}

class EveryDiscontinuity : public StreamStates,
                           public testing::WithParamInterface<Discontinuity> {};

TEST_P(EveryDiscontinuity, MakesANewState) {
  calls("a", 0, Discontinuity::start);
  calls("a", 1);

  EXPECT_EQ(calls("a", 2, GetParam()), 1);
  EXPECT_EQ(calls("a", 3), 2);
}

INSTANTIATE_TEST_SUITE_P(StreamStates, EveryDiscontinuity,
                         testing::Values(Discontinuity::start, Discontinuity::gap,
                                         Discontinuity::seek, Discontinuity::reconnect,
                                         Discontinuity::loop));

TEST_F(StreamStates, AreSharedByAllCallsOfOneDiscontinuousFrame) {
  EXPECT_EQ(calls("a", 5, Discontinuity::gap), 1);
  EXPECT_EQ(calls("a", 5, Discontinuity::gap), 2);
  EXPECT_EQ(calls("a", 9, Discontinuity::gap), 1);
}

TEST_F(StreamStates, AreMadeFromTheConfigAndSeedOfTheStream) {
  capsule_->open_stream({.id = "a", .config = {{"zone", 4}}, .seed = 99});

  const nlohmann::json seen = run("a", 0);

  EXPECT_EQ(seen["config"], (nlohmann::json{{"zone", 4}}));
  EXPECT_EQ(seen["seed"], 99);
}

TEST_F(StreamStates, HaveTheSameSeedInEveryRun) {
  // SplitMix64 of the FNV-1a hash of the id. It is a fixed number, because records of stored videos
  // are compared between releases.
  EXPECT_EQ(seed("cam", 0), 1393549883556976190u);
}

TEST_F(StreamStates, HaveAnotherSeedForAnotherStream) { EXPECT_NE(seed("a", 0), seed("b", 0)); }

TEST_F(StreamStates, HaveAnotherSeedEachTimeTheyAreMadeAgain) {
  const std::uint64_t first = seed("a", 0, Discontinuity::start);
  const std::uint64_t second = seed("a", 5, Discontinuity::loop);
  const std::uint64_t third = seed("a", 10, Discontinuity::loop);

  EXPECT_NE(first, second);
  EXPECT_NE(second, third);
  EXPECT_NE(first, third);
}

TEST_F(StreamStates, KeepTheConfigWhenTheyAreMadeAgain) {
  capsule_->open_stream({.id = "a", .config = {{"zone", 4}}});
  run("a", 0);

  EXPECT_EQ(run("a", 5, Discontinuity::seek)["config"], (nlohmann::json{{"zone", 4}}));
}

TEST_F(StreamStates, HaveTheDefaultsOfTheSchemaWhenTheStreamWasNotOpened) {
  CapsuleInfo info = counting_info();
  info.stream_config_schema = {{"properties", {{"zone", {{"default", 3}}}}}};
  capsule_ = make_capsule(info, counting());

  EXPECT_EQ(run("a", 0)["config"], (nlohmann::json{{"zone", 3}}));
}

TEST_F(StreamStates, AreNotOpenedWithAConfigThatDoesNotFit) {
  CapsuleInfo info = counting_info();
  info.stream_config_schema = {{"properties", {{"zone", {{"type", "integer"}}}}}};
  capsule_ = make_capsule(info, counting());

  const auto error = error_of<InvalidArgument>([&] {
    capsule_->open_stream({.id = "a", .config = {{"zone", "x"}}});
  });

  EXPECT_EQ(error.code(), ErrorCode::invalid_config);
  EXPECT_EQ(capsule_->stream_count(), 0u);
}

TEST_F(StreamStates, AreForgottenWithTheConfigOfTheStream) {
  capsule_->open_stream({.id = "a", .config = {{"zone", 4}}});

  capsule_->clean_up("a");

  EXPECT_EQ(run("a", 0)["config"], nlohmann::json::object());
}

TEST_F(StreamStates, AreNotOpenedTwice) {
  capsule_->open_stream({.id = "a"});

  const auto error = error_of<InvalidArgument>([&] { capsule_->open_stream({.id = "a"}); });

  EXPECT_THAT(error.what(), HasSubstr("stream \"a\" of capsule detector_fake is open already"));
}

TEST_F(StreamStates, AreNotOpenedAfterTheStreamsFirstFrame) {
  calls("a", 0);

  EXPECT_THROW(capsule_->open_stream({.id = "a"}), InvalidArgument);
}

TEST_F(StreamStates, AreDroppedByClose) {
  calls("a", 0);

  capsule_->close();

  EXPECT_EQ(capsule_->stream_count(), 0u);
}

TEST_F(StreamStates, AreReadByTheHostInTheirOwnType) {
  int seen = 0;
  const auto read = [&](const BaseStreamState& state) {
    seen = state_of<CountingState>(state).calls;
  };
  EXPECT_FALSE(capsule_->get_state("a", read)) << "it has had no frame";
  capsule_->open_stream({.id = "a"});
  EXPECT_FALSE(capsule_->get_state("a", read));
  EXPECT_EQ(capsule_->stream_count(), 1u) << "asking opens no stream";
  calls("a", 0);
  calls("a", 1);
  EXPECT_TRUE(capsule_->get_state("a", read));
  EXPECT_EQ(seen, 2);
  EXPECT_FALSE(capsule_->get_state("b", read));
  const StreamHandle apart = capsule_->open_apart({.id = "a"});
  capsule_->process_frame(frame_at(0), {}, {}, apart);
  EXPECT_TRUE(capsule_->get_state(apart, read));
  EXPECT_EQ(seen, 1);
  capsule_->close();
  EXPECT_FALSE(capsule_->get_state(apart, read)) << "its backends are gone";
}

TEST_F(StreamStates, AreReadBetweenTwoFrames) {
  test::Latch inside, go_on;
  auto capsule = make_capsule(
      counting_info(), [&](const Frame&, DetectionNodes, const auto&, BaseStreamState& state) {
        inside.open();
        go_on.wait("the other thread");
        ++state_of<CountingState>(state).calls;
        return DetectionNodes::all();
      });
  auto frame =
      std::async(std::launch::async, [&] { capsule->process_frame(frame_at(0), {}, {}, "a"); });
  inside.wait("the call");
  int seen = 0;
  auto reading = std::async(std::launch::async, [&] {
    return capsule->get_state(
        "a", [&](const BaseStreamState& state) { seen = state_of<CountingState>(state).calls; });
  });
  go_on.open();
  frame.get();
  EXPECT_TRUE(reading.get());
  EXPECT_EQ(seen, 1) << "it waited for the frame";
}

/// Saves as many levels of lists as the stream's config says.
struct DeepState final : BaseStreamState {
  explicit DeepState(const StreamInfo& from) : levels(from.config.at("levels").get<int>()) {}
  nlohmann::json save() const override {
    nlohmann::json lists = nlohmann::json::array();
    for (int i = 1; i < levels; ++i) {
      nlohmann::json outer = nlohmann::json::array();
      outer.push_back(std::move(lists));
      lists = std::move(outer);
    }
    return lists;
  }
  const int levels;
};

TEST(SavedState, HasABoundedNumberOfLevels) {
  CapsuleInfo info = detector_info();
  info.stream_state = make_stream_state<DeepState>();
  const auto capsule = make_capsule(info, [](auto&&...) { return DetectionNodes::all(); });
  const auto saved = [&](const std::string& stream, int levels) {
    capsule->open_stream({.id = stream, .config = {{"levels", levels}}});
    capsule->process_frame(frame_at(0), {}, {}, stream);
    return capsule->save_state(stream);
  };
  EXPECT_EQ(saved("flat", 64).size(), 1u);
  for (const int levels : {65, 200'000}) {
    const auto error = error_of<Error>([&] { saved("deep" + std::to_string(levels), levels); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_output);
    EXPECT_THAT(error.what(), HasSubstr("more than 64 levels"));
  }
}

TEST(StatelessCapsule, KeepsNoStreams) {
  const auto capsule =
      make_capsule(detector_info(), [](const Frame&, DetectionNodes, const OptionValues&,
                                       BaseStreamState&) { return DetectionNodes::all(); });

  capsule->open_stream({.id = "a"});
  capsule->process_frame(frame_at(0), {}, {}, "a");
  capsule->process_frame(frame_at(0), {}, {}, "b");

  EXPECT_EQ(capsule->stream_count(), 0u);
}

TEST(StateFactory, NamesStreamAndFrameWhenItThrows) {
  CapsuleInfo info = detector_info();
  info.stream_state = [](const StreamInfo&) -> std::unique_ptr<BaseStreamState> {
    throw std::runtime_error("no zone in the config");
  };
  const auto capsule = make_capsule(info, counting());

  const auto error = error_of<Error>([&] { capsule->process_frame(frame_at(7), {}, {}, "cam"); });

  EXPECT_EQ(error.code(), ErrorCode::capsule_threw);
  EXPECT_STREQ(error.what(),
               "capsule detector_fake made no state for stream \"cam\" at frame 7: no zone in the "
               "config");
}

TEST(StateFactory, NamesTheFrameWhenItGivesNull) {
  CapsuleInfo info = detector_info();
  info.stream_state = [](const StreamInfo&) { return std::unique_ptr<BaseStreamState>(); };
  const auto capsule = make_capsule(info, counting());

  const auto error = error_of<Error>([&] { capsule->process_frame(frame_at(7), {}, {}, "cam"); });

  EXPECT_THAT(error.what(), HasSubstr("at frame 7: its factory returned null"));
}

TEST(StateFactory, IsCalledAgainAfterAnErrorAndNoFrameGetsTheOldState) {
  int made = 0;
  CapsuleInfo info = detector_info();
  info.stream_state = [&made](const StreamInfo& stream) -> std::unique_ptr<BaseStreamState> {
    if (++made == 2) throw std::runtime_error("once");
    return std::make_unique<CountingState>(stream);
  };
  const auto capsule = make_capsule(info, counting());
  const auto calls_at = [&](std::int64_t index, Discontinuity discontinuity) {
    return capsule->process_frame(frame_at(index, discontinuity), {}, {}, "a")[0]
        .extra_data["calls"];
  };

  EXPECT_EQ(calls_at(0, Discontinuity::start), 1);
  EXPECT_THROW(calls_at(1, Discontinuity::gap), Error);
  EXPECT_EQ(calls_at(2, Discontinuity::none), 1);
}

}  // namespace
}  // namespace vcap
