// SPDX-License-Identifier: Apache-2.0
#include "backends/opencv_dnn/opencv_dnn_engine.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <opencv2/core/utility.hpp>
#include <opencv2/dnn.hpp>
#include <opencv2/imgproc.hpp>

#include "backends/onnx/onnx_header.hpp"
#include "base/thread_annotations.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

/// The limit that validate(PictureInput) has.
constexpr std::int64_t kLongestSide = 1 << 14;

[[noreturn]] void refuse(ErrorCode code, const std::string& name, const std::string& what) {
  throw EngineError(code, "model " + name + ": " + what);
}

/// OpenCV's message in one line, without the place in its sources.
std::string reason(const std::exception& error) {
  const auto* const opencv = dynamic_cast<const cv::Exception*>(&error);
  std::string text = opencv != nullptr && !opencv->err.empty() ? opencv->err : error.what();
  // OpenCV's readers wrap the message: "… error: (-2:Unspecified error) Can't create …".
  const std::size_t place = text.find("OpenCV("), end = text.find("error) ", place);
  if (place != std::string::npos && end != std::string::npos) text.erase(place, end + 7 - place);
  text.erase(0, text.find_first_not_of("> \n"));
  return text.substr(0, text.find('\n'));
}

cv::dnn::Net read(const ModelFile& file) {
  const std::string ending = fs::path(file.name).extension().string();
  const auto* const bytes = reinterpret_cast<const char*>(file.bytes.data());
  const auto* const weights = reinterpret_cast<const char*>(file.weights.data());
  if (file.bytes.empty())
    refuse(ErrorCode::unreadable_model, file.name, "is empty; give the complete file");
  if ((ending == ".cfg" || ending == ".prototxt") && file.weights.empty())
    refuse(ErrorCode::unreadable_model, file.name,
           "has no weights; give their file as \"weights\"");
  if (ending == ".onnx") return cv::dnn::readNetFromONNX(bytes, file.bytes.size());
  if (ending == ".pb") return cv::dnn::readNetFromTensorflow(bytes, file.bytes.size());
  if (ending == ".cfg")
    return cv::dnn::readNetFromDarknet(bytes, file.bytes.size(), weights, file.weights.size());
  if (ending == ".prototxt")
    return cv::dnn::readNetFromCaffe(bytes, file.bytes.size(), weights, file.weights.size());
  refuse(ErrorCode::unreadable_model, file.name,
         "has a file extension that OpenCV does not read from memory; convert it to ONNX (.onnx), "
         "or use "
         "the engine openvino");
}

/// The shape of each input that is not a picture, by name.
using Shapes = std::map<std::string, std::vector<int>>;

std::string text(const OnnxHeader::Input& input) {
  std::string text;
  for (const std::int64_t length : input.shape)
    text += (text.empty() ? "" : ",") + (length < 0 ? "?" : std::to_string(length));
  return input.name + " [" + text + "]";
}

std::string text(const OnnxHeader& header) {
  std::string all;
  for (const auto& input : header.inputs) all += (all.empty() ? "" : ", ") + text(input);
  return all.empty() ? "none" : all;
}

const OnnxHeader::Input& find_picture_input(const OnnxHeader& header, const std::string& file,
                                            const PictureInput& input,
                                            const EngineSettings& settings) {
  const OnnxHeader::Input* found = nullptr;
  for (const auto& candidate : header.inputs) {
    const bool fits = input.name.empty() ? candidate.shape.size() == 4 &&
                                               !settings.constants.contains(candidate.name)
                                         : candidate.name == input.name;
    if (!fits) continue;
    if (found != nullptr)
      refuse(ErrorCode::unsupported_model, file,
             "has several inputs that could be the picture: " + text(header) +
                 "; name one (\"name\" of \"input\"), or give the others under \"constants\"");
    found = &candidate;
  }
  if (found == nullptr)
    refuse(ErrorCode::unsupported_model, file,
           (input.name.empty() ? "has no input of four dimensions for a picture"
                               : "has no input \"" + input.name + '"') +
               "; its inputs: " + text(header));
  if (found->shape.size() != 4)
    refuse(ErrorCode::unsupported_model, file,
           "input " + text(*found) + " is not a picture: a picture has four dimensions");
  return *found;
}

/// Fills in the input's name, layout and size from the file.
cv::Size resolve(const OnnxHeader& header, const std::string& file, PictureInput& input,
                 std::optional<cv::Size> size, const EngineSettings& settings) {
  const OnnxHeader::Input& picture = find_picture_input(header, file, input, settings);
  const std::int64_t channels = input.colors == PictureInput::Colors::gray ? 1 : 3;
  const auto may_be_channels = [](std::int64_t length) { return length == 1 || length == 3; };
  if (input.layout == PictureInput::Layout::automatic) {
    const bool first = may_be_channels(picture.shape[1]), last = may_be_channels(picture.shape[3]);
    if (!first && !last)
      refuse(ErrorCode::unsupported_model, file,
             "input " + text(picture) +
                 " does not show which dimension has the channels; give \"layout\", nchw or nhwc");
    input.layout = first ? PictureInput::Layout::nchw : PictureInput::Layout::nhwc;
  }
  const std::size_t channel = input.layout == PictureInput::Layout::nhwc ? 3 : 1;
  const std::size_t height = input.layout == PictureInput::Layout::nhwc ? 1 : 2;
  if (picture.shape[channel] >= 0 && picture.shape[channel] != channels)
    refuse(ErrorCode::model_input, file,
           "input " + text(picture) + " does not have the number of channels of its colors (" +
               std::to_string(channels) + "); give \"colors\": \"gray\", \"rgb\" or \"bgr\"");
  input.name = picture.name;
  const std::int64_t rows = picture.shape[height], columns = picture.shape[height + 1];
  if (size) return *size;
  if (rows < 1 || columns < 1)
    refuse(ErrorCode::model_input, file,
           "input " + text(picture) + " has no fixed size; give \"sizes\", such as [[640, 640]]");
  if (rows > kLongestSide || columns > kLongestSide)
    refuse(ErrorCode::model_input, file,
           "input " + text(picture) + " is larger than " + std::to_string(kLongestSide) +
               " pixels; give \"sizes\"");
  return {static_cast<int>(columns), static_cast<int>(rows)};
}

Shapes shapes_of_constants(const OnnxHeader& header, const std::string& file,
                           const PictureInput& picture, const EngineSettings& settings) {
  Shapes shapes;
  for (const auto& input : header.inputs) {
    if (input.name == picture.name) continue;
    const auto values = settings.constants.find(input.name);
    if (values == settings.constants.end())
      refuse(ErrorCode::model_input, file,
             "input " + text(input) +
                 " is not the picture and has no value; give its value under \"constants\"");
    const auto count = static_cast<std::int64_t>(values->second.size());
    std::vector<int>& shape = shapes[input.name];
    std::int64_t product = 1;
    for (std::size_t d = 0; d < input.shape.size(); ++d) {
      const std::int64_t open =
          d + 1 == input.shape.size() ? count / std::max<std::int64_t>(1, product) : 1;
      const std::int64_t length = input.shape[d] < 0 ? open : input.shape[d];
      product = length > 0 && product > count / length ? count + 1 : product * length;
      shape.push_back(static_cast<int>(std::min<std::int64_t>(length, count)));
    }
    if (product != count)
      refuse(ErrorCode::model_input, file,
             "input " + text(input) + " does not have as many elements as \"constants\" gives: " +
                 std::to_string(count));
  }
  for (const auto& [name, values] : settings.constants)
    if (!shapes.contains(name))
      refuse(ErrorCode::model_input, file,
             "\"constants\" gives \"" + name +
                 "\", which is not another input; its inputs: " + text(header));
  return shapes;
}

/// The network's input: 1×C×H×W floats (or H×W×C), normalised.
class Normalization {
 public:
  explicit Normalization(const PictureInput& input)
      : input_(input), channels_(input.colors == PictureInput::Colors::gray ? 1 : 3) {}

  cv::Mat blob(const cv::Mat& bgr) const {
    // In floats, so that a gray value is not rounded to a whole number. Other engines do the same.
    cv::Mat colors;
    bgr.convertTo(colors, CV_32F);
    if (input_.colors == PictureInput::Colors::rgb) cv::cvtColor(colors, colors, cv::COLOR_BGR2RGB);
    if (input_.colors == PictureInput::Colors::gray)
      cv::cvtColor(colors, colors, cv::COLOR_BGR2GRAY);
    std::vector<cv::Mat> planes;
    cv::split(colors, planes);
    for (int c = 0; c < channels_; ++c) {
      cv::Mat& plane = planes[static_cast<std::size_t>(c)];
      plane.convertTo(plane, CV_32F, 1 / at(input_.scale, c),
                      -at(input_.mean, c) / at(input_.scale, c));
    }
    const bool channels_last = input_.layout == PictureInput::Layout::nhwc;
    cv::Mat blob(channels_last ? std::vector<int>{1, bgr.rows, bgr.cols, channels_}
                               : std::vector<int>{1, channels_, bgr.rows, bgr.cols},
                 CV_32F);
    if (channels_last) {
      cv::Mat target(bgr.size(), CV_32FC(channels_), blob.ptr());
      cv::merge(planes, target);
    } else {
      for (int c = 0; c < channels_; ++c)
        planes[static_cast<std::size_t>(c)].copyTo(cv::Mat(bgr.size(), CV_32F, blob.ptr(0, c)));
    }
    return blob;
  }

 private:
  static double at(const std::vector<double>& values, int channel) {
    return values[values.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
  }

  const PictureInput input_;
  const int channels_;
};

class Request final : public InferenceRequest {
 public:
  /// `outputs`: the names of the model's outputs, in its order. If empty, the outputs are those
  /// that no layer of the model uses.
  Request(std::string name, const cv::dnn::Net& net, const PictureInput& input, cv::Size size,
          const Shapes& shapes, const std::vector<std::string>& outputs,
          const std::map<std::string, std::vector<float>>& constants)
      : name_(std::move(name)),
        net_(net),
        names_(outputs.empty() ? net_.getUnconnectedOutLayersNames()
                               : std::vector<cv::String>(outputs.begin(), outputs.end())),
        input_name_(input.name),
        normalization_(input),
        own_input_(size, CV_8UC3, cv::Scalar::all(0)) {
    for (const auto& [constant, values] : constants) {
      const auto known = shapes.find(constant);
      const std::vector<int> shape = known != shapes.end()
                                         ? known->second
                                         : std::vector<int>{1, static_cast<int>(values.size())};
      net_.setInput(cv::Mat(shape, CV_32F, const_cast<float*>(values.data())).clone(), constant);
    }
  }

  cv::Mat input() override {
    picture_ = own_input_;
    return own_input_;
  }
  bool share_input(const cv::Mat& picture) override {
    if (picture.dims != 2 || picture.type() != CV_8UC3 || picture.size() != own_input_.size())
      return false;
    picture_ = picture;
    return true;
  }
  void start(Done done) override {
    std::exception_ptr error;
    try {
      run();
    } catch (const std::exception&) {
      error = std::current_exception();
    }
    done(error);
  }
  void run() override {
    try {
      forward();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& exception) {
      throw EngineError(ErrorCode::inference_failed, "model " + name_ + ": " + reason(exception));
    }
  }
  std::span<const TensorView> outputs() override { return outputs_; }

 private:
  void forward() {
    net_.setInput(normalization_.blob(picture_.empty() ? own_input_ : picture_), input_name_);
    net_.forward(results_, names_);
    outputs_.resize(results_.size());
    for (std::size_t i = 0; i < results_.size(); ++i) {
      cv::Mat& result = results_[i];
      if (result.depth() != CV_32F) result.convertTo(result, CV_32F);
      if (!result.isContinuous()) result = result.clone();
      outputs_[i].name = names_[i];
      outputs_[i].shape.assign(result.size.p, result.size.p + result.dims);
      outputs_[i].values = {result.ptr<float>(), result.total()};
    }
  }

  const std::string name_;
  cv::dnn::Net net_;
  const std::vector<cv::String> names_;
  const std::string input_name_;
  const Normalization normalization_;
  cv::Mat own_input_, picture_{};
  std::vector<cv::Mat> results_{};
  std::vector<TensorView> outputs_{};
};

/// Reads the network again for each request, since one network runs one picture at a time.
class Model final : public CompiledModel {
 public:
  Model(const ModelFile& file, const PictureInput& input, std::optional<cv::Size> size,
        const EngineSettings& settings)
      : file_(file), input_(input), constants_(settings.constants) {
    if (fs::path(file.name).extension() == ".onnx" && !file.bytes.empty()) {
      const OnnxHeader header = read_onnx_header(file);
      if (header.outputs.empty())
        refuse(ErrorCode::unsupported_model, file.name,
               "has no output; export it again with its outputs");
      size_ = resolve(header, file.name, input_, size, settings);
      shapes_ = shapes_of_constants(header, file.name, input_, settings);
      outputs_ = header.outputs;
    } else if (size) {
      size_ = *size;
    } else {
      refuse(
          ErrorCode::model_input, file.name,
          "has an input of unknown size, since OpenCV does not report it; give \"sizes\", such as "
          "[[640, 640]]");
    }
    first_ = make();
  }
  cv::Size input_size() const override { return size_; }
  std::size_t optimal_requests() const override { return 1; }
  bool runs_on_host() const override { return true; }
  std::unique_ptr<InferenceRequest> make_request() override {
    {
      const MutexLock lock(mutex_);
      if (auto first = std::exchange(first_, nullptr)) return first;
    }
    return make();
  }

 private:
  std::unique_ptr<Request> make() const {
    cv::dnn::Net net;
    try {
      net = read(file_);
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      const std::string why = reason(error);
      // The header is valid, so if OpenCV cannot make a layer of a node, it lacks the operation.
      if (why.find("Can't create layer") != std::string::npos)
        refuse(ErrorCode::unsupported_model, file_.name,
               "has an operation that OpenCV lacks: " + why + "; try the engine openvino");
      refuse(ErrorCode::unreadable_model, file_.name,
             "cannot be read: " + why +
                 "; check that the file is complete, or try the engine openvino");
    }
    if (net.empty() || net.getUnconnectedOutLayersNames().empty())
      refuse(ErrorCode::unsupported_model, file_.name,
             "has no output; export it again with its outputs");
    net.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
    net.setPreferableTarget(cv::dnn::DNN_TARGET_CPU);
    try {
      auto request =
          std::make_unique<Request>(file_.name, net, input_, size_, shapes_, outputs_, constants_);
      request->run();  // OpenCV checks shapes and operations only when it runs
      return request;
    } catch (const std::exception& error) {
      refuse(ErrorCode::unsupported_model, file_.name,
             "does not run on an input of " + std::to_string(size_.width) + "x" +
                 std::to_string(size_.height) + ": " + reason(error) +
                 "; give another size, or try the engine openvino");
    }
  }

  const ModelFile file_;
  PictureInput input_;
  cv::Size size_{};
  Shapes shapes_{};
  std::vector<std::string> outputs_{};
  const std::map<std::string, std::vector<float>> constants_;
  Mutex mutex_;
  std::unique_ptr<Request> first_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace

std::string OpenCvDnnEngine::version() const { return cv::getVersionString(); }

std::unique_ptr<CompiledModel> OpenCvDnnEngine::compile(const ModelFile& model,
                                                        const PictureInput& input,
                                                        std::optional<cv::Size> size,
                                                        const EngineSettings& settings) {
  if (settings.device != "CPU" && settings.device != "CPU:0")
    throw DeviceError(ErrorCode::unknown_device,
                      "model " + model.name + ": opencv_dnn has no device " + settings.device +
                          "; it has only CPU; name that, or use the engine openvino");
  return std::make_unique<Model>(model, input, size, settings);
}

}  // namespace vcap

VCAP_ENGINE(vcap::OpenCvDnnEngine)
