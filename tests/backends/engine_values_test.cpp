// SPDX-License-Identifier: Apache-2.0
// Compares the outputs of engines with those of a loop over pixels.
#include <cmath>
#include <thread>
#include <tuple>

#include "backends/engine_conformance.hpp"

namespace vcap::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Colors = PictureInput::Colors;
using Layout = PictureInput::Layout;

class EngineValues : public EngineConformance {};

/// A pixel in the model's colours, normalised.
double value_at(const cv::Mat& picture, const PictureInput& input, int row, int column,
                int channel) {
  const cv::Vec3b bgr = picture.at<cv::Vec3b>(row, column);
  double value = 0;
  if (input.colors == Colors::gray)
    value = 0.114 * bgr[0] + 0.587 * bgr[1] + 0.299 * bgr[2];
  else
    value = bgr[input.colors == Colors::rgb ? 2 - channel : channel];
  const auto at = [&](const std::vector<double>& values) {
    return values[values.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
  };
  return (value - at(input.mean)) / at(input.scale);
}

/// The normalised picture plus one, as the models plus_one.onnx, gray.onnx and nhwc.onnx give it.
std::vector<double> plus_one(const cv::Mat& picture, const PictureInput& input,
                             bool channels_last) {
  const int channels = input.colors == Colors::gray ? 1 : 3;
  std::vector<double> values(picture.total() * static_cast<std::size_t>(channels));
  for (int y = 0; y < picture.rows; ++y)
    for (int x = 0; x < picture.cols; ++x)
      for (int c = 0; c < channels; ++c) {
        const int place = channels_last ? (y * picture.cols + x) * channels + c
                                        : (c * picture.rows + y) * picture.cols + x;
        values[static_cast<std::size_t>(place)] = value_at(picture, input, y, x, c) + 1;
      }
  return values;
}

void expect_near(const std::vector<float>& values, const std::vector<double>& expected,
                 double relative) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(values[i], expected[i], relative * std::max(1.0, std::abs(expected[i])))
        << "element " << i;
}

TEST_P(EngineValues, AreExactForEachLayoutColourMeanAndScale) {
  struct Numbers {
    std::vector<double> mean, scale;
    double tolerance;
  };
  // Powers of two and halves are not rounded, so only the correct formula gives them.
  const Numbers three[] = {
      {{0}, {1}, 0},        {{16}, {4}, 0},
      {{0}, {0.5}, 0},      {{16, 32.5, 64}, {2, 4, 0.5}, 0},
      {{127.5}, {-128}, 0}, {{123.675, 116.28, 103.53}, {58.395, 57.12, 57.375}, 2e-6}};
  const Numbers one[] = {{{0}, {1}, 2e-6}, {{16}, {4}, 2e-6}, {{127.5}, {255}, 2e-6}};
  int combinations = 0;
  for (const bool channels_last : {false, true})
    for (const bool told : {false, true})
      for (const Colors colors : {Colors::rgb, Colors::bgr})
        for (const Numbers& numbers : three) {
          input.colors = colors;
          input.layout = !told ? Layout::automatic : channels_last ? Layout::nhwc : Layout::nchw;
          input.mean = numbers.mean;
          input.scale = numbers.scale;
          const cv::Mat picture = noise(kPicture, static_cast<unsigned>(++combinations));
          const auto outputs =
              run(TestModel(channels_last ? "nhwc.onnx" : "plus_one.onnx"), picture);
          ASSERT_EQ(outputs.size(), 1u);
          EXPECT_EQ(outputs[0].shape, (channels_last ? std::vector<std::size_t>{1, 6, 10, 3}
                                                     : std::vector<std::size_t>{1, 3, 6, 10}));
          expect_near(outputs[0].values, plus_one(picture, input, channels_last),
                      numbers.tolerance);
          ASSERT_FALSE(HasFatalFailure()) << "combination " << combinations;
        }
  for (const Numbers& numbers : one) {
    input.colors = Colors::gray;
    input.layout = Layout::automatic;
    input.mean = numbers.mean;
    input.scale = numbers.scale;
    const cv::Mat picture = noise(kPicture, static_cast<unsigned>(++combinations));
    const auto outputs = run(TestModel("gray.onnx"), picture);
    expect_near(outputs.at(0).values, plus_one(picture, input, false), numbers.tolerance);
  }
  EXPECT_EQ(combinations, 2 * 2 * 2 * 6 + 3);
}

TEST_P(EngineValues, AreThoseOfOnePictureIfTheModelAcceptsAnyBatchSize) {
  const cv::Mat picture = noise(kPicture, 1);
  const auto outputs = run(TestModel("plus_one_any_batch.onnx"), picture);
  EXPECT_THAT(outputs.at(0).shape, ElementsAre(1, 3, 6, 10));
  expect_near(outputs.at(0).values, plus_one(picture, input, false), 0);
}

TEST_P(EngineValues, DependOnTheOrderOfColours) {
  const cv::Mat picture = noise(kPicture, 2);
  for (const Colors colors : {Colors::rgb, Colors::bgr}) {
    input.colors = colors;
    const auto outputs = run(TestModel("sum.onnx"), picture);
    std::vector<double> expected;
    for (int y = 0; y < picture.rows; ++y)
      for (int x = 0; x < picture.cols; ++x)
        expected.push_back(value_at(picture, input, y, x, 0) +
                           10 * value_at(picture, input, y, x, 1) +
                           100 * value_at(picture, input, y, x, 2));
    expect_near(outputs.at(0).values, expected, 0);
  }
}

TEST_P(EngineValues, EqualThoseOfALoopForAConvolution) {
  const cv::Mat picture = noise(kPicture, 3);
  const auto outputs = run(TestModel("convolution.onnx"), picture);
  std::vector<double> expected;
  for (int o = 0; o < 2; ++o)
    for (int y = 0; y < picture.rows; ++y)
      for (int x = 0; x < picture.cols; ++x) {
        double sum = 0;
        for (int c = 0; c < 3; ++c)
          for (int dy = 0; dy < 3; ++dy)
            for (int dx = 0; dx < 3; ++dx) {
              const int row = y + dy - 1, column = x + dx - 1;
              if (row < 0 || column < 0 || row >= picture.rows || column >= picture.cols) continue;
              const int weight = (((o * 3 + c) * 3 + dy) * 3 + dx) % 7 + 1;
              sum += weight * value_at(picture, input, row, column, c);
            }
        expected.push_back(sum);
      }
  EXPECT_THAT(outputs.at(0).shape, ElementsAre(1, 2, 6, 10));
  expect_near(outputs[0].values, expected, 0);
}

TEST_P(EngineValues, AreTheSameForCompressedWeightsAndFloatsWithAnyNumberOfStreams) {
  if (!able.reads_compressed_weights) {
    EXPECT_THAT(
        [&] { compile(TestModel("of_pixels_compressed.onnx")); },
        ThrowsError<EngineError>(ErrorCode::unreadable_model, HasSubstr("DequantizeLinear")));
    return;
  }
  std::vector<Output> expected;
  for (unsigned seed = 0; seed < 4; ++seed)
    expected.push_back(run(TestModel("of_pixels.onnx"), noise(kPicture, seed)).at(0));
  for (int compilation = 0; compilation < 60;
       ++compilation) {  // the engine's fault occurs at random
    settings.streams = static_cast<std::size_t>(compilation % 3) + 1;
    const auto compiled = compile(TestModel(
        compilation % 2 == 0 ? "of_pixels_compressed.onnx" : "of_pixels_compressed_flat.onnx"));
    std::vector<std::future<void>> callers;
    for (int caller = 0; caller < 4; ++caller)
      callers.push_back(std::async(std::launch::async, [&] {
        const auto request = compiled->make_request();
        for (unsigned i = 0; i < 4; ++i)
          EXPECT_EQ(run_picture(*request, noise(kPicture, i)).at(0).values, expected[i].values);
      }));
    for (auto& caller : callers) caller.get();
  }
}

TEST_P(EngineValues, FollowTheSizeIfTheModelAcceptsAnySize) {
  const TestModel model("scaling_any_size.onnx");
  for (const cv::Size size :
       {cv::Size(10, 6), cv::Size(1, 1), cv::Size(33, 7), cv::Size(7, 33), cv::Size(320, 1)}) {
    const auto compiled = compile(model, size);
    ASSERT_EQ(compiled->input_size(), size);
    const auto request = compiled->make_request();
    ASSERT_EQ(request->input().size(), size);
    ASSERT_EQ(request->input().type(), CV_8UC3);
    const cv::Mat picture = noise(size, 4);
    const auto outputs = run_picture(*request, picture);
    ASSERT_THAT(outputs.at(0).shape, ElementsAre(1, 1, static_cast<std::size_t>(size.height),
                                                 static_cast<std::size_t>(size.width)));
    std::vector<double> expected;
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        const auto bgr = picture.at<cv::Vec3b>(y, x);
        expected.push_back(2.0 * (bgr[0] + bgr[1] + bgr[2]));
      }
    expect_near(outputs[0].values, expected, 0);
  }
}

TEST_P(EngineValues, FollowAnotherSizeIfTheModelsOperationsSupportIt) {
  const auto compiled = compile(TestModel("scaling.onnx"), cv::Size(20, 12));
  EXPECT_EQ(compiled->input_size(), cv::Size(20, 12));
  const auto outputs = run_picture(*compiled->make_request(), noise({20, 12}, 5));
  EXPECT_THAT(outputs.at(0).shape, ElementsAre(1, 1, 12, 20));
}

TEST_P(EngineValues, UseTheModelsOwnSizeIfNoneIsGiven) {
  EXPECT_EQ(compile(TestModel("plus_one.onnx"), std::nullopt)->input_size(), kPicture);
  EXPECT_EQ(compile(TestModel("nhwc.onnx"), std::nullopt)->input_size(), kPicture);
}

TEST_P(EngineValues, HaveTheNamesAndTheOrderOfTheFile) {
  const cv::Mat picture = noise(kPicture, 6);
  const auto outputs = run(TestModel("two_outputs.onnx"), picture);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0].name, "first");
  EXPECT_EQ(outputs[1].name, "second");
  expect_near(outputs[0].values, plus_one(picture, input, false), 0);
  EXPECT_THAT(outputs[1].shape, ElementsAre(1, 1, 6, 10));
  // Here, the alphabetical order differs from the file's order.
  settings.constants["factor"] = {1, 2, 3, 4};
  const auto other = run(TestModel("flat_constant.onnx"), picture);
  ASSERT_EQ(other.size(), 2u);
  EXPECT_EQ(other[0].name, "values");
  EXPECT_EQ(other[1].name, "other");
}

TEST_P(EngineValues, BecomeFloatsIfTheOutputHasIntegers) {
  const cv::Mat picture = noise(kPicture, 7);
  const auto outputs = run(TestModel("arg_max.onnx"), picture);
  std::vector<double> expected;
  for (int y = 0; y < picture.rows; ++y)
    for (int x = 0; x < picture.cols; ++x) {
      int best = 0;
      for (int c = 1; c < 3; ++c)
        if (value_at(picture, input, y, x, c) > value_at(picture, input, y, x, best)) best = c;
      expected.push_back(best);
    }
  expect_near(outputs.at(0).values, expected, 0);
}

TEST_P(EngineValues, AreNanForNanWeights) {
  const auto outputs = run(TestModel("nan_weights.onnx"), noise(kPicture, 8));
  ASSERT_EQ(outputs.at(0).values.size(), 120u);
  EXPECT_TRUE(std::isnan(outputs[0].values[15]));
  EXPECT_FALSE(std::isnan(outputs[0].values[75]));  // the other channel, whose weights are sound
}

TEST_P(EngineValues, UseConstantsOfOtherInputs) {
  settings.constants["factor"] = {2, -3, 4.5f, 0};
  const cv::Mat picture = noise(kPicture, 9);
  const auto flat = run(TestModel("flat_constant.onnx"), picture);
  EXPECT_THAT(flat.at(1).values, ElementsAre(3, -2, 5.5f, 1));
  expect_near(flat.at(0).values, plus_one(picture, input, false), 0);

  // An input of four dimensions is no picture if it has a constant.
  settings.constants["factor"] = {2, 3, 4};
  const auto scaled = run(TestModel("picture_like_constant.onnx"), picture);
  std::vector<double> expected;
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < picture.rows; ++y)
      for (int x = 0; x < picture.cols; ++x)
        expected.push_back((c + 2) * value_at(picture, input, y, x, c));
  expect_near(scaled.at(0).values, expected, 0);
}

TEST_P(EngineValues, AreTheSameForASharedAndACopiedInput) {
  const auto compiled = compile(TestModel("two_outputs.onnx"));
  const auto request = compiled->make_request();
  for (unsigned seed = 0; seed < 20; ++seed) {
    const cv::Mat picture = noise(kPicture, seed);
    const auto copied = run_picture(*request, picture);
    ASSERT_TRUE(request->share_input(picture));
    run_request(*request);
    const auto shared = copy_outputs(*request);
    ASSERT_EQ(shared.size(), copied.size());
    for (std::size_t i = 0; i < copied.size(); ++i) EXPECT_EQ(shared[i].values, copied[i].values);
    EXPECT_EQ(cv::norm(picture, noise(kPicture, seed), cv::NORM_INF), 0);  // read only
  }
  // The request's own memory still works.
  const cv::Mat last = noise(kPicture, 99);
  EXPECT_EQ(run_picture(*request, last)[0].values,
            run(TestModel("two_outputs.onnx"), last)[0].values);
}

TEST_P(EngineValues, AreTakenFromSharedMemoryOnlyIfThePictureFits) {
  const auto compiled = compile(TestModel("plus_one.onnx"));
  const auto request = compiled->make_request();
  EXPECT_FALSE(request->share_input({}));
  EXPECT_FALSE(request->share_input(noise({11, 6}, 1)));
  EXPECT_FALSE(request->share_input(noise({6, 10}, 1)));
  EXPECT_FALSE(request->share_input(noise(kPicture, 1, CV_8UC1)));
  EXPECT_FALSE(request->share_input(noise(kPicture, 1, CV_8UC4)));
  EXPECT_FALSE(request->share_input(cv::Mat(kPicture, CV_32FC3, cv::Scalar(1))));
  EXPECT_FALSE(request->share_input(cv::Mat(std::vector<int>{6, 10, 4}, CV_8UC3, cv::Scalar(1))));
  // Rows with a gap between them are refused, or read correctly.
  const cv::Mat large = noise({30, 20}, 2);
  const cv::Mat view = large({5, 3, 10, 6});
  if (!request->share_input(view)) view.copyTo(request->input());
  run_request(*request);
  expect_near(copy_outputs(*request)[0].values, plus_one(view, input, false), 0);
}

TEST_P(EngineValues, StayValidUntilTheNextStart) {
  const auto compiled = compile(TestModel("plus_one.onnx"));
  const auto request = compiled->make_request(), other = compiled->make_request();
  const cv::Mat picture = noise(kPicture, 10);
  run_picture(*request, picture);
  const auto expected = plus_one(picture, input, false);
  const auto outputs = request->outputs();
  for (unsigned seed = 0; seed < 10; ++seed) run_picture(*other, noise(kPicture, seed));
  request->input().setTo(0);  // the next picture is written before the start
  const std::vector<float> values(outputs[0].values.begin(), outputs[0].values.end());
  expect_near(values, expected, 0);
}

TEST_P(EngineValues, AreTheSameInTheCallersThreadAndInTheEngines) {
  const auto compiled = compile(TestModel("convolution.onnx"));
  const auto request = compiled->make_request();
  for (unsigned seed = 0; seed < 20; ++seed) {
    const cv::Mat picture = noise(kPicture, seed);
    const auto started = run_picture(*request, picture);
    request->input().setTo(0);
    picture.copyTo(request->input());
    request->run();
    EXPECT_EQ(copy_outputs(*request)[0].values, started[0].values);
  }
}

TEST_P(EngineValues, AreTheSameForEachGoalAndNumberOfStreams) {
  const cv::Mat picture = noise(kPicture, 11);
  const auto expected = run(TestModel("convolution.onnx"), picture);
  for (const PerformanceGoal goal : {PerformanceGoal::latency, PerformanceGoal::throughput})
    for (const std::size_t streams : {1u, 2u}) {
      settings.goal = goal;
      settings.streams = streams;
      settings.threads = 2;
      const auto compiled = compile(TestModel("convolution.onnx"));
      EXPECT_GE(compiled->optimal_requests(), 1u);
      EXPECT_EQ(run_picture(*compiled->make_request(), picture)[0].values, expected[0].values);
    }
  EXPECT_GE(compile(TestModel("convolution.onnx"))->optimal_requests(), able.requests_at_once);
}

TEST_P(EngineValues, ComeFromIrIfTheEngineReadsIt) {
  const cv::Mat picture = noise(kPicture, 12);
  if (able.reads_ir) {
    const auto outputs = run(TestModel("plus_one.xml"), picture);
    EXPECT_EQ(outputs.at(0).name, "values");
    expect_near(outputs[0].values, plus_one(picture, input, false), 0);
  } else {
    EXPECT_THAT([&] { compile(TestModel("plus_one.xml")); },
                ThrowsError<EngineError>(ErrorCode::unreadable_model,
                                         AllOf(HasSubstr("plus_one.xml"), HasSubstr(".onnx"))));
  }
}

VCAP_INSTANTIATE_FOR_ENGINES(EngineValues);

TEST(Engines, AreFoundByName) {
  EXPECT_THAT(installed_engines(), testing::Contains("opencv_dnn"));
  for (const std::string& name : installed_engines()) {
    EXPECT_EQ(find_engine(name)->name(), name);
    EXPECT_FALSE(find_engine(name)->version().empty());
    EXPECT_THAT(find_engine(name)->devices(), testing::Contains("CPU"));
    const auto held = find_engine(name);
    EXPECT_EQ(find_engine(name), held);
  }
}

TEST(Engines, IncludeOpenVinoUnlessTheBuildWasConfiguredWithoutNetworks) {
  if (VCAP_WITHOUT_NETWORKS) GTEST_SKIP() << "configured with VCAP_WITHOUT_NETWORKS";
  EXPECT_THAT(installed_engines(), testing::Contains("openvino"))
      << "run cmake/fetch_wheel.sh openvino, then configure and build again, or leave it out: "
         "tests/run.sh --without-networks, or CMake's -DVCAP_WITHOUT_NETWORKS=ON";
}

TEST(Engines, AreListedIfTheNamedOneIsMissing) {
  for (const std::string name : {"tensorflow", "../libevil", "", "OpenVINO"})
    EXPECT_THAT([&] { find_engine(name); },
                ThrowsError<EngineError>(ErrorCode::engine_missing,
                                         AllOf(HasSubstr('"' + name + '"'), HasSubstr("opencv_dnn"),
                                               HasSubstr("install"))));
}

}  // namespace
}  // namespace vcap::test
