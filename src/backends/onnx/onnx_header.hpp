// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vcap/backends/engine.hpp"

namespace vcap {

/// The inputs and outputs of an ONNX file, in its order. Thread safety: value.
struct OnnxHeader {
  struct Input {
    std::string name{};
    std::vector<std::int64_t> shape{};  ///< -1: not fixed by the file
  };
  std::vector<Input> inputs{};  ///< without the weights, which older files list too
  std::vector<std::string> outputs{};
};

/// Reads the header. Also checks what OpenCV 4.6 and OpenVINO 2026.4 do not check; they crash if it
/// is wrong. Each node must have the inputs that its operation needs, and these must exist. Each
/// tensor must have as many bytes as its shape says, within the file. Strides and the like must be
/// at least 1. The format: onnx.proto of https://github.com/onnx/onnx. Throws EngineError
/// (unreadable_model) that names what is wrong.
OnnxHeader read_onnx_header(const ModelFile& model);

}  // namespace vcap
