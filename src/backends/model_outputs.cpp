// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/model_outputs.hpp"

#include <string>

#include "vcap/base/error.hpp"

namespace vcap {

const TensorView& ModelOutputs::at(std::size_t index) const {
  if (index < tensors.size()) return tensors[index];
  throw EngineError(ErrorCode::model_output, "the model has " + std::to_string(tensors.size()) +
                                                 " outputs, but output " + std::to_string(index) +
                                                 " (counted from 0) was requested");
}

const TensorView& ModelOutputs::at(std::string_view name) const {
  std::string names;
  for (const TensorView& tensor : tensors) {
    if (tensor.name == name) return tensor;
    names += (names.empty() ? "" : ", ") + tensor.name;
  }
  throw EngineError(ErrorCode::model_output, "the model has no output named \"" +
                                                 std::string(name) + "\"; it has: " + names);
}

}  // namespace vcap
