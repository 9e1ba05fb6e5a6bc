// SPDX-License-Identifier: Apache-2.0
// Tests of the bound on levels of what a capsule is given.
#include "capsule/levels.hpp"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "capsule/fake_capsule.hpp"
#include "capsule/output_check.hpp"
#include "support/nested_nodes.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using testing::HasSubstr;

/// An object of that many levels.
nlohmann::json nested_data(std::size_t levels) {
  nlohmann::json data = nlohmann::json::object();
  if (levels > 1) data["deep"] = nested_lists(levels - 1);
  return data;
}

/// Gives back the nodes of the first frame, for frames, windows, and several of them.
class GivesBack final : public Backend {
 public:
  DetectionNodes process_frame(const Frame&, DetectionNodes nodes, const OptionValues&,
                               BaseStreamState&) override {
    return nodes;
  }
  DetectionNodes process_window(std::span<const Frame>, std::span<DetectionNodes> nodes,
                                const OptionValues&, BaseStreamState&) override {
    return std::move(nodes.front());
  }
};

CapsuleInfo taking_nodes() {
  CapsuleInfo info = detector_info();
  info.input_type = {.size = NodeDescription::Size::all};
  return info;
}

std::unique_ptr<Capsule> giving_back(CapsuleInfo info) {
  return kept_capsule_of(std::move(info),
                         author_of([](auto&&...) { return std::make_unique<GivesBack>(); }),
                         {.devices = {"CPU:0"}});
}

const auto kTooDeep = ThrowsError<InvalidArgument>(
    ErrorCode::invalid_node,
    HasSubstr("was given nodes or extra data of more than 64 levels; give fewer"));

TEST(Levels, OfGivenNodesAreBounded) {
  const auto capsule = giving_back(taking_nodes());
  EXPECT_NO_THROW(capsule->process_frame(frame_at(0), nested_persons(64)));
  for (const std::size_t levels : {65u, 200'000u}) {
    EXPECT_THAT([&] { capsule->process_frame(frame_at(0), nested_persons(levels)); }, kTooDeep);
    std::vector<Frame> frames{frame_at(0)};
    std::vector<DetectionNodes> nodes(1);
    nodes[0] = nested_persons(levels);
    EXPECT_THAT([&] { capsule->process_frames(frames, nodes); }, kTooDeep);
    detail::discard(std::move(nodes[0]));
  }
}

TEST(Levels, OfTheNodesOfAWindowAreBounded) {
  CapsuleInfo info = taking_nodes();
  info.stencil = Stencil{.offsets = {0, 1}};
  const auto capsule = giving_back(info);
  EXPECT_NO_THROW(capsule->process_frame(frame_at(0), nested_persons(64)));
  EXPECT_THAT([&] { capsule->process_frame(frame_at(0), nested_persons(200'000)); }, kTooDeep);
  const std::vector<Frame> window{frame_at(0), frame_at(1)};
  std::vector<DetectionNodes> nodes(2, DetectionNodes::all());
  nodes[1] = nested_persons(200'000);
  EXPECT_THAT([&] { capsule->process_window(window[0], window, nodes); }, kTooDeep);
  detail::discard(std::move(nodes[1]));
}

TEST(Levels, OfGivenExtraDataAreBounded) {
  const auto capsule = giving_back(taking_nodes());
  const auto give = [&](std::size_t levels) {
    DetectionNodes nodes = nested_persons(1);
    nodes[0].extra_data = nested_data(levels);
    capsule->process_frame(frame_at(0), std::move(nodes));
  };
  EXPECT_NO_THROW(give(64));
  EXPECT_THAT([&] { give(65); }, kTooDeep);
  EXPECT_THAT([&] { give(200'000); }, kTooDeep);
}

TEST(Levels, OfConfigsAndSavedStatesAreBounded) {
  CapsuleInfo info = detector_info();
  info.stream_state = make_stream_state<BaseStreamState>();
  const auto with_config = [&](std::size_t levels) {
    kept_capsule_of(info, author_of([](auto&&...) { return std::make_unique<GivesBack>(); }),
                    {.config = nested_data(levels), .devices = {"CPU:0"}});
  };
  EXPECT_NO_THROW(with_config(64));
  for (const std::size_t levels : {65u, 200'000u})
    EXPECT_THAT([&] { with_config(levels); },
                ThrowsError<InvalidArgument>(
                    ErrorCode::invalid_config,
                    HasSubstr("the config of capsule detector_fake has more than 64 levels")));
  const auto capsule = giving_back(info);
  EXPECT_THAT([&] { capsule->open_stream({.id = "a", .config = nested_data(65)}); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_config,
                                           HasSubstr("has more than 64 levels")));
  EXPECT_THAT([&] { capsule->open_stream({.id = "a", .saved = nested_data(65)}); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           HasSubstr("saved state given for stream \"a\"")));
  EXPECT_NO_THROW(
      capsule->open_stream({.id = "a", .config = nested_data(64), .saved = nested_data(64)}));
}

}  // namespace
}  // namespace vcap::test
