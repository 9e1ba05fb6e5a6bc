// SPDX-License-Identifier: Apache-2.0
// Results of readers that capsules give as pictures: the code of docs/backends.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>

#include "backends/fake_engine.hpp"
#include "support/pipeline_helpers.hpp"
#include "support/program_capsule.hpp"
#include "vcap/backends/dense_reader.hpp"
#include "vcap/backends/model_backend.hpp"
#include "vcap/backends/segmentation_reader.hpp"

namespace vcap::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// [mask]
class Segmenter final : public vcap::ModelBackend<vcap::Segmentation> {
 public:
  using ModelBackend::ModelBackend;

  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes,
                                     const vcap::OptionValues&, vcap::BaseStreamState&) override {
    vcap::DetectionNodes output = vcap::DetectionNodes::none();
    output.give_picture("mask", predict(frame.image).labels);
    return output;
  }
};
// [/mask]

class DepthPredictor final : public ModelBackend<DepthMap> {
 public:
  using ModelBackend::ModelBackend;

  DetectionNodes process_frame(const Frame& frame, DetectionNodes, const OptionValues&,
                               BaseStreamState&) override {
    DetectionNodes output = DetectionNodes::none();
    // [depth]
    output.give_picture("depth", predict(frame.image).values);
    // [/depth]
    return output;
  }
};

/// A capsule whose backend runs the model of a fake engine.
template <class Predictor, class Reader>
std::shared_ptr<Capsule> predictor_of(CapsuleInfo info, std::shared_ptr<FakePlan> plan,
                                      Reader reader) {
  info.version = 1;
  return program_capsule(std::move(info), [plan = std::move(plan), reader = std::move(reader)] {
    auto runner = std::make_shared<ModelRunner>(std::make_shared<FakeEngine>(plan), ModelFile{},
                                                PictureInput{}, EngineSettings{});
    return std::unique_ptr<Backend>(std::make_unique<Predictor>(std::move(runner), reader));
  });
}

CapsuleInfo segmenter_info() {
  CapsuleInfo info{.name = "segmenter"};
  // [declare-mask]
  info.gives_pictures = {{.name = "mask", .type = CV_8UC1}};
  // [/declare-mask]
  return info;
}

CapsuleInfo depth_info() {
  CapsuleInfo info{.name = "depth_predictor"};
  // [declare-depth]
  info.gives_pictures = {{.name = "depth", .type = CV_32FC1}};
  // [/declare-depth]
  return info;
}

/// A later capsule: takes that picture, and gives the numbers that `read` finds in it.
std::shared_ptr<Capsule> picture_reader(PictureDescription taken,
                                        std::function<std::vector<double>(const cv::Mat&)> read) {
  CapsuleInfo info = finder_info("picture_reader", "pixels");
  info.output_type.extra_data = {"values"};
  info.takes_pictures = {taken};
  return make_capsule(
      info, [read = std::move(read), name = taken.name](const Frame& frame, auto&&...) {
        return DetectionNodes::all(
            {{.name = "pixels", .extra_data = {{"values", read(frame.pictures.at(name))}}}});
      });
}

/// What the reader found in each of that many frames, which are 16 pixels wide and 12 high.
std::vector<std::vector<double>> values_of(std::vector<std::shared_ptr<Capsule>> capsules,
                                           int frames) {
  Pipeline pipeline(std::move(capsules));
  std::vector<std::vector<double>> values;
  for (const FrameRecord& record : run(pipeline, {.source = make_source(frames)})) {
    EXPECT_THAT(record.errors, IsEmpty());
    EXPECT_THAT(record.warnings, IsEmpty());
    for (const DetectionNode& node : record.objects)
      values.push_back(node.extra_data.at("values").get<std::vector<double>>());
  }
  return values;
}

TEST(ReaderPictures, OfSegmentationHaveALabelForEachPixel) {
  const auto plan = std::make_shared<FakePlan>();
  plan->constants = {{"labels", {3, 0, 2, 1}}};
  plan->shapes = {{"labels", {1, 2, 2}}};
  SegmentationSettings settings{.form = SegmentationSettings::Form::labels, .classes = 4};
  settings.output.name = "labels";
  const auto corners = [](const cv::Mat& mask) {
    return std::vector<double>{double(mask.at<uchar>(0, 0)), double(mask.at<uchar>(0, 15)),
                               double(mask.at<uchar>(11, 0)), double(mask.at<uchar>(11, 15))};
  };
  EXPECT_THAT(
      values_of({picture_reader(segmenter_info().gives_pictures[0], corners),
                 predictor_of<Segmenter>(segmenter_info(), plan, SegmentationReader(settings))},
                2),
      ElementsAre(ElementsAre(3, 0, 2, 1), ElementsAre(3, 0, 2, 1)));
}

TEST(ReaderPictures, OfDepthBelongToTheirFrame) {
  const auto plan = std::make_shared<FakePlan>();
  plan->shapes = {{"value", {1, 1, 1}}};  // the brightness of the picture, and so the frame's index
  DepthSettings settings;
  settings.output.name = "value";
  const auto corner = [](const cv::Mat& depth) {
    return std::vector<double>{double(depth.at<float>(11, 15))};
  };
  EXPECT_THAT(values_of({picture_reader(depth_info().gives_pictures[0], corner),
                         predictor_of<DepthPredictor>(depth_info(), plan, DepthReader(settings))},
                        4),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2), ElementsAre(3)));
}

}  // namespace
}  // namespace vcap::test
