// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <openvino/openvino.hpp>

namespace vcap {

/// Replaces compressed weights of convolutions, such as 8-bit ones with a scale, by floats. A
/// convolution keeps its weights if its input is quantized too. OpenVINO 2026.4 compiles the
/// streams of a model at the same time. It then sometimes leaves out the scales of such weights in
/// convolutions of single pixels. With one stream it never did. Throws what OpenVINO throws.
void fold_compressed_weights(ov::Model& model);

}  // namespace vcap
