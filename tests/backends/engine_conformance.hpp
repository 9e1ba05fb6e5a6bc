// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "support/bounded_wait.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/backends/engine.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {

/// The size of the pictures that the models of models.py expect.
inline const cv::Size kPicture(10, 6);

/// What an engine can do. Tests expect its typed error for the rest; no test is skipped.
struct Capabilities {
  bool reads_ir = false;                  ///< OpenVINO's own format, weights in a second file
  bool reads_compressed_weights = false;  ///< weights of 8 bits with scales
  bool takes_shapes_from_pixels = true;   ///< tensors whose shape depends on the picture's values
  std::size_t requests_at_once = 1;       ///< minimum, with goal throughput and two streams
};

inline Capabilities capabilities_of(const std::string& engine) {
  if (engine == "openvino") return {true, true, true, 2};
  if (engine == "opencv_dnn") return {false, false, false, 1};
  return {};  // other engines: the minimum, until they have a line here
}

/// A model of models.py, or made of bytes by a test. Owns its bytes.
class TestModel {
 public:
  explicit TestModel(const std::string& name) : TestModel(name, read_model(name)) {
    if (name.ends_with(".xml")) weights_ = read_model("plus_one.bin");
  }
  TestModel(std::string name, std::string bytes, std::string weights = {})
      : name_(std::move(name)), bytes_(std::move(bytes)), weights_(std::move(weights)) {}

  ModelFile file() const {
    return {name_, std::as_bytes(std::span(bytes_)), std::as_bytes(std::span(weights_))};
  }
  const std::string& bytes() const { return bytes_; }
  const std::string& name() const { return name_; }

  static std::string read_model(const std::string& name) {
    return read_file(std::filesystem::path(test::built("tests/backends/models")) / name);
  }

 private:
  std::string name_, bytes_, weights_;
};

/// Pixels of pseudorandom values, which are the same in each run.
inline cv::Mat noise(cv::Size size, unsigned seed, int type = CV_8UC3) {
  cv::Mat picture(size, type);
  std::mt19937 random(seed);
  for (int row = 0; row < picture.rows; ++row)
    std::generate_n(picture.ptr(row), static_cast<std::size_t>(picture.cols) * picture.elemSize(),
                    [&] { return static_cast<unsigned char>(random()); });
  return picture;
}

/// An output that outlives its request.
struct Output {
  std::string name;
  std::vector<std::size_t> shape;
  std::vector<float> values;
};

inline std::vector<Output> copy_outputs(InferenceRequest& request) {
  std::vector<Output> outputs;
  for (const TensorView& tensor : request.outputs())
    outputs.push_back({tensor.name, tensor.shape, {tensor.values.begin(), tensor.values.end()}});
  return outputs;
}

/// Starts the request and waits for its end; throws its error if it fails.
inline void run_request(InferenceRequest& request) {
  const auto done = std::make_shared<std::promise<std::exception_ptr>>();
  std::future<std::exception_ptr> error = done->get_future();
  request.start([done](std::exception_ptr why) { done->set_value(std::move(why)); });
  if (error.wait_for(kLongestWait) != std::future_status::ready) fail_wait("the end of a request");
  if (const std::exception_ptr why = error.get()) std::rethrow_exception(why);
}

inline std::vector<Output> run_picture(InferenceRequest& request, const cv::Mat& picture) {
  picture.copyTo(request.input());
  run_request(request);
  return copy_outputs(request);
}

/// A test that runs on each engine that is installed.
class EngineConformance : public testing::TestWithParam<std::string> {
 protected:
  EngineConformance() : engine(find_engine(GetParam())), able(capabilities_of(GetParam())) {
    settings.precision = Precision::f32;  // the tests compare numbers
  }

  /// Keeps the model's bytes, which must outlive the compiled model.
  std::unique_ptr<CompiledModel> compile(TestModel model, std::optional<cv::Size> size = kPicture) {
    models_.push_back(std::move(model));
    return engine->compile(models_.back().file(), input, size, settings);
  }
  std::vector<Output> run(TestModel model, const cv::Mat& picture) {
    const auto compiled = compile(std::move(model), picture.size());
    return run_picture(*compiled->make_request(), picture);
  }

  const std::shared_ptr<Engine> engine;
  const Capabilities able;
  PictureInput input;
  EngineSettings settings;

 private:
  std::deque<TestModel> models_;
};

#define VCAP_INSTANTIATE_FOR_ENGINES(Suite)                                        \
  INSTANTIATE_TEST_SUITE_P(Engines, Suite, testing::ValuesIn(installed_engines()), \
                           [](const auto& description) { return description.param; })

}  // namespace vcap::test
