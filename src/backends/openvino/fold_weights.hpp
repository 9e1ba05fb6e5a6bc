// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <openvino/openvino.hpp>

namespace vcap {

/// Replaces compressed weights of convolutions, such as 8-bit ones with a scale, by floats, unless
/// the convolution's input is quantized too. OpenVINO 2026.4, which compiles a model's streams at
/// the same time, now and then leaves out the scales of such weights in convolutions of single
/// pixels. With one stream it never did. Throws what OpenVINO throws.
void fold_compressed_weights(ov::Model& model);

}  // namespace vcap
