// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/engine_devices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using testing::ElementsAre;

TEST(EngineDevices, AreTheFirstCpuIfTheEngineHasNothingElse) {
  // opencv_dnn uses only the CPU, not the machine's GPUs and NPUs.
  EXPECT_THAT(map_to_engine_devices("opencv_dnn").map({"GPU:0", "NPU:0", "CPU:0", "CPU:1"}),
              ElementsAre("CPU:0"));
}

TEST(EngineDevices, AreRefusedIfTheEngineSupportsNoFoundDevice) {
  try {
    map_to_engine_devices("opencv_dnn").map({"GPU:0"});
    FAIL() << "mapped a GPU to an engine that has none";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_device);
    EXPECT_THAT(error.what(), testing::HasSubstr("map_to_engine_devices(opencv_dnn)"));
  }
}

TEST(EngineDevices, NeedTheEngine) {
  try {
    map_to_engine_devices("absent").map({"CPU:0"});
    FAIL() << "mapped to the devices of an engine that is not installed";
  } catch (const EngineError& error) {
    EXPECT_EQ(error.code(), ErrorCode::engine_missing);
    EXPECT_THAT(error.what(), testing::HasSubstr("\"absent\""));
  }
}

TEST(EngineDevices, AreNamedInTheManifest) {
  EXPECT_EQ(map_to_openvino_devices().name(), "map_to_openvino_devices");
}

}  // namespace
}  // namespace vcap
