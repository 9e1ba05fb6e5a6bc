// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vcap/backends/engine.hpp"

namespace vcap {

/// What an ONNX file says of its inputs and outputs, in its order. Thread safety: value.
struct OnnxHeader {
  struct Input {
    std::string name{};
    std::vector<std::int64_t> shape{};  ///< -1: the file leaves it open
  };
  std::vector<Input> inputs{};  ///< without the weights, which older files list too
  std::vector<std::string> outputs{};
};

/// Reads the header, and checks what OpenCV 4.6 and OpenVINO 2026.4 rely on without a check and
/// crash over: that each node has the inputs that its operation needs and that they exist, and that
/// each tensor has as many bytes as its shape says, within the file, and that strides and the like
/// are at least 1. The format: onnx.proto of
/// https://github.com/onnx/onnx. Throws EngineError (unreadable_model) that names what is wrong.
OnnxHeader read_onnx_header(const ModelFile& model);

}  // namespace vcap
