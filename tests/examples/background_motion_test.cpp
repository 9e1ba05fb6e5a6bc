// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <opencv2/imgproc.hpp>

#include "examples/streams.hpp"

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Moving = std::vector<vcap::BoundingBox>;

const cv::Size kYard(160, 120);

vcap::BoundingBox box_of(const cv::Rect& rect) {
  return vcap::BoundingBox::around(vcap::rect_to_coords(cv::Rect2d(rect)));
}

cv::Mat wall(cv::Size size = kYard) { return cv::Mat(size, CV_8UC3, cv::Scalar(90, 110, 100)); }

cv::Mat wall_with(const cv::Rect& thing, int brightness = 220) {
  cv::Mat picture = wall();
  picture(thing) = cv::Scalar::all(brightness);
  return picture;
}

/// Camera noise over the wall, and a thing that moves. A lamp is on at first, and flashes later: a
/// background model that has seen it on keeps its light as background for long.
cv::Mat noisy_yard(std::int64_t index) {
  cv::Mat noise(kYard / 4, CV_16SC3), picture;
  cv::RNG(static_cast<std::uint64_t>(index) + 1).fill(noise, cv::RNG::NORMAL, 100, 12);
  noise.convertTo(picture, CV_8U);
  if (index < 300 || index % 20 == 0) picture(cv::Rect(30, 20, 10, 10)) = cv::Scalar::all(250);
  picture(cv::Rect(static_cast<int>(index * 7 % 24), static_cast<int>(index % 20), 6, 6)) =
      cv::Scalar::all(200);
  return picture;
}

/// Sends a stream through the capsule, one frame at a time.
class YardStream {
 public:
  YardStream(std::shared_ptr<vcap::Capsule> capsule, std::string id, std::int64_t first = 0)
      : capsule_(std::move(capsule)),
        id_(std::move(id)),
        options_(capsule_->default_options()),
        index_(first) {}

  vcap::OptionValues& options() { return options_; }

  Moving show(const cv::Mat& picture,
              vcap::Discontinuity discontinuity = vcap::Discontinuity::none) {
    const vcap::Frame frame{.image = picture, .index = index_++, .discontinuity = discontinuity};
    Moving boxes;
    for (const vcap::DetectionNode& node : capsule_->process_frame(frame, {}, options_, id_)) {
      EXPECT_EQ(node.name, "moving");
      boxes.push_back(node.bbox());
    }
    return boxes;
  }

  void learn(int frames, const cv::Mat& picture = wall()) {
    for (int i = 0; i < frames; ++i) show(picture);
  }

 private:
  std::shared_ptr<vcap::Capsule> capsule_;
  std::string id_;
  vcap::OptionValues options_;
  std::int64_t index_;
};

class BackgroundMotion : public testing::Test {
 protected:
  std::shared_ptr<vcap::Capsule> capsule_ = examples::load("background_motion");
  YardStream stream_{capsule_, "yard"};
};

TEST_F(BackgroundMotion, FindsNothingIfNothingMoves) {
  for (int i = 0; i < 400; ++i) EXPECT_THAT(stream_.show(wall()), IsEmpty()) << "frame " << i;
}

TEST_F(BackgroundMotion, FindsAThingThatMovesInFrontOfTheWall) {
  stream_.learn(20);
  for (int i = 0; i < 80; ++i) {  // across all changes of the model
    stream_.learn(4);             // a thing that is often at a place becomes background
    const cv::Rect thing(i * 11 % 120, 30 + i % 40, 30, 40);
    EXPECT_THAT(stream_.show(wall_with(thing)), ElementsAre(box_of(thing))) << "time " << i;
  }
}

TEST_F(BackgroundMotion, GivesPositionsInLargeFramesToo) {
  stream_.learn(20, wall({1280, 960}));
  cv::Mat picture = wall({1280, 960});
  const cv::Rect thing(400, 320, 120, 240);
  picture(thing) = cv::Scalar::all(220);
  EXPECT_THAT(stream_.show(picture), ElementsAre(box_of(thing)));
}

TEST_F(BackgroundMotion, FindsEachOfTwoThings) {
  stream_.learn(20);
  cv::Mat picture = wall_with({10, 10, 30, 30});
  picture(cv::Rect(100, 60, 30, 30)) = cv::Scalar::all(20);
  EXPECT_THAT(stream_.show(picture),
              ElementsAre(box_of({10, 10, 30, 30}), box_of({100, 60, 30, 30})));
}

TEST_F(BackgroundMotion, TreatsAThingThatStaysAsBackground) {
  stream_.learn(20);
  const cv::Mat parked = wall_with({40, 40, 40, 40});
  EXPECT_EQ(stream_.show(parked).size(), 1u);
  stream_.learn(300, parked);
  EXPECT_THAT(stream_.show(parked), IsEmpty());
  EXPECT_EQ(stream_.show(wall()).size(), 1u) << "the uncovered wall counts as new";
}

TEST_F(BackgroundMotion, RequiresTheAreaOfItsOption) {
  stream_.learn(20);
  const cv::Mat small = wall_with({40, 40, 19, 21});  // 399 pixels
  EXPECT_THAT(stream_.show(small), IsEmpty());
  stream_.options().set("min_area", 399);
  EXPECT_EQ(stream_.show(small).size(), 1u);
}

TEST_F(BackgroundMotion, IgnoresSpecks) {
  stream_.options().set("min_area", 1);
  stream_.learn(20);
  EXPECT_THAT(stream_.show(wall_with({40, 40, 2, 60})), IsEmpty());
  EXPECT_EQ(stream_.show(wall_with({40, 40, 3, 3})).size(), 1u);
}

TEST_F(BackgroundMotion, RequiresTheContrastOfItsOption) {
  stream_.learn(20);
  const cv::Mat pale = wall_with({40, 40, 40, 40}, 125);  // the wall's gray is 105
  stream_.options().set("threshold", 1000);
  EXPECT_THAT(stream_.show(pale), IsEmpty());
  stream_.options().set("threshold", 16);
  EXPECT_EQ(stream_.show(pale).size(), 1u);
}

TEST_F(BackgroundMotion, LearnsAgainAfterASeekOrAChangeOfSize) {
  const cv::Mat other(kYard, CV_8UC3, cv::Scalar::all(200));
  stream_.learn(200);
  EXPECT_THAT(stream_.show(other, vcap::Discontinuity::seek), IsEmpty());
  EXPECT_THAT(stream_.show(other), IsEmpty());
  EXPECT_EQ(stream_.show(wall()).size(), 1u);
  EXPECT_THAT(stream_.show(wall({80, 90})), IsEmpty()) << "another size";
  EXPECT_THAT(stream_.show(wall({80, 90})), IsEmpty());
}

TEST_F(BackgroundMotion, AcceptsPicturesOfAnySize) {
  for (const cv::Size size : {cv::Size(1, 1), {3, 2}, {5000, 1}, {641, 479}})
    for (int i = 0; i < 3; ++i) EXPECT_THAT(stream_.show(wall(size)), IsEmpty()) << size;
}

// The capsule declares that frames before its warm-up have no effect.
TEST_F(BackgroundMotion, DependsOnlyOnItsWarmUp) {
  const std::int64_t warmup = capsule_->info().warmup.value();
  constexpr std::int64_t end = 760;
  const auto boxes_from = [&](std::int64_t first) {
    YardStream stream(capsule_, "from " + std::to_string(first), first);
    stream.options().set("min_area", 1);
    stream.options().set("threshold", 4);
    std::vector<Moving> boxes(static_cast<std::size_t>(first));
    for (std::int64_t i = first; i < end; ++i) boxes.push_back(stream.show(noisy_yard(i)));
    return boxes;
  };
  const auto same_from = [&](const std::vector<Moving>& one, const std::vector<Moving>& other) {
    std::int64_t index = end;
    while (index > 0 &&
           one[static_cast<std::size_t>(index - 1)] == other[static_cast<std::size_t>(index - 1)])
      --index;
    return index;
  };
  const std::vector<Moving> whole = boxes_from(0);
  for (const std::int64_t first : {1, 10, 149, 150, 151, 260, 299, 300, 301, 440}) {
    const std::int64_t same = same_from(whole, boxes_from(first));
    EXPECT_LE(same, first + warmup) << "begun at " << first;
    EXPECT_GT(same, first + warmup / 4) << "the pictures do not test what was learnt";
  }
}

TEST_F(BackgroundMotion, GivesTheSameWithAnyNumberOfThreads) {
  EXPECT_TRUE(examples::gives_the_same_with_any_threads(
      capsule_, examples::read_frames(examples::footage(), 40)));
}

}  // namespace
