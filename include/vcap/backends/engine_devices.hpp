// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "vcap/base/export.hpp"
#include "vcap/capsule/device_mapper.hpp"

namespace vcap {

/// Chooses every device of the fastest kind that OpenVINO has: NPUs, else GPUs, else the first CPU.
/// It asks the engine for its devices, so it does not choose a GPU without a plugin. The mapper
/// throws EngineError (engine_missing) if the engine is not installed.
VCAP_EXPORT DeviceMapper map_to_openvino_devices();

/// The same for any engine. The mapper's name contains that of the engine:
/// "map_to_engine_devices(NAME)".
VCAP_EXPORT DeviceMapper map_to_engine_devices(std::string engine);

}  // namespace vcap
