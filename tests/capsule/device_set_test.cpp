// SPDX-License-Identifier: Apache-2.0
// Capsules whose backends get several devices each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "capsule/device_sets.hpp"
#include "capsule/fake_capsule.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Names = std::vector<std::string>;

CapsuleInfo set_info(std::string kind, int count) {
  CapsuleInfo info = test::detector_info();
  info.device_mapper = {};
  info.device_set = {.kind = std::move(kind), .count = count};
  return info;
}

std::unique_ptr<Capsule> load(const CapsuleInfo& info, Names devices) {
  return test::make_capsule(info, test::FakeBackend().process, std::move(devices));
}

struct Division {
  std::string name;
  DeviceSet set;
  Names sets;
  Names left_over;
  std::string text;
};

class DivisionOfFive : public testing::TestWithParam<Division> {};

TEST_P(DivisionOfFive, IsInOrderAndReportsUnusedDevices) {
  const auto& [name, set, sets, left_over, text] = GetParam();

  const detail::DeviceDivision division =
      detail::divide({"GPU:0", "CPU:0", "GPU:1", "GPU:2", "GPU:3", "GPU:7"}, set);

  EXPECT_EQ(division.sets, sets);
  EXPECT_EQ(division.left_over, left_over);
  EXPECT_EQ(detail::division_text(division, set), text);
}

INSTANTIATE_TEST_SUITE_P(
    DeviceSet, DivisionOfFive,
    testing::Values(Division{"Pairs",
                             {"GPU", 2},
                             {"GPU:0+GPU:1", "GPU:2+GPU:3"},
                             {"GPU:7"},
                             "2 backends of 2 GPUs; left over: GPU:7"},
                    Division{"Threes",
                             {"GPU", 3},
                             {"GPU:0+GPU:1+GPU:2"},
                             {"GPU:3", "GPU:7"},
                             "1 backend of 3 GPUs; left over: GPU:3, GPU:7"},
                    Division{"Singles", {"CPU", 1}, {"CPU:0"}, {}, "1 backend of 1 CPU"},
                    Division{"Sixes",
                             {"GPU", 6},
                             {},
                             {"GPU:0", "GPU:1", "GPU:2", "GPU:3", "GPU:7"},
                             "0 backends of 6 GPUs; left over: GPU:0, GPU:1, GPU:2, GPU:3, GPU:7"},
                    Division{"OfAnotherKind", {"NPU", 1}, {}, {}, "0 backends of 1 NPU"},
                    Division{"OfTwoKinds",
                             {"GPU", 2, {{.kind = "CPU"}}},
                             {"GPU:0+GPU:1+CPU:0"},
                             {"GPU:2", "GPU:3", "GPU:7"},
                             "1 backend of 2 GPUs and 1 CPU; left over: GPU:2, GPU:3, GPU:7"},
                    Division{"OfAKindThatIsMissing",
                             {"CPU", 1, {{.kind = "NPU"}}},
                             {},
                             {"CPU:0"},
                             "0 backends of 1 CPU and 1 NPU; left over: CPU:0"}),
    [](const auto& test_info) { return test_info.param.name; });

TEST(DeviceSet, GivesEachBackendItsDevicesAndLogsTheRest) {
  Names lines;
  set_log_hook([&](LogLevel level, std::string_view line) {
    if (level == LogLevel::info) lines.emplace_back(line);
  });

  const auto capsule = load(set_info("GPU", 2), {"GPU:0", "GPU:1", "CPU:0", "GPU:2"});

  set_log_hook({});
  EXPECT_THAT(capsule->devices(), ElementsAre("GPU:0+GPU:1"));
  EXPECT_THAT(capsule->unused_devices(), ElementsAre("GPU:2"));
  EXPECT_THAT(lines, Contains("capsule detector_fake: 1 backend of 2 GPUs; left over: GPU:2"));
}

TEST(DeviceSet, MayHaveSeveralKinds) {
  CapsuleInfo info = set_info("GPU", 2);
  info.device_set->with = {{.kind = "NPU"}};
  const auto capsule =
      load(info, {"NPU:0", "GPU:0", "GPU:1", "CPU:0", "GPU:2", "GPU:3", "NPU:1", "NPU:2"});
  EXPECT_THAT(capsule->devices(), ElementsAre("GPU:0+GPU:1+NPU:0", "GPU:2+GPU:3+NPU:1"));
  EXPECT_THAT(capsule->unused_devices(), ElementsAre("NPU:2"));
  const auto error = test::error_of<DeviceError>([&] { load(info, {"GPU:0", "GPU:1", "CPU:0"}); });
  EXPECT_THAT(error.what(), HasSubstr("a device set of 2 of kind GPU and 1 of kind NPU, but"));
  EXPECT_EQ(nlohmann::json(info).get<CapsuleInfo>().device_set, info.device_set);
}

TEST(DeviceSet, HasEachOfItsKindsOnce) {
  CapsuleInfo info = set_info("GPU", 2);
  info.device_set->with = {{.kind = "GPU"}};
  EXPECT_THAT(test::error_of<InvalidCapsuleError>([&] { check(info); }).what(),
              HasSubstr("device_set has the kind GPU twice"));
  info.device_set->with = {{.kind = "NPU", .with = {{.kind = "CPU"}}}};
  EXPECT_THAT(test::error_of<InvalidCapsuleError>([&] { check(info); }).what(),
              HasSubstr("list all further kinds in the first one"));
  EXPECT_THROW(DeviceMapper::map_to_device_sets({.kind = "GPU", .with = {{.kind = "GPU"}}}),
               InvalidArgument);
}

TEST(DeviceSet, HasNoUnusedDevicesWhenACapsuleHasAMapper) {
  EXPECT_THAT(load(test::detector_info(), {"CPU:0", "GPU:0"})->unused_devices(), IsEmpty());
}

TEST(DeviceSet, IsRefusedWhenThereAreTooFewDevices) {
  const auto error = test::error_of<DeviceError>([] {
    load(set_info("GPU", 2), {"CPU:0", "GPU:0"});
  });

  EXPECT_EQ(error.code(), ErrorCode::no_device);
  EXPECT_THAT(error.what(), HasSubstr("capsule detector_fake: a backend needs a device set of 2 of "
                                      "kind GPU"));
  EXPECT_THAT(error.what(), HasSubstr("do not fill a set: \"CPU:0\", \"GPU:0\""));
}

}  // namespace
}  // namespace vcap
