// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/openvino_request.hpp"

#include <algorithm>
#include <utility>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

std::exception_ptr failure(const std::string& model, const std::string& why) {
  return std::make_exception_ptr(
      EngineError(ErrorCode::inference_failed, "model " + model + ": " + why));
}

std::exception_ptr described(const std::string& model, std::exception_ptr error) {
  try {
    std::rethrow_exception(std::move(error));
  } catch (const std::exception& exception) {
    return failure(model, exception.what());
  } catch (...) {
    return failure(model, "the engine failed without a reason");
  }
}

}  // namespace

OpenVinoRequest::OpenVinoRequest(const std::string& model, ov::InferRequest request,
                                 std::size_t picture_input, std::vector<std::string> output_names,
                                 const std::map<std::string, std::vector<float>>& constants)
    : model_(model),
      request_(std::move(request)),
      picture_input_(picture_input),
      own_input_(request_.get_input_tensor(picture_input)),
      output_names_(std::move(output_names)) {
  const ov::CompiledModel compiled = request_.get_compiled_model();
  for (const auto& port : compiled.inputs()) {
    const auto values =
        port.get_names().empty() ? constants.end() : constants.find(port.get_any_name());
    if (values == constants.end()) continue;
    ov::Tensor tensor = request_.get_tensor(port);
    std::ranges::copy(values->second, tensor.data<float>());
  }
}

OpenVinoRequest::~OpenVinoRequest() {
  // Waits, since the callback uses the members.
  try {
    request_.wait();
  } catch (...) {  // `done` got the error already
  }
}

cv::Mat OpenVinoRequest::input() {
  if (shares_) {
    request_.set_input_tensor(picture_input_, own_input_);
    shares_ = false;
  }
  const ov::Shape shape = own_input_.get_shape();  // NHWC
  return {static_cast<int>(shape[1]), static_cast<int>(shape[2]), CV_8UC3, own_input_.data()};
}

bool OpenVinoRequest::share_input(const cv::Mat& picture) {
  const ov::Shape shape = own_input_.get_shape();
  const bool fits = picture.type() == CV_8UC3 && picture.isContinuous() &&
                    picture.rows == static_cast<int>(shape[1]) &&
                    picture.cols == static_cast<int>(shape[2]);
  if (!fits) return false;
  request_.set_input_tensor(picture_input_, ov::Tensor(ov::element::u8, shape, picture.data));
  shares_ = true;
  return true;
}

void OpenVinoRequest::start(Done done) {
  try {
    // Set for each start: OpenVINO takes the callback out while it runs, and `done` may start the
    // request again before OpenVINO puts it back. Then it may also be called a second time.
    request_.set_callback(
        [model = model_, once = std::move(done)](std::exception_ptr error) mutable {
          if (const Done first = std::exchange(once, nullptr))
            first(error ? described(model, std::move(error)) : nullptr);
        });
    request_.start_async();
  } catch (const std::exception& error) {
    std::rethrow_exception(failure(model_, std::string("cannot be started: ") + error.what()));
  }
}

void OpenVinoRequest::run() {
  try {
    request_.infer();
  } catch (...) {
    std::rethrow_exception(described(model_, std::current_exception()));
  }
}

std::span<const TensorView> OpenVinoRequest::outputs() {
  outputs_.resize(output_names_.size());
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const ov::Tensor tensor = request_.get_output_tensor(i);
    const ov::Shape& shape = tensor.get_shape();
    outputs_[i].name = output_names_[i];
    outputs_[i].shape.assign(shape.begin(), shape.end());
    outputs_[i].values = {std::as_const(tensor).data<float>(), tensor.get_size()};
  }
  return outputs_;
}

}  // namespace vcap
