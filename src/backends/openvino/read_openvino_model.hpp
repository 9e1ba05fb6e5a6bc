// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <openvino/openvino.hpp>

#include "vcap/backends/engine.hpp"

namespace vcap {

/// Reads the model in the file. The result may point into the file's weights. Throws EngineError
/// (unreadable_model), or what OpenVINO throws.
std::shared_ptr<ov::Model> read_openvino_model(ov::Core& core, const ModelFile& file);

}  // namespace vcap
