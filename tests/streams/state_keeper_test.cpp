// SPDX-License-Identifier: Apache-2.0
#include "streams/state_keeper.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace vcap::test
