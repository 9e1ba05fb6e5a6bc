// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/moving_people_detector.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <opencv2/imgproc.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "image/overlap.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::Lt;
using testing::SizeIs;
using People = std::vector<PersonBox>;

const cv::Size kYard(384, 288);
constexpr std::size_t kYardTiles = 12;  // tiles of 160 pixels; neighbours overlap by half
const HeightModel kTrueHeights(20, 0.25);
const std::array<cv::Scalar, 6> kColors{cv::Scalar(255, 0, 0),   {0, 255, 0},   {0, 0, 255},
                                        cv::Scalar(255, 255, 0), {255, 0, 255}, {0, 255, 255}};

/// A person with feet at this place, as tall as people are there.
Silhouette someone(double x, double feet) { return {x, feet, kTrueHeights.height_at(feet)}; }

BoundingBox box_around(const Silhouette& person) {
  const double half = 0.15 * person.height;
  return {person.x - half, person.feet - person.height, person.x + half, person.feet};
}

/// Draws a head and a body in one bright color.
void draw(cv::Mat& picture, const Silhouette& person, const cv::Scalar& color) {
  const auto part = [&](double from, double to, double width) {
    const double middle = person.feet - person.height * (1 - (from + to) / 2);
    cv::ellipse(
        picture,
        cv::RotatedRect(cv::Point2f(static_cast<float>(person.x), static_cast<float>(middle)),
                        cv::Size2f(static_cast<float>(person.height * width),
                                   static_cast<float>(person.height * (to - from))),
                        0),
        color, cv::FILLED);
  };
  part(0, 0.2, 0.14);
  part(0.12, 1, 0.3);
}

/// A gray picture with some texture and these people, the later ones in front.
cv::Mat picture_of(const std::vector<Silhouette>& people, cv::Size size = kYard, int gray = 90) {
  cv::Mat picture(size, CV_8UC3);
  cv::RNG random(3);
  random.fill(picture, cv::RNG::UNIFORM, gray - 6, gray + 6);
  for (std::size_t i = 0; i < people.size(); ++i)
    draw(picture, people[i], kColors[i % kColors.size()]);
  return picture;
}

/// A network that finds people by their colors, if they are whole on the picture.
struct FakeNetwork {
  std::vector<std::size_t> calls{};  ///< how many pictures each call had
  bool is_confused = false;          ///< it gives only the larger of two people near each other

  std::vector<People> operator()(const std::vector<cv::Mat>& pictures) {
    calls.push_back(pictures.size());
    std::vector<People> result;
    for (const cv::Mat& picture : pictures) result.push_back(people_on(picture));
    return result;
  }

  People people_on(const cv::Mat& picture) const {
    People people;
    for (const cv::Scalar& color : kColors) {
      cv::Mat1b mask;
      cv::inRange(picture, color, color, mask);
      cv::Mat1i labels, stats;
      cv::Mat1d centres;
      const int count = cv::connectedComponentsWithStats(mask, labels, stats, centres);
      for (int i = 1; i < count; ++i) {
        const cv::Rect box(stats(i, cv::CC_STAT_LEFT), stats(i, cv::CC_STAT_TOP),
                           stats(i, cv::CC_STAT_WIDTH), stats(i, cv::CC_STAT_HEIGHT));
        const bool is_whole = box.x > 0 && box.y > 0 && box.br().x < picture.cols &&
                              box.br().y < picture.rows && box.height >= 30;
        if (is_whole)
          people.push_back(
              {{double(box.x), double(box.y), double(box.br().x), double(box.br().y)}, 0.9});
      }
    }
    if (!is_confused) return people;
    std::ranges::sort(people, std::ranges::greater{},
                      [](const PersonBox& person) { return person.box.area(); });
    People kept;
    for (const PersonBox& person : people)
      if (std::ranges::none_of(kept, [&](const PersonBox& other) {
            const cv::Point2d apart = person.box.centre() - other.box.centre();
            return std::hypot(apart.x, apart.y) < 0.5 * other.box.height();
          }))
        kept.push_back(person);
    return kept;
  }
};

class MovingPeople : public testing::Test {
 protected:
  People show(const cv::Mat& picture, milliseconds step = milliseconds(100)) {
    network_.calls.clear();
    now_ += step;
    return detector_.detect(picture, now_, std::ref(network_));
  }
  People show(const std::vector<Silhouette>& people) { return show(picture_of(people)); }

  /// Shows nobody until the background is known.
  void show_nobody(cv::Size size = kYard) {
    for (int i = 0; i < 6; ++i) show(picture_of({}, size));
    ASSERT_TRUE(detector_.background().is_ready());
  }
  /// Shows nobody, then three people who walk apart from each other for two seconds.
  void calibrate(cv::Size size = kYard) {
    show_nobody(size);
    for (int i = 0; i < 20; ++i)
      show(picture_of(
          {someone(40 + 12 * i, 110), someone(60 + 12 * i, 190), someone(80 + 12 * i, 275)}, size));
    ASSERT_TRUE(detector_.is_calibrated());
    show(picture_of({}, size));
  }

  MovingPeopleDetector detector_;
  FakeNetwork network_;
  milliseconds now_{0};
};

/// Expects one box for each of these people, and no other box.
void expect_found(const People& found, const std::vector<Silhouette>& people,
                  double min_overlap = 0.6) {
  EXPECT_THAT(found, SizeIs(people.size()));
  for (const Silhouette& person : people)
    EXPECT_EQ(std::ranges::count_if(found,
                                    [&](const PersonBox& one) {
                                      return overlap(one.box, box_around(person)) > min_overlap;
                                    }),
              1)
        << person.x << ", " << person.feet;
}

TEST_F(MovingPeople, AreSearchedInTilesOfTheWholePictureUntilTheBackgroundIsKnown) {
  const std::vector<Silhouette> people{someone(100, 150), someone(250, 260)};
  for (int i = 0; i < 4; ++i) {
    expect_found(show(people), people, 0.8);
    EXPECT_THAT(network_.calls, ElementsAre(kYardTiles));
  }
}

TEST_F(MovingPeople, AreSearchedInTilesInWhichSomethingMovesUntilHeightsAreKnown) {
  show_nobody();
  EXPECT_THAT(network_.calls, IsEmpty()) << "nothing moves";
  const std::vector<Silhouette> people{someone(50, 150)};
  expect_found(show(people), people, 0.8);
  EXPECT_THAT(network_.calls, ElementsAre(AllOf(Ge(1u), Lt(kYardTiles))));
  EXPECT_FALSE(detector_.is_calibrated());
}

TEST_F(MovingPeople, ExcludePeopleThatTheNetworkFindsInTheBackground) {
  const Silhouette statue = someone(200, 200);
  for (int i = 0; i < 6; ++i) show({statue});
  const std::vector<Silhouette> both{statue, someone(150, 200)};
  ASSERT_THAT(network_.people_on(picture_of(both)), SizeIs(2));
  expect_found(show(both), {both[1]});
}

TEST_F(MovingPeople, AreFoundAtCropsOnceHeightsAreKnown) {
  calibrate();
  EXPECT_NEAR(detector_.heights().height_at(200), kTrueHeights.height_at(200), 4);
  EXPECT_THAT(network_.calls, IsEmpty()) << "nothing moves";
  const std::vector<Silhouette> people{someone(60, 120), someone(200, 200), someone(300, 270)};
  const People found = show(people);
  expect_found(found, people);
  EXPECT_THAT(network_.calls, ElementsAre(3u)) << "there is no second look at sure people";
  for (const PersonBox& person : found) EXPECT_GT(person.score, 0.8);
  EXPECT_TRUE(std::ranges::is_sorted(found, std::ranges::greater{}, &PersonBox::score));
}

TEST_F(MovingPeople, HaveTheHeightOfAPerson) {
  calibrate();
  const Silhouette child{200, 200, 0.5 * kTrueHeights.height_at(200)};
  const Silhouette giant{200, 280, 1.7 * kTrueHeights.height_at(280)};
  for (const Silhouette& wrong : {child, giant}) {
    ASSERT_THAT(network_.people_on(picture_of({wrong})), SizeIs(1));
    for (const PersonBox& person : show({wrong}))
      EXPECT_NEAR(person.box.height(), kTrueHeights.height_at(person.box.y2),
                  0.25 * person.box.height());
  }
}

TEST_F(MovingPeople, AreCheckedAgainIfAnotherPersonHidesThemFromTheNetwork) {
  calibrate();
  network_.is_confused = true;
  const std::vector<Silhouette> people{someone(172, 196), someone(150, 205)};
  ASSERT_THAT(network_.people_on(picture_of(people)), SizeIs(1));
  const People found = show(people);
  expect_found(found, people, 0.5);
  EXPECT_THAT(network_.calls, ElementsAre(1u, 1u));
  for (const PersonBox& person : found) EXPECT_GT(person.score, 0.6) << "0.5 at most without it";
}

TEST_F(MovingPeople, AreFoundOnceEachIfThereAreMany) {
  const cv::Size square(768, 576);
  calibrate(square);
  std::vector<Silhouette> people;
  for (const double feet : {140, 225, 335, 480})
    for (int i = 0; i < 10; ++i) people.push_back(someone(50 + 72 * i, feet));
  expect_found(show(picture_of(people, square)), people);
  EXPECT_LE(network_.calls.at(0), CropSettings().max_crops);
}

TEST_F(MovingPeople, BecomeBackgroundIfTheyStandStillButSearchFindsThem) {
  calibrate();
  const std::vector<Silhouette> people{someone(200, 200)};
  const cv::Mat picture = picture_of(people);
  expect_found(show(picture), people);
  for (int i = 0; i < 80; ++i) show(picture, milliseconds(500));
  EXPECT_THAT(show(picture), IsEmpty());
  expect_found(detector_.search(picture, std::ref(network_)), people, 0.8);
}

TEST_F(MovingPeople, AreSearchedInTheWholePictureWhileTheCameraMoves) {
  calibrate();
  const std::vector<Silhouette> people{someone(100, 150)};
  for (int i = 0; i < 4; ++i) {
    expect_found(show(picture_of(people, kYard, 130)), people, 0.8);
    EXPECT_THAT(network_.calls, ElementsAre(kYardTiles));
  }
  EXPECT_TRUE(detector_.is_calibrated());
  expect_found(show(people), people);
  EXPECT_THAT(network_.calls, ElementsAre(1u)) << "the camera shows the earlier view again";
}

TEST_F(MovingPeople, AreLearntAgainInANewView) {
  calibrate();
  for (int i = 0; i < 4; ++i) show(picture_of({}, kYard, 130));
  EXPECT_TRUE(detector_.is_calibrated());
  show(picture_of({}, kYard, 130));
  EXPECT_FALSE(detector_.is_calibrated());
  EXPECT_FALSE(detector_.heights().is_ready());
  for (int i = 0; i < 5; ++i) show(picture_of({}, kYard, 130));
  EXPECT_TRUE(detector_.background().is_ready());
  show(picture_of({}, kYard, 130));
  EXPECT_THAT(network_.calls, IsEmpty()) << "the new view is the background";
}

TEST_F(MovingPeople, AreLearntAgainInPicturesOfAnotherSize) {
  calibrate();
  const cv::Size larger(500, 300);
  const std::vector<Silhouette> people{someone(400, 200)};
  expect_found(show(picture_of(people, larger)), people, 0.8);
  EXPECT_FALSE(detector_.heights().is_ready());
  EXPECT_EQ(detector_.background().sample_count(), 1u);
  for (const cv::Size size : {cv::Size(1, 1), {3, 2}, {1, 300}, {641, 479}})
    for (int i = 0; i < 7; ++i) EXPECT_THAT(show(picture_of({}, size)), IsEmpty()) << size;
  calibrate();
}

TEST_F(MovingPeople, AreSearchedInTheWholePictureIfTheTimeStandsStill) {
  const std::vector<Silhouette> people{someone(100, 150)};
  for (int i = 0; i < 20; ++i) {
    expect_found(show(picture_of(people), milliseconds(0)), people, 0.8);
    EXPECT_THAT(network_.calls, ElementsAre(kYardTiles));
  }
  EXPECT_EQ(detector_.background().sample_count(), 1u);
}

TEST_F(MovingPeople, AddNoSampleOfHeightsIfTheTimeStandsStill) {
  calibrate();
  const std::vector<Silhouette> people{someone(100, 150)};
  show(picture_of(people), milliseconds(1000));
  const std::size_t samples = detector_.heights().sample_count();
  for (int i = 0; i < 5; ++i) expect_found(show(picture_of(people), milliseconds(0)), people);
  EXPECT_EQ(detector_.heights().sample_count(), samples);
  show(picture_of(people), milliseconds(400));
  EXPECT_EQ(detector_.heights().sample_count(), samples + 1);
}

TEST_F(MovingPeople, AreFoundIfTheTimeGoesBack) {
  calibrate();
  const std::size_t samples = detector_.heights().sample_count();
  now_ = milliseconds(0);
  for (int i = 0; i < 20; ++i) {
    const std::vector<Silhouette> people{someone(40 + 12 * i, 150)};
    expect_found(show(picture_of(people), milliseconds(i % 2 == 0 ? -5000 : 100)), people);
  }
  EXPECT_EQ(detector_.heights().sample_count(), samples + 10) << "one sample for each step back";
  EXPECT_TRUE(detector_.is_calibrated());
}

TEST_F(MovingPeople, AreFoundAsBeforeAfterPicturesAreRefused) {
  calibrate();
  const auto refuses = [&](const cv::Mat& picture, const std::string& text) {
    EXPECT_THAT([&] { show(picture); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(text)));
    EXPECT_THAT([&] { detector_.search(picture, std::ref(network_)); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(text)));
  };
  refuses(cv::Mat(), "no pixels");
  refuses(cv::Mat(kYard, CV_8UC1, cv::Scalar()), "CV_8UC3");
  EXPECT_THAT([&] { detector_.detect(picture_of({}), now_, nullptr); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("network")));
  EXPECT_TRUE(detector_.is_calibrated());
  const std::vector<Silhouette> people{someone(200, 200)};
  expect_found(show(people), people);
}

TEST_F(MovingPeople, AreFoundAsBeforeAfterTheNetworkThrew) {
  const std::vector<Silhouette> people{someone(172, 196), someone(150, 205)};
  const auto throws_at_call = [&](int call) {
    int calls = 0;
    now_ += milliseconds(100);
    EXPECT_THAT(
        [&] {
          detector_.detect(picture_of(people), now_,
                           [&](std::vector<cv::Mat> pictures) -> std::vector<People> {
                             if (++calls == call) throw std::runtime_error("out of memory");
                             return network_(pictures);
                           });
        },
        testing::ThrowsMessage<std::runtime_error>("out of memory"));
    EXPECT_EQ(calls, call);
  };
  throws_at_call(1);  // the search of the whole picture
  calibrate();
  network_.is_confused = true;
  throws_at_call(1);
  throws_at_call(2);
  EXPECT_TRUE(detector_.is_calibrated());
  expect_found(show(people), people, 0.5);
}

TEST_F(MovingPeople, AreRefusedIfTheNetworkBreaksItsContract) {
  calibrate();
  const cv::Mat picture = picture_of({someone(172, 196), someone(150, 205)});
  using Network = PersonNetwork;
  const auto count_of = [](std::size_t count) -> Network {
    return [count](const auto&) { return std::vector<People>(count); };
  };
  const auto all_give = [](const PersonBox& person) -> Network {
    return [person](const auto& pictures) {
      return std::vector<People>(pictures.size(), People{person});
    };
  };
  const auto refuses_count = [&](const Network& network, const std::string& text) {
    EXPECT_THAT([&] { detector_.detect(picture, now_, network); },
                ThrowsError<BatchError>(ErrorCode::batch_result_count, HasSubstr(text)));
  };
  refuses_count(count_of(0), "0 lists for 1 pictures");
  refuses_count(count_of(3), "3 lists for 1 pictures");
  bool is_first = true;
  refuses_count(
      [&](const auto& pictures) {
        return std::vector<People>(std::exchange(is_first, false) ? pictures.size() : 7);
      },
      "7 lists for 2 pictures");
  EXPECT_THAT(
      [&] { detector_.search(picture, count_of(1)); },
      ThrowsError<BatchError>(ErrorCode::batch_result_count, HasSubstr("1 lists for 12 pictures")));
  constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
  for (const PersonBox& wrong : {PersonBox{{kNotANumber, 0, 5, 9}, 0.5},
                                 {{0, 0, 5, 1 / 0.0}, 0.5},
                                 {{0, 0, 5, 9}, kNotANumber},
                                 {{0, 0, 5, 9}, 1.5},
                                 {{0, 0, 5, 9}, -1}})
    EXPECT_THAT([&] { detector_.detect(picture, now_, all_give(wrong)); },
                ThrowsError<EngineError>(ErrorCode::model_output, HasSubstr("finite")));
  EXPECT_TRUE(detector_.is_calibrated());
}

TEST_F(MovingPeople, AreGivenInPicturesThatTheNetworkMayKeep) {
  calibrate();
  const cv::Mat picture = picture_of({someone(172, 196), someone(150, 205)});
  const cv::Mat before = picture.clone();
  std::vector<cv::Mat> kept;
  detector_.detect(picture, now_, [&](const std::vector<cv::Mat>& pictures) {
    std::ranges::copy(pictures, std::back_inserter(kept));
    return std::vector<People>(pictures.size());
  });
  EXPECT_EQ(cv::norm(picture, before, cv::NORM_INF), 0) << "the frame was written to";
  EXPECT_THAT(kept, SizeIs(3)) << "one crop around both, and one of each";
  for (const cv::Mat& one : kept) EXPECT_EQ(one.type(), CV_8UC3);
}

TEST_F(MovingPeople, AreFoundByAnIndependentCopy) {
  calibrate();
  MovingPeopleDetector copy = detector_, assigned;
  assigned = copy;
  const std::vector<Silhouette> people{someone(60, 120), someone(200, 200)};
  for (int i = 0; i < 60; ++i) show(picture_of({}, kYard, 130));
  EXPECT_FALSE(detector_.is_calibrated());
  for (MovingPeopleDetector* one : {&copy, &assigned}) {
    EXPECT_TRUE(one->is_calibrated());
    expect_found(one->detect(picture_of(people), milliseconds(3000), std::ref(network_)), people);
  }
}

TEST_F(MovingPeople, AreTheSameWithOrWithoutASearchInBetween) {
  calibrate();
  MovingPeopleDetector copy = detector_;
  const cv::Mat picture = picture_of({someone(60, 120), someone(172, 196), someone(150, 205)});
  const People searched = copy.search(picture, std::ref(network_));
  EXPECT_EQ(searched, MovingPeopleDetector().search(picture, std::ref(network_)));
  const People found = show(picture);
  EXPECT_EQ(copy.detect(picture, now_, std::ref(network_)), found);
}

TEST_F(MovingPeople, AreSearchedInTheTilesThatWereSetLast) {
  detector_.set_tiling({.tile = kYard, .overlap = 0});
  show(picture_of({}));
  EXPECT_THAT(network_.calls, ElementsAre(1u));
  EXPECT_EQ(detector_.settings().tiling.tile, kYard);
  EXPECT_THROW(detector_.set_tiling({.tile = {0, 5}}), InvalidArgument);
  EXPECT_EQ(detector_.settings().tiling.tile, kYard);
}

TEST_F(MovingPeople, AreForgottenAtAReset) {
  calibrate();
  detector_.reset();
  EXPECT_FALSE(detector_.is_calibrated());
  EXPECT_EQ(detector_.background().sample_count(), 0u);
  calibrate();
}

TEST(MovingPeopleDetector, RefusesWrongSettings) {
  using Settings = MovingPeopleSettings;
  const std::vector<std::pair<Settings, std::string>> wrong{
      {{.background = {.samples = 2}}, "samples 2"},
      {{.heights = {.tolerance = 0}}, "tolerance 0"},
      {{.crops = {.side = 0}}, "side 0"},
      {{.silhouettes = {.noise = 0}}, "noise 0"},
      {{.tiling = {.tile = {0, 160}}}, "0x160"},
      {{.blob_threshold = -1}, "blob_threshold -1"},
      {{.silhouette_threshold = 256}, "silhouette_threshold 256"},
      {{.max_foreground = 1.5}, "max_foreground 1.5"},
      {{.new_view_frames = 0}, "new_view_frames 0"},
      {{.min_box_foreground = -0.5}, "min_box_foreground -0.5"},
      {{.min_height = 0}, "min_height 0"},
      {{.max_height = 0.5}, "max_height 0.5"},
      {{.max_overlap = 1.5}, "max_overlap 1.5"},
      {{.max_tile_overlap = -1}, "max_tile_overlap -1"},
      {{.sure_evidence = 2}, "sure_evidence 2"},
      {{.min_learning_score = 2}, "min_learning_score 2"},
      {{.learning_interval = milliseconds(-1)}, "learning_interval"}};
  for (const auto& [settings, text] : wrong)
    EXPECT_THAT([&settings = settings] { MovingPeopleDetector detector(settings); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(text)))
        << text;
}

}  // namespace
}  // namespace vcap
