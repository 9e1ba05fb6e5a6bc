// SPDX-License-Identifier: Apache-2.0
#include "vcap/capsule/device.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "capsule/device_providers.hpp"
#include "capsule/fake_capsule.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

class FakeProvider final : public DeviceProvider {
 public:
  explicit FakeProvider(std::function<std::vector<Device>()> found) : found_(std::move(found)) {}
  std::string name() const override { return "fake"; }
  std::vector<Device> discover() const override { return found_(); }

 private:
  std::function<std::vector<Device>()> found_;
};

std::vector<std::shared_ptr<const DeviceProvider>> provider_of(
    std::function<std::vector<Device>()> found) {
  return {std::make_shared<FakeProvider>(std::move(found))};
}

/// Clears VCAP_DEVICES before and after each test, which may set it. Has a folder for the files of
/// a made-up machine.
class DeviceDiscovery : public testing::Test {
 protected:
  DeviceDiscovery() { unsetenv("VCAP_DEVICES"); }
  ~DeviceDiscovery() override {
    unsetenv("VCAP_DEVICES");
    fs::remove_all(folder_);
  }

  void write(const fs::path& file, const std::string& text) {
    fs::create_directories((folder_ / file).parent_path());
    std::ofstream(folder_ / file) << text;
  }

  const fs::path folder_ = fs::path(testing::TempDir()) /
                           (std::string("vcap_devices_") + std::to_string(getpid()) + "_" +
                            testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(DeviceDiscovery, AlwaysFindsTheCpu) {
  const std::vector<Device> devices = discover_devices();

  ASSERT_FALSE(devices.empty());
  EXPECT_EQ(devices.front().name, "CPU:0");
}

TEST_F(DeviceDiscovery, AppendsTheDevicesOfAnExtraProviderUnderItsName) {
  const auto extra = provider_of([] { return std::vector<Device>{{.name = "TPU:0"}}; });

  const std::vector<Device> devices = discover_devices(extra);

  EXPECT_EQ(devices.back(), (Device{.name = "TPU:0", .description = "", .provider = "fake"}));
}

TEST_F(DeviceDiscovery, IsOverriddenByTheEnvironment) {
  setenv("VCAP_DEVICES", "GPU:3,CPU:0", 1);
  const auto extra = provider_of([] { return std::vector<Device>{{.name = "TPU:0"}}; });

  EXPECT_THAT(discover_devices(extra),
              ElementsAre(Field(&Device::name, "GPU:3"), Field(&Device::name, "CPU:0")));
}

TEST_F(DeviceDiscovery, IgnoresAnEmptyOverride) {
  setenv("VCAP_DEVICES", "", 1);

  EXPECT_EQ(discover_devices().front().name, "CPU:0");
}

struct BadList {
  const char* list;
  const char* complaint;
};

class BadOverride : public DeviceDiscovery, public testing::WithParamInterface<BadList> {};

TEST_P(BadOverride, IsRefusedByName) {
  setenv("VCAP_DEVICES", GetParam().list, 1);

  const auto error = test::error_of<DeviceError>([] { discover_devices(); });

  EXPECT_EQ(error.code(), ErrorCode::unknown_device);
  EXPECT_THAT(error.what(), HasSubstr("VCAP_DEVICES"));
  EXPECT_THAT(error.what(), HasSubstr(GetParam().complaint));
}

INSTANTIATE_TEST_SUITE_P(DeviceDiscovery, BadOverride,
                         testing::Values(BadList{"GPU", "\"GPU\" is not a device name"},
                                         BadList{"GPU:", "\"GPU:\" is not a device name"},
                                         BadList{":0", "\":0\" is not a device name"},
                                         BadList{"GPU:x", "\"GPU:x\" is not a device name"},
                                         BadList{"GPU:-1", "\"GPU:-1\" is not a device name"},
                                         BadList{"GPU:0,", "\"\" is not a device name"},
                                         BadList{"CPU:0, GPU:0", "\" GPU:0\" is not a device name"},
                                         BadList{"CPU:0,CPU:0", "CPU:0 occurs twice"}));

TEST_F(DeviceDiscovery, NamesAProviderThatFails) {
  const auto extra =
      provider_of([]() -> std::vector<Device> { throw std::runtime_error("driver is gone"); });

  const auto error = test::error_of<DeviceError>([&] { discover_devices(extra); });

  EXPECT_STREQ(error.what(), "device provider \"fake\" failed: driver is gone");
}

TEST_F(DeviceDiscovery, NamesAProviderThatFindsAKnownDevice) {
  const auto extra = provider_of([] { return std::vector<Device>{{.name = "CPU:0"}}; });

  const auto error = test::error_of<DeviceError>([&] { discover_devices(extra); });

  EXPECT_THAT(error.what(), HasSubstr("device provider \"fake\": CPU:0 occurs twice"));
}

TEST_F(DeviceDiscovery, RefusesANullProvider) {
  const std::vector<std::shared_ptr<const DeviceProvider>> extra{nullptr};

  EXPECT_THROW(discover_devices(extra), InvalidArgument);
}

TEST_F(DeviceDiscovery, DescribesTheCpuByItsModel) {
  write("cpuinfo", "processor\t: 0\nmodel name\t: Fast Chip 9000\nmodel name\t: Another\n");

  EXPECT_THAT(detail::CpuProvider(folder_ / "cpuinfo", folder_ / "nodes").discover(),
              ElementsAre(Device{"CPU:0", "Fast Chip 9000", "cpu"}));
}

TEST_F(DeviceDiscovery, CountsTheNumaNodesOfTheCpuWhenThereAreSeveral) {
  write("cpuinfo", "model name\t: Fast Chip 9000\n");
  write("nodes/node0/cpulist", "0-15\n");
  write("nodes/online", "0-1\n");
  const detail::CpuProvider cpu(folder_ / "cpuinfo", folder_ / "nodes");
  EXPECT_EQ(cpu.discover()[0].description, "Fast Chip 9000");
  write("nodes/node1/cpulist", "16-31\n");
  EXPECT_EQ(cpu.discover()[0].description, "Fast Chip 9000, 2 NUMA nodes");
}

TEST_F(DeviceDiscovery, FindsTheCpuWhenItsModelIsUnknown) {
  EXPECT_THAT(detail::CpuProvider(folder_ / "missing", folder_ / "nodes").discover(),
              ElementsAre(Device{"CPU:0", "", "cpu"}));
}

TEST_F(DeviceDiscovery, NumbersNvidiaGpusByTheirPciAddress) {
  write("gpus/0000:41:00.0/information", "Model: \t\t NVIDIA B\nIRQ:   \t\t 1\n");
  write("gpus/0000:01:00.0/information", "Model: \t\t NVIDIA A\nIRQ:   \t\t 2\n");

  EXPECT_THAT(
      detail::NvidiaProvider(folder_ / "gpus").discover(),
      ElementsAre(Device{"GPU:0", "NVIDIA A", "nvidia"}, Device{"GPU:1", "NVIDIA B", "nvidia"}));
}

TEST_F(DeviceDiscovery, FindsNoGpuWithoutADriver) {
  EXPECT_THAT(detail::NvidiaProvider(folder_ / "missing").discover(), IsEmpty());
}

TEST_F(DeviceDiscovery, CountsOnlyAcceleratorsOfIntelsDriverAsNpus) {
  for (const auto& [accelerator, driver] :
       {std::pair{"accel0", "other_driver"}, std::pair{"accel1", "intel_vpu"}}) {
    fs::create_directories(folder_ / accelerator / "device");
    fs::create_directory_symlink(fs::path("/drivers") / driver,
                                 folder_ / accelerator / "device" / "driver");
  }

  EXPECT_THAT(detail::IntelNpuProvider(folder_).discover(),
              ElementsAre(Device{"NPU:0", "Intel NPU accel1", "intel_npu"}));
}

TEST(Device, HasTheKindBeforeTheColon) {
  EXPECT_EQ(device_kind("GPU:1"), "GPU");
  EXPECT_EQ(device_kind("GPU"), "GPU");
}

TEST(Device, IsWrittenAsJson) {
  EXPECT_EQ(nlohmann::json(Device{"CPU:0", "chip", "cpu"}),
            (nlohmann::json{{"name", "CPU:0"}, {"description", "chip"}, {"provider", "cpu"}}));
}

}  // namespace
}  // namespace vcap
