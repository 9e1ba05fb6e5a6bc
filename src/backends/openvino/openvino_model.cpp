// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/openvino_model.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>
#include <openvino/core/preprocess/pre_post_process.hpp>

#include "backends/openvino/fold_weights.hpp"
#include "backends/openvino/openvino_request.hpp"
#include "backends/openvino/read_openvino_model.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using Model = std::shared_ptr<ov::Model>;

/// No tensor of a normal model is larger, in bytes. A larger one would end the process when it is
/// allocated.
constexpr std::size_t kLargestTensor = std::size_t{1} << 31;

/// The alignment of OpenVINO's bytes within a kept model, since its weights are used in place.
constexpr std::size_t kBlobAlignment = 64;

[[noreturn]] void refuse(ErrorCode code, const std::string& name, const std::string& what) {
  throw EngineError(code, "model " + name + ": " + what);
}

/// The line of OpenVINO's message that has the reason. Other lines are places in its sources.
std::string reason(const std::exception& error) {
  std::string text = error.what(), last;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line.find("Exception from") == std::string::npos) last = line;
  return last.empty() ? text : last;
}

/// The operations that OpenVINO's readers list as missing; empty if something else is wrong.
std::string lacking_operations(const std::exception& error) {
  constexpr std::string_view kList = "No conversion rule found for operations: ";
  const std::string text = error.what();
  const std::size_t at = text.find(kList);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + kList.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

std::string name_of(const ov::Output<const ov::Node>& port) {
  return port.get_names().empty() ? port.get_node()->get_friendly_name() : port.get_any_name();
}

/// The name of an output in the model's file. OpenVINO keeps all names that a tensor ever had, and
/// the own name of a result, which may end with the number of a port.
std::string output_name(const ov::Output<const ov::Node>& port) {
  const std::string own = port.get_node()->get_friendly_name();
  const std::string plain = own.substr(0, own.find("/sink_port"));
  return port.get_names().contains(plain) ? plain : name_of(port);
}

std::string inputs_of(const Model& model) {
  std::string text;
  for (const auto& port : std::as_const(*model).inputs())
    text += (text.empty() ? "" : ", ") + name_of(port) + " " + port.get_partial_shape().to_string();
  return text.empty() ? "none" : text;
}

std::size_t find_picture_input(const Model& model, const std::string& file,
                               const PictureInput& input, const EngineSettings& settings) {
  const auto ports = std::as_const(*model).inputs();
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const std::string name = name_of(ports[i]);
    const ov::Rank rank = ports[i].get_partial_shape().rank();
    const bool fits =
        input.name.empty()
            ? rank.is_static() && rank.get_length() == 4 && !settings.constants.contains(name)
            : name == input.name || ports[i].get_names().contains(input.name);
    if (!fits) continue;
    if (found)
      refuse(ErrorCode::unsupported_model, file,
             "has several inputs that could be the picture: " + inputs_of(model) +
                 "; name one (\"name\" of \"input\"), or give the others under \"constants\"");
    found = i;
  }
  if (!found)
    refuse(ErrorCode::unsupported_model, file,
           input.name.empty()
               ? "has no input of four dimensions for a picture; its inputs: " + inputs_of(model)
               : "has no input \"" + input.name + "\"; its inputs: " + inputs_of(model));
  const ov::Rank rank = ports[*found].get_partial_shape().rank();
  if (rank.is_dynamic() || rank.get_length() != 4)
    refuse(ErrorCode::unsupported_model, file,
           "input " + name_of(ports[*found]) + " has the shape " +
               ports[*found].get_partial_shape().to_string() + "; a picture has four dimensions");
  return *found;
}

bool may_be_channels(const ov::Dimension& dimension) {
  return dimension.is_static() && (dimension.get_length() == 1 || dimension.get_length() == 3);
}

/// true: NHWC, false: NCHW.
bool is_channels_last(const ov::Output<ov::Node>& port, const ov::PartialShape& shape,
                      const std::string& file, const PictureInput& input) {
  if (input.layout != PictureInput::Layout::automatic)
    return input.layout == PictureInput::Layout::nhwc;
  const auto parameter =
      std::dynamic_pointer_cast<ov::op::v0::Parameter>(port.get_node_shared_ptr());
  if (parameter && !parameter->get_layout().empty()) {
    const ov::Layout layout = parameter->get_layout();
    if (ov::layout::has_channels(layout)) return (ov::layout::channels_idx(layout) + 4) % 4 == 3;
  }
  if (may_be_channels(shape[1])) return false;
  if (may_be_channels(shape[3])) return true;
  refuse(ErrorCode::unsupported_model, file,
         "input of shape " + shape.to_string() +
             " does not show which dimension has the channels; give \"layout\", nchw or nhwc");
}

/// The shape of the model's input for one picture; all dimensions are known.
ov::PartialShape fixed_shape(const ov::PartialShape& shape, bool channels_last,
                             const std::string& file, std::optional<cv::Size> size,
                             const PictureInput& input) {
  const std::ptrdiff_t height = channels_last ? 1 : 2, channel = channels_last ? 3 : 1;
  const std::int64_t channels = input.colors == PictureInput::Colors::gray ? 1 : 3;
  if (!shape[channel].compatible(ov::Dimension(channels)))
    refuse(ErrorCode::model_input, file,
           "input of shape " + shape.to_string() +
               " does not have the number of channels of its "
               "colors (" +
               std::to_string(channels) + "); give \"colors\": \"gray\", \"rgb\" or \"bgr\"");
  ov::PartialShape fixed = shape;
  fixed[0] = 1;
  fixed[channel] = channels;
  if (size) {
    fixed[height] = size->height;
    fixed[height + 1] = size->width;
  } else if (shape[height].is_dynamic() || shape[height + 1].is_dynamic()) {
    refuse(ErrorCode::model_input, file,
           "input has the shape " + shape.to_string() +
               ", which has no fixed size; give \"sizes\", such as [[640, 640]]");
  }
  return fixed;
}

void fix_shapes(const Model& model, const std::string& file, std::size_t picture,
                const ov::PartialShape& shape, const EngineSettings& settings) {
  std::map<ov::Output<ov::Node>, ov::PartialShape> shapes;
  const auto ports = model->inputs();
  for (const auto& [name, values] : settings.constants) {
    std::size_t i = 0;
    while (i < ports.size() && (i == picture || name_of(ports[i]) != name)) ++i;
    if (i == ports.size())
      refuse(ErrorCode::model_input, file,
             "\"constants\" gives \"" + name +
                 "\", which is not another input; its inputs: " + inputs_of(model));
  }
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (i == picture) {
      shapes[ports[i]] = shape;
      continue;
    }
    const std::string name = name_of(ports[i]);
    const auto values = settings.constants.find(name);
    if (values == settings.constants.end())
      refuse(ErrorCode::model_input, file,
             "input " + name + " " + ports[i].get_partial_shape().to_string() +
                 " is not the picture and has no value; give its value under \"constants\"");
    ov::PartialShape fixed = ports[i].get_partial_shape();
    std::int64_t rest = static_cast<std::int64_t>(values->second.size());
    if (fixed.rank().is_dynamic()) fixed = {rest};
    const auto last = static_cast<std::ptrdiff_t>(fixed.size()) - 1;
    for (std::ptrdiff_t d = 0; d <= last; ++d)
      if (fixed[d].is_dynamic()) fixed[d] = d == last ? rest : 1;
    if (ov::shape_size(fixed.to_shape()) != values->second.size())
      refuse(ErrorCode::model_input, file,
             "input " + name + " has the shape " + fixed.to_string() +
                 ", but \"constants\" gives " + std::to_string(values->second.size()) + " numbers");
    shapes[ports[i]] = fixed;
  }
  try {
    model->reshape(shapes);
  } catch (const std::exception& error) {
    refuse(ErrorCode::model_input, file,
           "does not take an input of shape " + shape.to_string() + ": " + reason(error));
  }
}

void check_tensors(const Model& model, const std::string& file) {
  if (model->outputs().empty())
    refuse(ErrorCode::unsupported_model, file, "has no output; export it again with its outputs");
  for (const auto& node : model->get_ordered_ops())
    for (const auto& output : node->outputs()) {
      const ov::PartialShape& shape = output.get_partial_shape();
      if (shape.is_dynamic()) continue;
      std::size_t bytes = std::max<std::size_t>(1, output.get_element_type().size());
      for (const std::size_t length : shape.to_shape()) {
        if (length > 0 && bytes > kLargestTensor / length)
          refuse(ErrorCode::unsupported_model, file,
                 "tensor " + node->get_friendly_name() + " of shape " + shape.to_string() +
                     " is larger than " + std::to_string(kLargestTensor >> 20) +
                     " MiB; give a smaller size");
        bytes *= length;
      }
    }
}

bool has_property(const ov::CompiledModel& compiled, const char* name) {
  const auto names = compiled.get_property(ov::supported_properties);
  return std::ranges::find(names, name) != names.end();
}

/// Devices that combine others, such as HETERO, may not report it; they count as throughput.
bool is_for_latency(const ov::CompiledModel& compiled) {
  return has_property(compiled, ov::hint::performance_mode.name()) &&
         compiled.get_property(ov::hint::performance_mode) == ov::hint::PerformanceMode::LATENCY;
}

std::vector<float> channels(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

/// Makes the rest of the preprocessing a part of the model, so that pictures go in as they are:
/// 8-bit BGR.
Model with_preprocessing(const Model& model, std::size_t picture, bool channels_last,
                         const PictureInput& input) {
  ov::preprocess::PrePostProcessor processor(model);
  ov::preprocess::InputInfo& info = processor.input(picture);
  info.tensor()
      .set_element_type(ov::element::u8)
      .set_layout("NHWC")
      .set_color_format(ov::preprocess::ColorFormat::BGR);
  info.model().set_layout(channels_last ? "NHWC" : "NCHW");
  ov::preprocess::PreProcessSteps& steps = info.preprocess();
  steps.convert_element_type(ov::element::f32);
  if (input.colors == PictureInput::Colors::rgb)
    steps.convert_color(ov::preprocess::ColorFormat::RGB);
  if (input.colors == PictureInput::Colors::gray)
    steps.convert_color(ov::preprocess::ColorFormat::GRAY);
  const auto is_not = [](double neutral) { return [=](double value) { return value != neutral; }; };
  if (std::ranges::any_of(input.mean, is_not(0))) steps.mean(channels(input.mean));
  if (std::ranges::any_of(input.scale, is_not(1))) steps.scale(channels(input.scale));
  for (std::size_t i = 0; i < model->inputs().size(); ++i)
    if (i != picture) processor.input(i).tensor().set_element_type(ov::element::f32);
  for (std::size_t i = 0; i < model->outputs().size(); ++i)
    processor.output(i).tensor().set_element_type(ov::element::f32);
  return processor.build();
}

}  // namespace

OpenVinoModel::OpenVinoModel(std::string name, ov::CompiledModel compiled,
                             std::size_t picture_input, std::vector<std::string> outputs,
                             std::map<std::string, std::vector<float>> constants, std::string blob)
    : name_(std::move(name)),
      blob_(std::move(blob)),
      compiled_(std::move(compiled)),
      picture_input_(picture_input),
      outputs_(std::move(outputs)),
      constants_(std::move(constants)) {
  const ov::Shape shape = compiled_.inputs().at(picture_input_).get_shape();  // NHWC
  size_ = {static_cast<int>(shape.at(2)), static_cast<int>(shape.at(1))};
}

std::size_t OpenVinoModel::optimal_requests() const {
  const std::size_t running = parallel_requests();
  // More requests than run at the same time: for batches of several pictures, the others are
  // prepared and wait. So a stream whose request ends has the next one without waking a thread.
  // They cost the memory of an input and the outputs. For latency there are no such requests:
  // preparing them would take cores from the picture that runs.
  constexpr std::size_t kFewest = 2;
  return is_for_latency(compiled_) ? running : running + std::max(kFewest, (running + 5) / 6);
}

std::size_t OpenVinoModel::parallel_requests() const {
  return std::max(1u, compiled_.get_property(ov::optimal_number_of_infer_requests));
}

// Only the processor's plugin has this property.
bool OpenVinoModel::runs_on_host() const {
  return has_property(compiled_, ov::inference_num_threads.name());
}

std::unique_ptr<InferenceRequest> OpenVinoModel::make_request() {
  try {
    return std::make_unique<OpenVinoRequest>(name_, compiled_.create_infer_request(),
                                             picture_input_, outputs_, constants_);
  } catch (const ov::Exception& error) {
    refuse(ErrorCode::inference_failed, name_, "no request can be made: " + reason(error));
  }
}

std::string OpenVinoModel::exported() const {
  std::ostringstream blob;
  // Before OpenVINO's own bytes: the index of the picture input, and the names of the outputs.
  std::string head =
      nlohmann::json{{"picture_input", picture_input_}, {"outputs", outputs_}}.dump();
  head.append((kBlobAlignment - 1) - head.size() % kBlobAlignment, ' ');
  blob << head << '\n';
  auto copy = compiled_;
  copy.export_model(blob);
  return std::move(blob).str();
}

std::unique_ptr<OpenVinoModel> compile_openvino_model(
    ov::Core& core, const ModelFile& file, const PictureInput& input, std::optional<cv::Size> size,
    const EngineSettings& settings, const std::string& device, const ov::AnyMap& properties) {
  Model model;
  try {
    model = read_openvino_model(core, file);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    const std::string lacking = lacking_operations(error);
    if (!lacking.empty())
      refuse(ErrorCode::unsupported_model, file.name,
             "has operations that OpenVINO lacks: " + lacking +
                 "; convert the model again without them");
    refuse(ErrorCode::unreadable_model, file.name,
           "cannot be read: " + reason(error) +
               "; check that the file is complete and has the format of its extension");
  }
  const std::size_t picture = find_picture_input(model, file.name, input, settings);
  const ov::PartialShape shape = model->input(picture).get_partial_shape();
  const bool channels_last = is_channels_last(model->input(picture), shape, file.name, input);
  fix_shapes(model, file.name, picture, fixed_shape(shape, channels_last, file.name, size, input),
             settings);
  check_tensors(model, file.name);
  try {
    std::vector<std::string> outputs;
    for (const auto& port : std::as_const(*model).outputs()) outputs.push_back(output_name(port));
    fold_compressed_weights(*model);
    const Model whole = with_preprocessing(model, picture, channels_last, input);
    return std::make_unique<OpenVinoModel>(file.name, core.compile_model(whole, device, properties),
                                           picture, std::move(outputs), settings.constants);
  } catch (const std::exception& error) {
    refuse(ErrorCode::unsupported_model, file.name,
           "cannot be compiled for " + device + ": " + reason(error) +
               "; try another device, or convert the model again without that operation");
  }
}

std::unique_ptr<OpenVinoModel> import_openvino_model(ov::Core& core, std::string blob,
                                                     const ModelFile& model,
                                                     const EngineSettings& settings,
                                                     const std::string& device,
                                                     const ov::AnyMap& properties) {
  const std::size_t end = blob.find('\n');
  const nlohmann::json head = nlohmann::json::parse(blob.substr(0, end));
  const ov::Tensor bytes(ov::element::u8, {blob.size() - end - 1}, blob.data() + end + 1);
  ov::CompiledModel compiled = core.import_model(bytes, device, properties);
  // Moving the string does not move its bytes.
  return std::make_unique<OpenVinoModel>(
      model.name, std::move(compiled), head.at("picture_input").get<std::size_t>(),
      head.at("outputs").get<std::vector<std::string>>(), settings.constants, std::move(blob));
}

}  // namespace vcap
