// SPDX-License-Identifier: Apache-2.0
// Broken or hostile files, and settings that do not fit: each gives a typed error that names the
// model and the remedy, and the engine still works.
#include <cstdlib>
#include <sstream>

#include "backends/engine_conformance.hpp"
#include "support/mutator.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

class EngineErrors : public EngineConformance {
 protected:
  void TearDown() override {
    // After any failure, the engine still works.
    input = {};
    settings = {};
    settings.precision = Precision::f32;
    EXPECT_EQ(run(TestModel("plus_one.onnx"), cv::Mat(kPicture, CV_8UC3, cv::Scalar::all(7)))
                  .at(0)
                  .values.at(0),
              8);
  }

  /// Compiles and runs the model. Gives `nullopt` for success, or the code of the error, which must
  /// be an EngineError that names the model.
  std::optional<ErrorCode> outcome_of(const TestModel& model) {
    try {
      const auto compiled = compile(model);
      run_picture(*compiled->make_request(), noise(kPicture, 1));
      return std::nullopt;
    } catch (const EngineError& error) {
      EXPECT_THAT(error.what(), HasSubstr("model " + model.name() + ": "));
      EXPECT_THAT(error.code(), AnyOf(ErrorCode::unreadable_model, ErrorCode::unsupported_model,
                                      ErrorCode::model_input, ErrorCode::inference_failed));
      return error.code();
    }
  }
};

struct BadFile {
  std::string name;
  ErrorCode code;
  std::string says;
  std::optional<ErrorCode> opencv{};  ///< the code of opencv_dnn if it differs
};

TEST_P(EngineErrors, NameTheModelTheFaultAndTheRemedy) {
  const BadFile files[] = {
      {"no_output.onnx", ErrorCode::unsupported_model, "has no output"},
      {"no_input.onnx", ErrorCode::unsupported_model, "inputs: none"},
      {"vector_input.onnx", ErrorCode::unsupported_model, "picture [1,4]"},
      {"custom_operation.onnx", ErrorCode::unsupported_model, "Frobnicate"},
      {"unknown_operation.onnx", ErrorCode::unsupported_model, "Frobnicate"},
      {"external_weights.onnx", ErrorCode::unreadable_model, "in one file"},
      {"huge_constant.onnx", ErrorCode::unsupported_model, "", ErrorCode::unreadable_model},
      {"two_outputs.tensor", ErrorCode::unreadable_model, "convert it to"},
  };
  for (const BadFile& file : files) {
    const std::string source = file.name.ends_with(".tensor") ? "two_outputs.onnx" : file.name;
    const TestModel model(file.name, TestModel::read_model(source));
    const ErrorCode code = GetParam() == "opencv_dnn" ? file.opencv.value_or(file.code) : file.code;
    EXPECT_THAT([&] { compile(model); },
                ThrowsError<EngineError>(code, AllOf(HasSubstr("model " + file.name + ": "),
                                                     HasSubstr(file.says), HasSubstr(";"))))
        << file.name;
  }
}

TEST_P(EngineErrors, SayThatAFileIsEmpty) {
  for (const std::string ending : {".onnx", ".xml", ".pb", ".tflite", ".cfg", ".prototxt", ""})
    EXPECT_THAT([&] { compile(TestModel("net" + ending, "")); },
                ThrowsError<EngineError>(ErrorCode::unreadable_model,
                                         HasSubstr("model net" + ending + ": is empty")));
}

TEST_P(EngineErrors, NameAFileWhoseFormatDiffersFromItsExtension) {
  const std::string text = "P6 10 6 255\n" + std::string(180, 'x');
  for (const std::string& content : {text, TestModel::read_model("slow.onnx").substr(0, 5000),
                                     std::string("{}"), std::string(4096, '\0')})
    for (const std::string ending : {".onnx", ".xml", ".pb", ".tflite"})
      EXPECT_THAT([&] { compile(TestModel("net" + ending, content, "1234")); },
                  testing::Throws<EngineError>(AllOf(
                      testing::Property(&EngineError::code, AnyOf(ErrorCode::unreadable_model,
                                                                  ErrorCode::unsupported_model)),
                      testing::Property(&EngineError::what, HasSubstr("model net" + ending)))))
          << ending << " " << content.substr(0, 20);
}

TEST_P(EngineErrors, NameATruncatedFile) {
  const TestModel whole("convolution.onnx");
  ASSERT_EQ(outcome_of(whole), std::nullopt);
  std::size_t refused = 0, cuts = 0;
  for (std::size_t size = 0; size < whole.bytes().size(); size += 7, ++cuts)
    if (outcome_of(TestModel("cut.onnx", whole.bytes().substr(0, size)))) ++refused;
  // The imported operator sets come last: a file without them may still be readable.
  EXPECT_GE(refused, cuts - 2);
}

TEST_P(EngineErrors, NameAFileOfRandomBytes) {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::string bytes(random() % 2000 + 1, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    EXPECT_NE(outcome_of(TestModel("random.onnx", bytes)), std::nullopt);
  }
}

TEST_P(EngineErrors, NeverBecomeCrashesIfBitsAreFlipped) {
  const char* const rounds = std::getenv("VCAP_MUTATIONS");  // for each model; default: 100
  const int count = rounds != nullptr ? std::atoi(rounds) : 100;
  std::size_t refused = 0;
  Mutator mutate(1);
  std::mt19937 random(2);
  for (const std::string name :
       {"convolution.onnx", "two_outputs.onnx", "own_size_only.onnx", "flat_constant.onnx"}) {
    const std::string whole = TestModel::read_model(name);
    for (int i = 0; i < count; ++i) {
      std::string bytes = whole;
      if (i % 2 == 0) {
        bytes = mutate(bytes);
      } else {
        for (std::size_t flips = random() % 3 + 1; flips > 0; --flips)
          bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
      }
      if (outcome_of(TestModel("flipped.onnx", bytes))) ++refused;
    }
  }
  EXPECT_GT(refused, 0u);
}

TEST_P(EngineErrors, ReportTensorsThatDoNotFitIntoMemory) {
  for (const std::string name : {"huge_constant.onnx", "huge_input.onnx", "huge_expand.onnx"}) {
    const auto own_size = [&] { compile(TestModel(name), std::nullopt); };
    EXPECT_THROW(own_size(), EngineError) << name;
  }
  EXPECT_THROW(compile(TestModel("huge_input.xml"), std::nullopt), EngineError);
  // If the pixels determine the tensor's size, the request fails and is ready for the next picture.
  if (!able.takes_shapes_from_pixels) {
    EXPECT_THAT([&] { compile(TestModel("huge_at_run_time.onnx")); },
                ThrowsError<EngineError>(ErrorCode::unreadable_model,
                                         HasSubstr("try the engine openvino")));
    return;
  }
  const auto compiled = compile(TestModel("huge_at_run_time.onnx"));
  const auto request = compiled->make_request();
  const auto white = [&] {
    run_picture(*request, cv::Mat(kPicture, CV_8UC3, cv::Scalar::all(255)));
  };
  EXPECT_THAT(white, ThrowsError<EngineError>(ErrorCode::inference_failed,
                                              HasSubstr("model huge_at_run_time.onnx: ")));
  const auto outputs = run_picture(*request, cv::Mat(kPicture, CV_8UC3, cv::Scalar::all(2)));
  EXPECT_EQ(outputs.at(0).values.size(), 32u);
}

TEST_P(EngineErrors, NameASizeThatDoesNotFit) {
  EXPECT_THAT([&] { compile(TestModel("own_size_only.onnx"), cv::Size(12, 6)); },
              testing::Throws<EngineError>(AllOf(
                  testing::Property(&EngineError::code,
                                    AnyOf(ErrorCode::model_input, ErrorCode::unsupported_model)),
                  testing::Property(&EngineError::what, AllOf(HasSubstr("own_size_only.onnx"),
                                                              HasSubstr("12"), HasSubstr("6"))))));
}

TEST_P(EngineErrors, AskForASizeIfTheModelHasNone) {
  EXPECT_THAT(
      [&] { compile(TestModel("scaling_any_size.onnx"), std::nullopt); },
      ThrowsError<EngineError>(ErrorCode::model_input, AllOf(HasSubstr("scaling_any_size.onnx"),
                                                             HasSubstr("[[640, 640]]"))));
}

TEST_P(EngineErrors, NameColoursThatTheModelDoesNotAccept) {
  input.colors = PictureInput::Colors::gray;
  EXPECT_THAT([&] { compile(TestModel("plus_one.onnx")); },
              ThrowsError<EngineError>(ErrorCode::model_input, HasSubstr("\"colors\"")));
  input.colors = PictureInput::Colors::rgb;
  EXPECT_THAT([&] { compile(TestModel("gray.onnx")); },
              ThrowsError<EngineError>(ErrorCode::model_input, HasSubstr("\"colors\"")));
  input.layout = PictureInput::Layout::nchw;
  EXPECT_THAT([&] { compile(TestModel("nhwc.onnx")); },
              ThrowsError<EngineError>(ErrorCode::model_input, HasSubstr("colors")));
}

TEST_P(EngineErrors, ListTheInputsIfTheNamedOneIsMissing) {
  input.name = "image";
  EXPECT_THAT([&] { compile(TestModel("plus_one.onnx")); },
              ThrowsError<EngineError>(ErrorCode::unsupported_model,
                                       AllOf(HasSubstr("\"image\""), HasSubstr("picture ["))));
}

TEST_P(EngineErrors, ListTheInputsIfSeveralCouldBeThePicture) {
  EXPECT_THAT([&] { compile(TestModel("picture_like_constant.onnx")); },
              ThrowsError<EngineError>(ErrorCode::unsupported_model,
                                       AllOf(HasSubstr("several inputs"), HasSubstr("picture ["),
                                             HasSubstr("factor ["))));
}

TEST_P(EngineErrors, NameTheInputOfAWrongConstant) {
  const TestModel model("flat_constant.onnx");
  EXPECT_THAT([&] { compile(model); },
              ThrowsError<EngineError>(ErrorCode::model_input, AllOf(HasSubstr("input factor"),
                                                                     HasSubstr("\"constants\""))));
  settings.constants["factor"] = {1, 2, 3};
  EXPECT_THAT([&] { compile(model); },
              ThrowsError<EngineError>(ErrorCode::model_input,
                                       AllOf(HasSubstr("input factor"), HasSubstr("3"))));
  settings.constants["factor"] = {1, 2, 3, 4};
  settings.constants["facto"] = {1};
  EXPECT_THAT([&] { compile(model); },
              ThrowsError<EngineError>(ErrorCode::model_input,
                                       AllOf(HasSubstr("\"facto\""), HasSubstr("factor ["))));
  settings.constants = {{"picture", {1, 2, 3}}, {"factor", {1, 2, 3, 4}}};
  EXPECT_THROW(compile(model), EngineError);
}

TEST_P(EngineErrors, ListTheDevicesIfTheNamedOneIsMissing) {
  for (const std::string device : {"TPU", "GPU.7", "GPU:9", "", "cpu", "MULTI:TPU,CPU"}) {
    settings.device = device;
    EXPECT_THAT([&] { compile(TestModel("plus_one.onnx")); },
                ThrowsError<DeviceError>(ErrorCode::unknown_device,
                                         AllOf(HasSubstr("plus_one.onnx"), HasSubstr("CPU"))))
        << device;
  }
  for (const std::string device : {"CPU", "CPU:0"}) {
    settings.device = device;
    EXPECT_NO_THROW(compile(TestModel("plus_one.onnx"))) << device;
  }
}

TEST_P(EngineErrors, NameTheFileOfAWrongIrModel) {
  if (!able.reads_ir) {
    EXPECT_THAT(
        [&] { compile(TestModel("net.xml", TestModel::read_model("plus_one.xml"), "1234")); },
        ThrowsError<EngineError>(ErrorCode::unreadable_model, HasSubstr("openvino")));
    return;
  }
  const std::string text = TestModel::read_model("plus_one.xml");
  EXPECT_THAT([&] { compile(TestModel("net.xml", text)); },
              ThrowsError<EngineError>(ErrorCode::unreadable_model,
                                       AllOf(HasSubstr("net.xml"), HasSubstr(".bin"))));
  EXPECT_THAT([&] { compile(TestModel("net.xml", text, "123")); },
              ThrowsError<EngineError>(ErrorCode::unreadable_model, HasSubstr("net.xml")));
  EXPECT_THAT([&] { compile(TestModel("weights_beyond_the_file.xml")); },
              ThrowsError<EngineError>(ErrorCode::unreadable_model,
                                       HasSubstr("weights_beyond_the_file.xml")));
  for (std::size_t size = 1; size < text.size(); size += 97)
    EXPECT_THROW(compile(TestModel("cut.xml", text.substr(0, size), "1234")), EngineError) << size;
  Mutator mutate(3);
  for (int i = 0; i < 100; ++i) outcome_of(TestModel("flipped.xml", mutate(text), "1234"));
}

TEST_P(EngineErrors, NameTheFileEvenWithoutATemporaryFolder) {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  ASSERT_EQ(::setenv("TMPDIR", "/proc", 1), 0);  // not writable
  for (const std::string ending : {".tflite", ".pb"})
    EXPECT_THAT([&] { compile(TestModel("net" + ending, "no model")); },
                ThrowsError<EngineError>(
                    ErrorCode::unreadable_model,
                    AllOf(HasSubstr("model net" + ending), testing::Not(HasSubstr("TMPDIR")))));
  if (before != nullptr)
    ::setenv("TMPDIR", kept.c_str(), 1);
  else
    ::unsetenv("TMPDIR");
}

VCAP_INSTANTIATE_FOR_ENGINES(EngineErrors);

}  // namespace
}  // namespace vcap::test
