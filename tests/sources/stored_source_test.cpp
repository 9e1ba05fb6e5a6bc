// SPDX-License-Identifier: Apache-2.0
// Parts of stored sources: ranges, strides, loops.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include <opencv2/imgcodecs.hpp>

#include "support/clip_writer.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/sources/source.hpp"

namespace vcap::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// Ten images, 40 ms each; the grey value of each is its number.
class StoredSources : public testing::Test {
 protected:
  StoredSources() {
    for (int i = 0; i < 10; ++i)
      cv::imwrite((folder_ / (std::to_string(i) + ".png")).string(),
                  cv::Mat(4, 4, CV_8UC3, cv::Scalar::all(i)));
  }

  std::unique_ptr<Source> open(const SourceOptions& options) const {
    return open_source(folder_.path().string(), options);
  }
  /// The numbers of the images that the source gives, at most `most`.
  std::vector<int> numbers(const SourceOptions& options, std::size_t most = 100) const {
    const auto source = open(options);
    std::vector<int> numbers;
    while (numbers.size() < most) {
      const std::optional<Frame> frame = source->read();
      if (!frame) break;
      EXPECT_EQ(frame->index, static_cast<std::int64_t>(numbers.size()));
      numbers.push_back(frame->image.at<cv::Vec3b>(0, 0)[0]);
    }
    if (source->info().frames && numbers.size() < most) {
      EXPECT_EQ(*source->info().frames, static_cast<std::int64_t>(numbers.size()));
    }
    return numbers;
  }

  const TemporaryFolder folder_;
};

TEST_F(StoredSources, BeginAtTheFirstFrameAtOrAfterTheStart) {
  EXPECT_THAT(numbers({.start = milliseconds(320)}), ElementsAre(8, 9));
  EXPECT_THAT(numbers({.start = milliseconds(281)}), ElementsAre(8, 9));
  const auto source = open({.start = milliseconds(320)});
  const std::optional<Frame> first = source->read();
  EXPECT_EQ(first->pts, milliseconds(320)) << "the time must be that in the whole clip";
  EXPECT_EQ(first->discontinuity, Discontinuity::start);
  EXPECT_EQ(source->read()->discontinuity, Discontinuity::none);
}

TEST_F(StoredSources, StopBeforeTheEndOfTheRange) {
  EXPECT_THAT(numbers({.end = milliseconds(80)}), ElementsAre(0, 1));
  EXPECT_THAT(numbers({.end = milliseconds(81)}), ElementsAre(0, 1, 2));
  EXPECT_THAT(numbers({.start = milliseconds(40), .end = milliseconds(80)}), ElementsAre(1));
  EXPECT_THAT(numbers({.start = milliseconds(320), .end = seconds(100)}), ElementsAre(8, 9));
}

TEST_F(StoredSources, GiveEveryFourthFrame) {
  EXPECT_THAT(numbers({.stride = 4}), ElementsAre(0, 4, 8));
  EXPECT_THAT(numbers({.start = milliseconds(40), .stride = 9}), ElementsAre(1));
  EXPECT_THAT(numbers({.stride = std::numeric_limits<std::int64_t>::max()}), ElementsAre(0));
  const auto source = open({.stride = 4});
  EXPECT_DOUBLE_EQ(source->info().frames_per_second, 6.25);
  source->read();
  EXPECT_EQ(source->read()->pts, milliseconds(160));
}

TEST_F(StoredSources, RepeatAsTheLoopSays) {
  const SourceOptions options{
      .start = milliseconds(40), .end = milliseconds(200), .stride = 3, .loop = 3};
  EXPECT_THAT(numbers(options), ElementsAre(1, 4, 1, 4, 1, 4));
  const auto source = open(options);
  std::vector<milliseconds> times;
  std::vector<Discontinuity> kinds;
  while (const std::optional<Frame> frame = source->read()) {
    times.push_back(std::chrono::duration_cast<milliseconds>(frame->pts));
    kinds.push_back(frame->discontinuity);
  }
  using enum Discontinuity;
  EXPECT_THAT(kinds, ElementsAre(start, none, loop, none, loop, none));
  EXPECT_THAT(times, ElementsAre(milliseconds(40), milliseconds(160), milliseconds(200),
                                 milliseconds(320), milliseconds(360), milliseconds(480)))
      << "time goes on";
}

TEST_F(StoredSources, CanLoopWithoutEnd) {
  EXPECT_EQ(numbers({.loop = 0}, 95).size(), 95u);
  EXPECT_FALSE(open({.loop = 0})->info().frames);
  const auto source = open({.loop = 0});
  source->read();
  source->interrupt();
  EXPECT_FALSE(source->read());
}

TEST_F(StoredSources, AreRefusedIfTheRangeIsEmpty) {
  EXPECT_THAT(
      [&] { open({.start = seconds(5)}); },
      ThrowsError<SourceError>(ErrorCode::source_empty,
                               AllOf(HasSubstr("from 5.0 s to its end"), HasSubstr("images in"))));
  EXPECT_THAT([&] { open({.start = milliseconds(41), .end = milliseconds(79)}); },
              ThrowsError<SourceError>(ErrorCode::source_empty, HasSubstr("0.041 s to 0.079 s")));
}

TEST_F(StoredSources, NameAnInvalidValue) {
  const auto expect_refused = [&](const SourceOptions& options, const char* named) {
    EXPECT_THAT([&] { open(options); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(named)));
  };
  expect_refused({.start = seconds(-1)}, "start of -1.0 s");
  expect_refused({.start = std::chrono::nanoseconds::max()}, "beyond any clip");
  expect_refused({.start = seconds(2), .end = seconds(2)}, "end of 2.0 s");
  expect_refused({.end = seconds(0)}, "end of 0.0 s");
  expect_refused({.stride = 0}, "stride of 0");
  expect_refused({.loop = -1}, "loop of -1");
  expect_refused({.silence_limit = milliseconds(0)}, "silence_limit of 0 ms");
  expect_refused({.reconnect = {.factor = 0}}, "factor 0.0");
  expect_refused({.decoder_threads = -1}, "decoder_threads of -1");
}

TEST(StoredVideo, LoopsOverThePicturesOfItsRange) {
  const TemporaryFolder folder;
  write_clip(folder / "clip.mp4", {.frames = 40, .options = b_frames(true)});
  const SourceOptions once{.start = milliseconds(820), .end = milliseconds(1000)};
  std::vector<cv::Mat> pictures;
  const auto source = open_source((folder / "clip.mp4").string(), once);
  while (std::optional<Frame> frame = source->read()) pictures.push_back(frame->image);
  ASSERT_EQ(pictures.size(), 4u) << "840, 880, 920 and 960 ms";
  SourceOptions thrice = once;
  thrice.loop = 3;
  const auto looped = open_source((folder / "clip.mp4").string(), thrice);
  EXPECT_EQ(looped->info().frames, 12);
  for (std::size_t i = 0; i < 12; ++i) {
    const std::optional<Frame> frame = looped->read();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->pts, milliseconds(840 + 40 * i));
    EXPECT_EQ(cv::norm(frame->image, pictures[i % 4], cv::NORM_INF), 0);
  }
  EXPECT_FALSE(looped->read());
}

}  // namespace
}  // namespace vcap::test
