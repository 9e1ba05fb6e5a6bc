// SPDX-License-Identifier: Apache-2.0
#include "vcap/capsule/device_mapper.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capsule/fake_capsule.hpp"

namespace vcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Names = std::vector<std::string>;

const Names kMixed{"CPU:0", "GPU:0", "CPU:1", "GPU:1", "NPU:0", "GPU:2"};

struct Mapping {
  std::string name;
  DeviceMapper mapper;
  Names found;
  Names chosen;
};

class StandardMapper : public testing::TestWithParam<Mapping> {};

TEST_P(StandardMapper, ChoosesTheDevicesThatItsNameSays) {
  EXPECT_EQ(GetParam().mapper.map(GetParam().found), GetParam().chosen);
}

INSTANTIATE_TEST_SUITE_P(
    DeviceMapper, StandardMapper,
    testing::Values(
        Mapping{"ByDefaultTheFirstCpu", DeviceMapper(), kMixed, {"CPU:0"}},
        Mapping{"SingleCpu", DeviceMapper::map_to_single_cpu(), {"GPU:0", "CPU:1"}, {"CPU:1"}},
        Mapping{"AllGpus", DeviceMapper::map_to_all_gpus(), kMixed, {"GPU:0", "GPU:1", "GPU:2"}},
        Mapping{"CpuInsteadOfGpus", DeviceMapper::map_to_all_gpus(), {"CPU:0"}, {"CPU:0"}},
        Mapping{"SetsOfTwo", DeviceMapper::map_to_device_sets("GPU", 2), kMixed, {"GPU:0+GPU:1"}},
        Mapping{
            "SetsOfOne", DeviceMapper::map_to_device_sets("CPU", 1), kMixed, {"CPU:0", "CPU:1"}}),
    [](const auto& test_info) { return test_info.param.name; });

TEST(DeviceMapper, NamesTheFoundDevicesWhenItChoosesNothing) {
  const DeviceMapper mapper = DeviceMapper::map_to_all_gpus(false);

  const auto error = test::error_of<DeviceError>([&] { mapper.map({"CPU:0", "NPU:0"}); });

  EXPECT_EQ(error.code(), ErrorCode::no_device);
  EXPECT_THAT(error.what(), HasSubstr("map_to_all_gpus(cpu_fallback=false) chose none"));
  EXPECT_THAT(error.what(), HasSubstr("\"CPU:0\", \"NPU:0\""));
}

TEST(DeviceMapper, DoesNotChooseAnIncompleteSet) {
  EXPECT_THROW(DeviceMapper::map_to_device_sets("GPU", 4).map(kMixed), DeviceError);
}

TEST(DeviceMapper, RefusesADeviceThatWasNotFound) {
  const DeviceMapper mapper("own", [](const Names&) { return Names{"TPU:7"}; });

  const auto error = test::error_of<DeviceError>([&] { mapper.map({"CPU:0"}); });

  EXPECT_EQ(error.code(), ErrorCode::unknown_device);
  EXPECT_STREQ(
      error.what(),
      "device mapper own chose \"TPU:7\", which is not among the devices found: \"CPU:0\"");
}

TEST(DeviceMapper, ChecksEveryMemberOfASet) {
  const DeviceMapper mapper("own", [](const Names&) { return Names{"GPU:0+GPU:9"}; });

  const auto error = test::error_of<DeviceError>([&] { mapper.map(kMixed); });

  EXPECT_THAT(error.what(), HasSubstr("\"GPU:9\""));
}

TEST(DeviceMapper, RefusesASetThatHasADeviceTwice) {
  const DeviceMapper mapper("own", [](const Names&) { return Names{"GPU:0+GPU:0"}; });

  const auto error = test::error_of<DeviceError>([&] { mapper.map(kMixed); });

  EXPECT_THAT(error.what(), HasSubstr("which has GPU:0 twice"));
}

TEST(DeviceMapper, MayChooseADeviceForTwoBackends) {
  const DeviceMapper mapper("own", [](const Names&) { return Names{"CPU:0", "CPU:0"}; });

  EXPECT_THAT(mapper.map(kMixed), ElementsAre("CPU:0", "CPU:0"));
}

TEST(DeviceMapper, NeedsANameAndAFunction) {
  EXPECT_THROW(DeviceMapper("", [](const Names& names) { return names; }), InvalidArgument);
  EXPECT_THROW(DeviceMapper("own", nullptr), InvalidArgument);
}

TEST(DeviceMapper, NeedsAKindAndACountForSets) {
  EXPECT_THROW(DeviceMapper::map_to_device_sets("GPU", 0), InvalidArgument);
  EXPECT_THROW(DeviceMapper::map_to_device_sets("", 1), InvalidArgument);
}

TEST(DeviceSet, IsSplitAtThePlus) {
  EXPECT_THAT(device_set_members("GPU:0+GPU:1"), ElementsAre("GPU:0", "GPU:1"));
  EXPECT_THAT(device_set_members("CPU:0"), ElementsAre("CPU:0"));
}

}  // namespace
}  // namespace vcap
