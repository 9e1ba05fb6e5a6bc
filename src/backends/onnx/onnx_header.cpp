// SPDX-License-Identifier: Apache-2.0
#include "backends/onnx/onnx_header.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// Attributes of nodes may hold graphs; in real models they are nested two or three deep.
constexpr int kDeepestGraph = 16;
constexpr std::int64_t kMostElements = std::int64_t{1} << 31;

/// Says what is wrong with the file; read_onnx_header adds the model's name.
struct Fault {
  std::string what;
};

/// One field of a message: a number, or bytes that are a message, a text or packed numbers.
struct Field {
  std::uint64_t number = 0;
  std::uint64_t value = 0;
  std::string_view bytes{};
  bool is_bytes = false;
};

/// The fields of a message in the wire format of protocol buffers:
/// https://protobuf.dev/programming-guides/encoding
class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}

  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    const std::uint64_t tag = varint();
    Field field{.number = tag >> 3, .value = 0, .bytes = {}, .is_bytes = false};
    if (field.number == 0) throw Fault{"a field has the number 0"};
    switch (tag & 7) {
      case 0:
        field.value = varint();
        break;
      case 1:
        field.bytes = take(8);
        break;
      case 2:
        field.bytes = take(varint());
        field.is_bytes = true;
        break;
      case 5:
        field.bytes = take(4);
        break;
      default:
        throw Fault{"a field has the unknown kind " + std::to_string(tag & 7)};
    }
    return field;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1).front());
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    throw Fault{"a number is longer than 64 bits"};
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) throw Fault{"it ends in the middle of a field"};
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view rest_;
};

std::string_view bytes_of(const Field& field) {
  if (!field.is_bytes) throw Fault{"field " + std::to_string(field.number) + " is not a text"};
  return field.bytes;
}

/// Repeated numbers, which may be packed.
void add_numbers(const Field& field, std::vector<std::int64_t>& numbers) {
  if (!field.is_bytes) return numbers.push_back(static_cast<std::int64_t>(field.value));
  Message packed(field.bytes);
  while (!packed.empty()) numbers.push_back(static_cast<std::int64_t>(packed.varint()));
}

/// The least number of inputs of an operation of ONNX itself, in the oldest version that readers
/// support: https://github.com/onnx/onnx/blob/main/docs/Operators.md
std::size_t least_inputs(std::string_view operation) {
  static const std::map<std::string_view, std::size_t> least{
      {"Constant", 0},
      {"RandomNormal", 0},
      {"RandomUniform", 0},
      {"Add", 2},
      {"And", 2},
      {"BatchNormalization", 5},
      {"BitShift", 2},
      {"Compress", 2},
      {"Conv", 2},
      {"ConvInteger", 2},
      {"ConvTranspose", 2},
      {"CumSum", 2},
      {"DeformConv", 3},
      {"DepthToSpace", 1},
      {"DequantizeLinear", 2},
      {"Div", 2},
      {"Equal", 2},
      {"Expand", 2},
      {"GRU", 3},
      {"Gather", 2},
      {"GatherElements", 2},
      {"GatherND", 2},
      {"Gemm", 2},
      {"Greater", 2},
      {"GreaterOrEqual", 2},
      {"GridSample", 2},
      {"GroupNormalization", 3},
      {"InstanceNormalization", 3},
      {"LSTM", 3},
      {"LayerNormalization", 2},
      {"Less", 2},
      {"LessOrEqual", 2},
      {"MatMul", 2},
      {"MatMulInteger", 2},
      {"MaxRoiPool", 2},
      {"MaxUnpool", 2},
      {"Mod", 2},
      {"Mul", 2},
      {"NonMaxSuppression", 2},
      {"OneHot", 3},
      {"Or", 2},
      {"PRelu", 2},
      {"Pow", 2},
      {"QLinearConv", 8},
      {"QLinearMatMul", 8},
      {"QuantizeLinear", 2},
      {"RNN", 3},
      {"Range", 3},
      {"Reshape", 1},  // version 1 has the shape as an attribute
      {"ReverseSequence", 2},
      {"RoiAlign", 3},
      {"Scatter", 3},
      {"ScatterElements", 3},
      {"ScatterND", 3},
      {"Sub", 2},
      {"Tile", 2},
      {"Where", 3},
      {"Xor", 2},
  };
  const auto found = least.find(operation);
  return found != least.end() ? found->second : 1;
}

/// The size of an element in raw_data in bytes; 0 if raw_data cannot hold the type, or if the type
/// is smaller than a byte.
std::int64_t size_of_type(std::uint64_t type) {
  switch (type) {
    case 2:  // uint8
    case 3:  // int8
    case 9:  // bool
      return 1;
    case 4:   // uint16
    case 5:   // int16
    case 10:  // float16
    case 16:  // bfloat16
      return 2;
    case 1:   // float
    case 6:   // int32
    case 12:  // uint32
      return 4;
    case 7:   // int64
    case 11:  // double
    case 13:  // uint64
      return 8;
    default:
      return 0;
  }
}

/// Checks a TensorProto and gives its name.
std::string check_tensor(std::string_view bytes) {
  std::string name;
  std::vector<std::int64_t> shape, numbers;
  std::int64_t values = 0;
  std::uint64_t type = 0;
  std::optional<std::string_view> raw;
  bool elsewhere = false;
  Message tensor(bytes);
  while (const auto field = tensor.next()) switch (field->number) {
      case 1:
        add_numbers(*field, shape);
        break;
      case 2:
        type = field->value;
        break;
      case 4:   // float_data
      case 10:  // double_data
        values += field->is_bytes ? static_cast<std::int64_t>(field->bytes.size()) /
                                        (field->number == 4 ? 4 : 8)
                                  : 1;
        break;
      case 5:   // int32_data
      case 7:   // int64_data
      case 11:  // uint64_data
        numbers.clear();
        add_numbers(*field, numbers);
        values += static_cast<std::int64_t>(numbers.size());
        break;
      case 6:  // string_data
        ++values;
        break;
      case 8:
        name = bytes_of(*field);
        break;
      case 9:
        raw = bytes_of(*field);
        break;
      case 13:
      case 14:
        elsewhere = elsewhere || field->is_bytes || field->value != 0;
        break;
      default:
        break;
    }
  if (elsewhere)
    throw Fault{"tensor \"" + name +
                "\" is in another file, which is not loaded; save the model with its "
                "weights in one file"};
  std::int64_t elements = 1;
  for (const std::int64_t length : shape) {
    if (length < 0 || (length > 0 && elements > kMostElements / length))
      throw Fault{"tensor \"" + name + "\" has a length of " + std::to_string(length) +
                  ", or more than 2^31 elements"};
    elements *= length;
  }
  if (elements == 0 && shape.size() > 1)
    throw Fault{"tensor \"" + name + "\" has no elements in " + std::to_string(shape.size()) +
                " dimensions"};
  if (size_of_type(type) == 0) return name;  // the engine supports the type, or refuses it
  if (raw) values = static_cast<std::int64_t>(raw->size());
  const std::int64_t needed = raw ? elements * size_of_type(type) : elements;
  if (values != needed)
    throw Fault{"tensor \"" + name + "\" has " + std::to_string(values) +
                (raw ? " bytes" : " values") + ", but its shape needs " + std::to_string(needed)};
  return name;
}

OnnxHeader::Input read_value_info(std::string_view bytes) {
  OnnxHeader::Input info;
  Message message(bytes);
  while (const auto field = message.next()) {
    if (field->number == 1) info.name = bytes_of(*field);
    if (field->number != 2) continue;
    Message type(bytes_of(*field));
    while (const auto kind = type.next()) {
      if (kind->number != 1) continue;  // a sequence or a map: no picture
      Message tensor(bytes_of(*kind));
      while (const auto part = tensor.next()) {
        if (part->number != 2) continue;
        Message shape(bytes_of(*part));
        while (const auto dimension = shape.next()) {
          if (dimension->number != 1) continue;
          info.shape.push_back(-1);
          Message length(bytes_of(*dimension));
          while (const auto value = length.next())
            if (value->number == 1) info.shape.back() = static_cast<std::int64_t>(value->value);
        }
      }
    }
  }
  return info;
}

using Names = std::set<std::string, std::less<>>;

OnnxHeader check_graph(std::string_view bytes, Names known, int depth);

/// Checks a NodeProto and adds the names of its outputs to `known`.
void check_node(std::string_view bytes, Names& known, int depth) {
  std::string operation, domain;
  std::vector<std::string_view> attributes, inputs, outputs;
  Message node(bytes);
  while (const auto field = node.next()) {
    if (field->number == 1) inputs.push_back(bytes_of(*field));
    if (field->number == 2) outputs.push_back(bytes_of(*field));
    if (field->number == 4) operation = bytes_of(*field);
    if (field->number == 5) attributes.push_back(bytes_of(*field));
    if (field->number == 7) domain = bytes_of(*field);
  }
  const std::size_t least = domain.empty() || domain == "ai.onnx" ? least_inputs(operation) : 0;
  for (std::size_t i = 0; i < least; ++i)
    if (i >= inputs.size() || inputs[i].empty())
      throw Fault{"a node " + operation + " has no input " + std::to_string(i) +
                  ", but needs at least " + std::to_string(least)};
  for (const std::string_view input : inputs)  // an empty name: an input that is left out
    if (!input.empty() && !known.contains(input))
      throw Fault{"a node " + operation + " takes \"" + std::string(input) +
                  "\", which no node before it produces"};
  for (const std::string_view attribute : attributes) {
    std::string name;
    std::vector<std::int64_t> numbers;
    Message message(attribute);
    while (const auto field = message.next()) {
      if (field->number == 1) name = bytes_of(*field);
      if (field->number == 3 || field->number == 8) add_numbers(*field, numbers);
      if (field->number == 5 || field->number == 10) check_tensor(bytes_of(*field));
      if (field->number == 6 || field->number == 11)
        check_graph(bytes_of(*field), known, depth + 1);
    }
    constexpr std::array kDivisors{"strides", "kernel_shape", "dilations", "group", "blocksize"};
    if (std::ranges::find(kDivisors, name) == kDivisors.end()) continue;
    for (const std::int64_t number : numbers)
      if (number < 1 || number > kMostElements)
        throw Fault{"a node " + operation + " has the " + name + ' ' + std::to_string(number) +
                    ", which is not within 1 to " + std::to_string(kMostElements)};
  }
  known.insert(outputs.begin(), outputs.end());
}

/// `known`: the names in the graphs around it.
OnnxHeader check_graph(std::string_view bytes, Names known, int depth) {
  if (depth > kDeepestGraph)
    throw Fault{"graphs are nested more than " + std::to_string(kDeepestGraph) + " levels deep"};
  OnnxHeader header;
  std::vector<std::string_view> nodes;
  Names weights;
  Message graph(bytes);
  while (const auto field = graph.next()) {
    if (field->number == 1) nodes.push_back(bytes_of(*field));
    if (field->number == 5) weights.insert(check_tensor(bytes_of(*field)));
    if (field->number == 15) {  // a sparse tensor: the name is that of its values
      Message sparse(bytes_of(*field));
      while (const auto part = sparse.next())
        if (part->number == 1) weights.insert(check_tensor(bytes_of(*part)));
    }
    if (field->number == 11) header.inputs.push_back(read_value_info(bytes_of(*field)));
    if (field->number == 12) header.outputs.push_back(read_value_info(bytes_of(*field)).name);
  }
  for (const auto& input : header.inputs) known.insert(input.name);
  known.insert(weights.begin(), weights.end());
  for (const std::string_view node : nodes) check_node(node, known, depth);
  for (const std::string& output : header.outputs)
    if (!known.contains(output)) throw Fault{"no node produces its output \"" + output + '"'};
  std::erase_if(header.inputs, [&](const auto& input) { return weights.contains(input.name); });
  return header;
}

}  // namespace

OnnxHeader read_onnx_header(const ModelFile& model) {
  try {
    std::optional<OnnxHeader> header;
    Message message({reinterpret_cast<const char*>(model.bytes.data()), model.bytes.size()});
    while (const auto field = message.next())
      if (field->number == 7) header = check_graph(bytes_of(*field), {}, 0);
    if (!header) throw Fault{"it has no graph"};
    return *header;
  } catch (const Fault& fault) {
    throw EngineError(ErrorCode::unreadable_model,
                      "model " + model.name + ": is not a valid ONNX file: " + fault.what +
                          "; check that the file is complete and in ONNX format");
  }
}

}  // namespace vcap
