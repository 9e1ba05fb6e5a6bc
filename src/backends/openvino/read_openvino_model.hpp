// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <openvino/openvino.hpp>

#include "vcap/backends/engine.hpp"

namespace vcap {

/// The model in the file, whose weights the result may point into. Throws EngineError
/// (unreadable_model), or what OpenVINO throws.
std::shared_ptr<ov::Model> read_openvino_model(ov::Core& core, const ModelFile& file);

}  // namespace vcap
