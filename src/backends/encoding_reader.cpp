// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/encoding_reader.hpp"

#include <cmath>

#include "backends/reading.hpp"

namespace vcap {
namespace {

constexpr std::string_view kEncoding = "EncodingReader";

}  // namespace

std::optional<std::vector<float>> EncodingReader::operator()(const ModelOutputs& outputs) const {
  const TensorView& tensor = reading::output(kEncoding, outputs, settings_.output);
  const std::size_t length = settings_.length;
  if (!reading::is_vector(tensor) || tensor.values.empty() ||
      (length > 0 && tensor.values.size() != length))
    reading::refuse_shape(kEncoding, tensor,
                          "[1," + (length > 0 ? std::to_string(length) : std::string("N")) + "]",
                          "set output and length to those of the model's encoding");
  if (!reading::all_finite(tensor.values)) return std::nullopt;
  std::vector<float> result(tensor.values.begin(), tensor.values.end());
  if (!settings_.normalized) return result;
  double squares = 0;  // a double, since the square of a large float is beyond a float
  for (const double value : result) squares += value * value;
  const double norm = std::sqrt(squares);
  if (!(norm > 0)) return std::nullopt;
  for (float& value : result) value = static_cast<float>(value / norm);
  return result;
}

}  // namespace vcap
