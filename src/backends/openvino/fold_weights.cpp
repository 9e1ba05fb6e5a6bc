// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/fold_weights.hpp"

#include <vector>

#include <openvino/op/ops.hpp>

namespace vcap {
namespace {

using Constant = ov::op::v0::Constant;

/// The value of a tree of operations over constants, by which OpenVINO's readers express compressed
/// weights and their layout; null if it depends on an input or cannot be evaluated.
std::shared_ptr<Constant> value_of(const ov::Output<ov::Node>& source) {
  const std::shared_ptr<ov::Node> node = source.get_node_shared_ptr();
  if (auto constant = ov::as_type_ptr<Constant>(node)) return constant;
  if (node->get_input_size() == 0) return nullptr;
  ov::TensorVector outputs;
  for (const ov::Output<ov::Node>& output : node->outputs()) {
    if (output.get_partial_shape().is_dynamic()) return nullptr;
    outputs.emplace_back(output.get_element_type(), output.get_shape());
  }
  std::vector<std::shared_ptr<Constant>> values;  // `inputs` points into them
  ov::TensorVector inputs;
  for (const ov::Output<ov::Node>& input : node->input_values()) {
    const std::shared_ptr<Constant>& value = values.emplace_back(value_of(input));
    if (!value) return nullptr;
    inputs.emplace_back(value->get_element_type(), value->get_shape(),
                        const_cast<void*>(value->get_data_ptr()));  // read only
  }
  if (!node->evaluate(outputs, inputs)) return nullptr;
  return std::make_shared<Constant>(outputs[source.get_index()]);
}

bool is_convolution(const ov::Node& node) {
  return ov::is_type<ov::op::v1::Convolution>(&node) ||
         ov::is_type<ov::op::v1::GroupConvolution>(&node) ||
         ov::is_type<ov::op::v1::ConvolutionBackpropData>(&node) ||
         ov::is_type<ov::op::v1::GroupConvolutionBackpropData>(&node);
}

/// A quantized input comes from a FakeQuantize, or from the conversion, shift and scale after one.
bool is_quantized(const ov::Node& producer) {
  if (ov::is_type<ov::op::v0::FakeQuantize>(&producer)) return true;
  if (!ov::is_type<ov::op::v1::Multiply>(&producer)) return false;
  const ov::Node* scaled = producer.get_input_node_ptr(0);
  if (ov::is_type<ov::op::v1::Subtract>(scaled)) scaled = scaled->get_input_node_ptr(0);
  return ov::is_type<ov::op::v0::Convert>(scaled) &&
         scaled->get_input_element_type(0).is_integral_number();
}

}  // namespace

void fold_compressed_weights(ov::Model& model) {
  for (const std::shared_ptr<ov::Node>& node : model.get_ordered_ops()) {
    if (!is_convolution(*node) || is_quantized(*node->get_input_node_ptr(0))) continue;
    ov::Input<ov::Node> weights = node->input(1);
    if (ov::is_type<Constant>(weights.get_source_output().get_node())) continue;
    if (const auto value = value_of(weights.get_source_output()))
      weights.replace_source_output(value);
  }
}

}  // namespace vcap
