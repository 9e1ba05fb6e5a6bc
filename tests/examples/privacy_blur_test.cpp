// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <vector>

#include "examples/face_counts.hpp"
#include "examples/streams.hpp"
#include "support/program_capsule.hpp"
#include "support/temporary_folder.hpp"
#include "support/video_pictures.hpp"
#include "vcap/algorithms/iou.hpp"

namespace {

using testing::SizeIs;

const cv::Rect kFace(40, 30, 60, 60);

/// Fine stripes, of which nothing is left once they are unreadable.
cv::Mat stripes() {
  cv::Mat picture(120, 160, CV_8UC3, cv::Scalar::all(20));
  for (int x = 0; x < picture.cols; x += 4)
    picture.colRange(x, x + 2).setTo(cv::Scalar(200, 220, 240));
  return picture;
}

vcap::DetectionNodes face_at(const cv::Rect& box) {
  return vcap::DetectionNodes::all(
      {{.name = "face", .coords = vcap::rect_to_coords(cv::Rect2d(box))}});
}

/// The standard deviation of the first channel.
double contrast(const cv::Mat& picture) {
  cv::Scalar mean, deviation;
  cv::meanStdDev(picture, mean, deviation);
  return deviation[0];
}

class PrivacyBlur : public testing::Test {
 protected:
  cv::Mat blurred(const cv::Mat& image, vcap::DetectionNodes nodes) {
    return capsule_->process_frame({.image = image}, std::move(nodes), options_)
        .pictures()
        .at("blurred");
  }

  std::shared_ptr<vcap::Capsule> capsule_ = examples::load("privacy_blur");
  vcap::OptionValues options_ = capsule_->default_options();
};

TEST_F(PrivacyBlur, LeavesNoDetailInAFaceAndTheRestAsItWas) {
  options_.set("margin", 0.0);
  const cv::Mat before = stripes();
  const cv::Mat given = before.clone();
  const cv::Mat after = blurred(given, face_at(kFace));
  EXPECT_GT(contrast(before(kFace)), 80);
  EXPECT_LT(contrast(after(kFace)), 10);
  const cv::Rect below(0, kFace.br().y, 160, 120 - kFace.br().y);
  EXPECT_EQ(cv::norm(after(below), before(below), cv::NORM_INF), 0);
  EXPECT_EQ(cv::norm(given, before, cv::NORM_INF), 0) << "the frame's own pixels";
}

TEST_F(PrivacyBlur, ReachesBeyondTheBoxByItsMargin) {
  const cv::Rect beside(kFace.x - 8, kFace.y, 8, kFace.height);
  options_.set("margin", 0.0);
  EXPECT_GT(contrast(blurred(stripes(), face_at(kFace))(beside)), 80);
  options_.set("margin", 0.2);
  EXPECT_LT(contrast(blurred(stripes(), face_at(kFace))(beside)), 20);
}

TEST_F(PrivacyBlur, TakesBoxesThatReachBeyondTheFrameOrHaveNoOutline) {
  for (const cv::Rect& box : {cv::Rect(-30, -30, 50, 50), cv::Rect(150, 100, 500, 500),
                              cv::Rect(900, 900, 10, 10), cv::Rect(10, 10, 0, 0)})
    EXPECT_EQ(blurred(stripes(), face_at(box)).size(), cv::Size(160, 120)) << box;
  const auto nothing = vcap::DetectionNodes::all({{.name = "person"}});
  EXPECT_EQ(cv::norm(blurred(stripes(), nothing), stripes(), cv::NORM_INF), 0);
}

TEST_F(PrivacyBlur, MakesAClipInWhichNoFaceCanBeRead) {
  const vcap::test::TemporaryFolder folder;
  const auto detector =
      vcap::test::program_capsule(vcap::test::finder_info("detector", "face"),
                                  [](const vcap::Frame&, auto&&...) { return face_at(kFace); });
  const std::shared_ptr<vcap::Sink> clip =
      vcap::make_picture_video_sink(folder / "clip.mp4", "blurred", 25);
  {
    vcap::Pipeline pipeline({capsule_, detector});
    pipeline.open_stream(
        {.id = "street",
         .source = std::make_unique<examples::Pictures>(std::vector<cv::Mat>(5, stripes())),
         .sinks = {clip}});
    const vcap::StreamReport report = pipeline.wait("street");
    EXPECT_EQ(report.errors, 0);
    EXPECT_EQ(report.failure.value_or(""), "");
  }
  clip->close();
  const auto frames = vcap::test::frames_in(folder / "clip.mp4");
  ASSERT_THAT(frames, SizeIs(5));
  for (const vcap::Frame& frame : frames) EXPECT_LT(contrast(frame.image(kFace)), 15);
}

TEST_F(PrivacyBlur, HidesAFaceInFramesNearTheOneInWhichItWasFound) {
  constexpr int kFound = 7;
  const auto detector = vcap::test::program_capsule(
      vcap::test::finder_info("detector", "face"), [](const vcap::Frame& frame, auto&&...) {
        return frame.index == kFound ? face_at(kFace) : vcap::DetectionNodes::all();
      });
  std::vector<double> contrasts;
  vcap::Pipeline pipeline({capsule_, detector});
  pipeline.open_stream(
      {.id = "street",
       .source = std::make_unique<examples::Pictures>(std::vector<cv::Mat>(15, stripes())),
       .sinks = {vcap::make_callback_sink([&](const vcap::FrameRecord& record) {
         contrasts.push_back(contrast(record.frame.pictures.at("blurred")(kFace)));
       })}});
  EXPECT_EQ(pipeline.wait("street").errors, 0);
  ASSERT_THAT(contrasts, SizeIs(15));
  for (int i = 0; i < 15; ++i) {
    const bool is_near = std::abs(i - kFound) <= 5;
    EXPECT_EQ(contrasts[static_cast<std::size_t>(i)] < 10, is_near) << "frame " << i;
  }
}

TEST_F(PrivacyBlur, TakesTheNeighboursThatTheHostChooses) {
  const auto narrow =
      vcap::load_capsule(examples::capsule_path("privacy_blur"),
                         {.devices = {"CPU:0"}, .stencil = vcap::Stencil{.offsets = {0, 1}}});
  const std::vector<vcap::Frame> window{{.image = stripes()},
                                        {.image = cv::Mat(120, 160, CV_8UC3), .index = 1}};
  std::vector<vcap::DetectionNodes> nodes{vcap::DetectionNodes::all(), face_at(kFace)};
  const cv::Mat after = narrow->process_window(window[0], window, nodes).pictures().at("blurred");
  EXPECT_LT(contrast(after(kFace)), 10);
  EXPECT_GT(contrast(after), 50) << "it is the present frame";
}

/// Which share of the pixels has the colour of the pixel to the left.
double flat_share(const cv::Mat& picture) {
  cv::Mat difference;
  cv::absdiff(picture.colRange(1, picture.cols), picture.colRange(0, picture.cols - 1), difference);
  const cv::Mat sums = difference.reshape(1, static_cast<int>(difference.total()));
  int flat = 0;
  for (int i = 0; i < sums.rows; ++i) flat += cv::countNonZero(sums.row(i)) == 0 ? 1 : 0;
  return flat / static_cast<double>(sums.rows);
}

/// Of faces that people have labelled, only squares are left. These are ten pixels wide or more, so
/// nine of ten pixels are as their neighbour; but some labels have hair beyond what is hidden.
TEST_F(PrivacyBlur, HidesEveryLabelledFaceThatIsPlainToSee) {
  REQUIRE_NETWORK("detector_face");
  const auto detector = examples::network("detector_face");
  const nlohmann::json all = examples::labels("faces");
  int faces = 0;
  for (const auto& [name, labels] : all.items()) {
    const cv::Mat before = examples::picture(name);
    const cv::Mat after = blurred(before, detector->process_frame({.image = before}));
    for (const nlohmann::json& label : labels) {
      if (label.at("ignore").get<bool>()) continue;
      const std::vector<int> box = label.at("box");
      const cv::Rect face(box[0], box[1], box[2], box[3]);
      EXPECT_GT(flat_share(after(face)), 0.7) << name;
      EXPECT_GT(flat_share(after(face)), flat_share(before(face)) + 0.2) << name;
      ++faces;
    }
  }
  EXPECT_EQ(faces, 5);
}

/// Now the detector finds the smaller face in the background, which it missed beside the large one.
TEST_F(PrivacyBlur, LeavesNoFaceWhereItsDetectorHadFoundOne) {
  REQUIRE_NETWORK("detector_face_fast");
  const cv::Mat frame = examples::read_frames(examples::footage("Megamind.avi"), 41).back();
  const auto detector = examples::network("detector_face_fast");
  vcap::DetectionNodes faces = detector->process_frame({.image = frame});
  ASSERT_THAT(faces, SizeIs(1));
  const vcap::BoundingBox hidden = faces.begin()->bbox();
  const cv::Mat after = blurred(frame, std::move(faces));
  for (const vcap::DetectionNode& left : detector->process_frame({.image = after}))
    EXPECT_EQ(vcap::iou(left.bbox(), hidden), 0);
}

}  // namespace
