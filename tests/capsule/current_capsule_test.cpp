// SPDX-License-Identifier: Apache-2.0
#include "capsule/current_capsule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "capsule/fake_capsule.hpp"

namespace vcap {
namespace {

using test::author_of;
using test::detector_info;
using test::FakeBackend;
using test::frame_at;

TEST(CurrentCapsule, IsKnownInEveryCallOfTheCapsulesCode) {
  std::map<std::string, std::string> seen;
  const auto note = [&seen](const std::string& where) { seen[where] = current_capsule(); };
  {
    const Capsule::Setup setup{.devices = {"CPU:0"}};
    Capsule capsule =
        test::capsule_of(detector_info(), author_of([&](const CapsuleFiles&, const std::string&) {
                           note("load_backend");
                           auto backend = std::make_unique<FakeBackend>();
                           backend->process = [&](const Frame&, DetectionNodes, const OptionValues&,
                                                  BaseStreamState&) {
                             note("process_frame");
                             return DetectionNodes::all();
                           };
                           backend->on_drain = [&] { note("drain"); };
                           backend->on_close = [&] { note("close"); };
                           return backend;
                         }),
                         setup);
    note("between");
    capsule.process_frame(frame_at(0));
    note("after");
  }
  const std::string name = "capsule detector_fake";
  EXPECT_THAT(seen, testing::UnorderedElementsAre(
                        testing::Pair("load_backend", name), testing::Pair("process_frame", name),
                        testing::Pair("drain", name), testing::Pair("close", name),
                        testing::Pair("between", ""), testing::Pair("after", "")));
}

TEST(CurrentCapsule, IsTheOuterOneAgainAfterAnInnerCall) {
  const CurrentCapsule outer("outer");
  {
    const CurrentCapsule inner("inner");
    EXPECT_EQ(current_capsule(), "inner");
  }
  EXPECT_EQ(current_capsule(), "outer");
}

}  // namespace
}  // namespace vcap
