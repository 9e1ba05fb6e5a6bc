// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "vcap/base/export.hpp"
#include "vcap/capsule/device_mapper.hpp"

namespace vcap {

/// Every device of the kind that OpenVINO has and is fastest with: NPUs, else GPUs, else the first
/// CPU. Asks the engine what is there, so that a GPU that it has no plugin for is left alone.
/// Mapping throws EngineError (engine_missing) without the engine.
VCAP_EXPORT DeviceMapper map_to_openvino_devices();

/// The same of any engine, with its name in the mapper's: "map_to_engine_devices(NAME)".
VCAP_EXPORT DeviceMapper map_to_engine_devices(std::string engine);

}  // namespace vcap
