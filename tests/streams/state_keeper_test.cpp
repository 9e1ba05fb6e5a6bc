// SPDX-License-Identifier: Apache-2.0
#include "streams/state_keeper.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include <nlohmann/json.hpp>

#include "support/call_elsewhere.hpp"
#include "support/closing_capsule.hpp"
#include "vcap/base/log.hpp"

namespace vcap::test {
namespace {

/// Cannot be saved.
struct UnsavedState final : BaseStreamState {
  explicit UnsavedState(const StreamInfo&) {}
  nlohmann::json save() const override { throw std::runtime_error("full"); }
};

TEST(StateKeeper, LogsAndReleasesCapsulesWithoutItsLock) {
  StateKeeper keeper({.id = "stream"});
  CallElsewhere elsewhere;
  const auto touch = [&] { elsewhere([&] { keeper.cancel(99); }); };  // an unknown number
  CapsuleInfo info = detector_info("unsaved", "person");
  info.stream_state = make_stream_state<UnsavedState>();
  const auto process = [](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState&) {
    return DetectionNodes::all();
  };
  auto first = make_closing_capsule(info, process, touch);
  const std::uint64_t before = keeper.open(first, false);
  first->process_frame({.image = cv::Mat(4, 4, CV_8UC3, cv::Scalar::all(0))},
                       DetectionNodes::none(), {}, keeper.serve(before));
  first.reset();  // now only the keeper has it
  const std::uint64_t after = keeper.open(make_closing_capsule(info, process, touch), true);
  std::vector<std::string> lines;
  set_log_hook([&](LogLevel, std::string_view line) {
    touch();
    lines.emplace_back(line);
  });
  EXPECT_TRUE(keeper.serve(after));
  set_log_hook({});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("could not save its state"), std::string::npos) << lines[0];
  EXPECT_EQ(elsewhere.calls(), 2) << "the log hook and the first capsule's close()";
  keeper.close();
  EXPECT_EQ(elsewhere.calls(), 3) << "the second capsule's close()";
  EXPECT_TRUE(elsewhere.all_ended());
}

/// Counts its frames and those before it; knows its config.
struct NumberedState final : BaseStreamState {
  explicit NumberedState(const StreamInfo& info)
      : config(info.config.at("config").get<int>()),
        frames(info.saved.is_null() ? 0 : info.saved.get<int>()) {}
  nlohmann::json save() const override { return frames; }
  const int config;
  int frames;
};

/// Routes change between two capsules and several configs, and frames pass with every route or only
/// with some. Each frame has a state with its route's config; it continues the last frame's state
/// unless a route since then does not.
TEST(StateKeeper, GivesEachFrameTheConfigOfItsRouteInRandomRounds) {
  int config = -1;
  int frames = -1;
  CapsuleInfo info = detector_info("numbered", "person");
  info.stream_state = make_stream_state<NumberedState>();
  const auto make = [&] {
    return make_capsule(
        info, [&](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState& state) {
          auto& own = state_of<NumberedState>(state);
          config = own.config;
          frames = ++own.frames;
          return DetectionNodes::all();
        });
  };
  struct Opened {
    std::uint64_t number;
    std::shared_ptr<Capsule> capsule;
    std::shared_ptr<const JsonValue> config;
    bool continues;
  };
  for (unsigned seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::minstd_rand random(seed);
    const std::array capsules{make(), make()};
    StateKeeper keeper({.id = "stream"}, random() % 4 == 0);
    int configs = 0;
    std::vector<Opened> routes;
    std::size_t serving = 0;
    int expected = 0;
    const auto open = [&] {
      Opened next{
          .number = 0,
          .capsule = capsules.at(random() % 2),
          .config = routes.empty() || random() % 2 == 0
                        ? std::make_shared<const JsonValue>(JsonValue{{"config", configs++}})
                        : routes.back().config,
          .continues = random() % 4 > 0};
      next.number = keeper.open(next.capsule, next.continues, next.config);
      if (!routes.empty() && random() % 5 == 0) return keeper.cancel(next.number);
      routes.push_back(std::move(next));
    };
    const auto frame = [&] {
      const std::size_t now = serving + random() % (routes.size() - serving);
      for (; serving < now; ++serving)
        if (!routes[serving + 1].continues) expected = 0;
      const StreamHandle handle = keeper.serve(routes[now].number);
      routes[now].capsule->process_frame(
          {.image = cv::Mat(4, 4, CV_8UC3, cv::Scalar::all(0)), .index = expected},
          DetectionNodes::none(), {}, handle);
      EXPECT_EQ(config, routes[now].config->at("config"));
      EXPECT_EQ(frames, ++expected);
    };
    open();
    for (int i = 0; i < 20 && !testing::Test::HasFailure(); ++i) {
      const auto what = random() % 8;
      if (what < 3)
        open();
      else if (what < 7)
        frame();
      else if (random() % 8 == 0)
        keeper.retire();
    }
    keeper.close();
    EXPECT_EQ(capsules[0]->stream_count() + capsules[1]->stream_count(), 0u);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace vcap::test
