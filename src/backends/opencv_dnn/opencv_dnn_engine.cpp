// SPDX-License-Identifier: Apache-2.0
#include "backends/opencv_dnn/opencv_dnn_engine.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <opencv2/core/utility.hpp>
#include <opencv2/dnn.hpp>
#include <opencv2/imgproc.hpp>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

[[noreturn]] void refuse(ErrorCode code, const std::string& name, const std::string& what) {
  throw EngineError(code, "model " + name + ": " + what);
}

/// What OpenCV says, in one line and without the place in its sources.
std::string reason(const std::exception& error) {
  const auto* const opencv = dynamic_cast<const cv::Exception*>(&error);
  std::string text = opencv != nullptr && !opencv->err.empty() ? opencv->err : error.what();
  text.erase(0, text.find_first_not_of("> \n"));
  return text.substr(0, text.find('\n'));
}

cv::dnn::Net read(const ModelFile& file) {
  const std::string ending = std::filesystem::path(file.name).extension().string();
  const auto* const bytes = reinterpret_cast<const char*>(file.bytes.data());
  const auto* const weights = reinterpret_cast<const char*>(file.weights.data());
  if (file.bytes.empty()) refuse(ErrorCode::unreadable_model, file.name, "is empty");
  if ((ending == ".cfg" || ending == ".prototxt") && file.weights.empty())
    refuse(ErrorCode::unreadable_model, file.name, "comes without its weights; give their file");
  if (ending == ".onnx") return cv::dnn::readNetFromONNX(bytes, file.bytes.size());
  if (ending == ".pb") return cv::dnn::readNetFromTensorflow(bytes, file.bytes.size());
  if (ending == ".cfg")
    return cv::dnn::readNetFromDarknet(bytes, file.bytes.size(), weights, file.weights.size());
  if (ending == ".prototxt")
    return cv::dnn::readNetFromCaffe(bytes, file.bytes.size(), weights, file.weights.size());
  refuse(ErrorCode::unreadable_model, file.name,
         "has an ending that OpenCV does not read from memory; convert it to ONNX (.onnx), or use "
         "the engine openvino");
}

/// Pixels as the network wants them: 1×C×H×W floats (or H×W×C), normalised.
class Normalization {
 public:
  explicit Normalization(const PictureInput& input)
      : input_(input), channels_(input.colors == PictureInput::Colors::gray ? 1 : 3) {}

  cv::Mat blob(const cv::Mat& bgr) const {
    cv::Mat colors = bgr;
    if (input_.colors == PictureInput::Colors::rgb) cv::cvtColor(bgr, colors, cv::COLOR_BGR2RGB);
    if (input_.colors == PictureInput::Colors::gray) cv::cvtColor(bgr, colors, cv::COLOR_BGR2GRAY);
    if (input_.layout == PictureInput::Layout::nhwc) return channels_last(colors);
    cv::Mat blob({1, channels_, bgr.rows, bgr.cols}, CV_32F);
    for (int c = 0; c < channels_; ++c) {
      cv::Mat plane;
      cv::extractChannel(colors, plane, c);
      cv::Mat target(bgr.size(), CV_32F, blob.ptr(0, c));
      plane.convertTo(target, CV_32F, 1 / scale(c), -mean(c) / scale(c));
    }
    return blob;
  }

 private:
  cv::Mat channels_last(const cv::Mat& colors) const {
    cv::Mat blob({1, colors.rows, colors.cols, channels_}, CV_32F);
    cv::Mat target(colors.size(), CV_32FC(channels_), blob.ptr());
    std::vector<cv::Mat> planes;
    cv::split(colors, planes);
    for (int c = 0; c < channels_; ++c)
      planes[static_cast<std::size_t>(c)].convertTo(planes[static_cast<std::size_t>(c)], CV_32F,
                                                    1 / scale(c), -mean(c) / scale(c));
    cv::merge(planes, target);
    return blob;
  }
  double mean(int channel) const { return at(input_.mean, channel); }
  double scale(int channel) const { return at(input_.scale, channel); }
  static double at(const std::vector<double>& values, int channel) {
    return values[values.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
  }

  const PictureInput input_;
  const int channels_;
};

class Request final : public InferenceRequest {
 public:
  Request(std::string name, cv::dnn::Net net, const PictureInput& input, cv::Size size,
          const std::map<std::string, std::vector<float>>& constants)
      : name_(std::move(name)),
        net_(std::move(net)),
        names_(net_.getUnconnectedOutLayersNames()),
        input_name_(input.name),
        normalization_(input),
        own_input_(size, CV_8UC3, cv::Scalar::all(0)) {
    for (const auto& [constant, values] : constants)
      net_.setInput(
          cv::Mat(1, static_cast<int>(values.size()), CV_32F, const_cast<float*>(values.data()))
              .clone(),
          constant);
  }

  cv::Mat input() override {
    picture_ = own_input_;
    return own_input_;
  }
  bool share_input(const cv::Mat& picture) override {
    if (picture.type() != CV_8UC3 || picture.size() != own_input_.size()) return false;
    picture_ = picture;
    return true;
  }
  void start(Done done) override {
    std::exception_ptr error;
    try {
      run();
    } catch (const Error&) {
      error = std::current_exception();
    } catch (const std::exception& exception) {
      error = std::make_exception_ptr(
          EngineError(ErrorCode::inference_failed, "model " + name_ + ": " + reason(exception)));
    }
    done(error);
  }
  std::span<const TensorView> outputs() override { return outputs_; }

  void run() {
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

 private:
  const std::string name_;
  cv::dnn::Net net_;
  const std::vector<cv::String> names_;
  const std::string input_name_;
  const Normalization normalization_;
  cv::Mat own_input_, picture_{};
  std::vector<cv::Mat> results_{};
  std::vector<TensorView> outputs_{};
};

/// Reads the network for each request anew, since one network runs one picture at a time.
class Model final : public CompiledModel {
 public:
  Model(const ModelFile& file, const PictureInput& input, cv::Size size,
        const EngineSettings& settings)
      : file_(file), input_(input), size_(size), constants_(settings.constants) {
    first_ = make();
  }
  cv::Size input_size() const override { return size_; }
  std::size_t optimal_requests() const override { return 1; }
  std::unique_ptr<InferenceRequest> make_request() override {
    if (auto first = std::exchange(first_, nullptr)) return first;
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
      refuse(ErrorCode::unreadable_model, file_.name,
             "cannot be read: " + reason(error) +
                 "; check that the file is whole, or try the engine openvino");
    }
    if (net.empty() || net.getUnconnectedOutLayersNames().empty())
      refuse(ErrorCode::unsupported_model, file_.name, "has no output");
    net.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
    net.setPreferableTarget(cv::dnn::DNN_TARGET_CPU);
    try {
      auto request = std::make_unique<Request>(file_.name, net, input_, size_, constants_);
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
  const PictureInput input_;
  const cv::Size size_;
  const std::map<std::string, std::vector<float>> constants_;
  std::unique_ptr<Request> first_;
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
                          "; it has CPU; name that, or use the engine openvino");
  if (!size)
    refuse(ErrorCode::model_input, model.name,
           "needs its input's size, since OpenCV does not tell it; give \"sizes\", such as "
           "[[640, 640]]");
  return std::make_unique<Model>(model, input, *size, settings);
}

}  // namespace vcap

VCAP_ENGINE(vcap::OpenCvDnnEngine)
