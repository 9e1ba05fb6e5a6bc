// SPDX-License-Identifier: Apache-2.0
// Stored sources with a sampler that chooses their frames.
#include <gmock/gmock.h>

#include <string>

#include <opencv2/imgcodecs.hpp>

#include "support/clip_packets.hpp"
#include "support/clip_writer.hpp"
#include "support/live_helpers.hpp"
#include "support/seen_frames.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/sources/random_access.hpp"

namespace vcap::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// The elements that the sampler gives of frames that are 40 ms apart.
std::vector<SeenFrame> sampled(const std::vector<SeenFrame>& all, const Sampler& sampler) {
  std::vector<SeenFrame> some;
  const std::int64_t size = sampler.size(static_cast<std::int64_t>(all.size()));
  for (std::int64_t i = 0; i < size; ++i) {
    const Sampler::Element element = *sampler.element(i);
    SeenFrame frame = all[static_cast<std::size_t>(element.row)];
    frame.index = i;
    frame.pts += nanoseconds(milliseconds(40)) * element.part / element.parts;
    frame.discontinuity = i == 0               ? Discontinuity::start
                          : sampler.follows(i) ? Discontinuity::none
                                               : Discontinuity::seek;
    frame.is_null = element.is_null;
    if (element.is_null) frame.pixels = hash_of({});
    some.push_back(frame);
  }
  return some;
}

std::vector<Sampler> some_samplers() {
  return {Sampler::stride(2),
          Sampler::stride(25),
          Sampler::stride(1000),
          Sampler::repeat(3),
          Sampler::repeat_null(3),
          Sampler::ranges({{0, 5}, {5, 7}, {30, 38}}),
          Sampler::strided_ranges({{3, 9}, {20, 40}}, 4),
          Sampler::gather({0}),
          Sampler::gather({39}),
          Sampler::gather({2, 3, 16, 17, 18, 33, 34, 39}),
          Sampler::stride(3).then(Sampler::gather({1, 2, 12})).then(Sampler::repeat(2)),
          Sampler::repeat_null(2).then(Sampler::stride(3)),
          Sampler::repeat_null(2).then(Sampler::gather({1, 2, 70})),
          Sampler::repeat(4).then(Sampler::repeat_null(2)).then(Sampler::stride(5))};
}

class SampledSource : public testing::TestWithParam<const char*> {
 protected:
  /// Forty frames: a clip with an index, one without, or images.
  SampledSource() : name_(folder_ / GetParam()) {
    if (name_.ends_with(".png"))
      for (int i = 0; i < 40; ++i)
        cv::imwrite((folder_ / (std::to_string(i) + ".png")).string(),
                    cv::Mat(4, 4, CV_8UC3, cv::Scalar::all(i)));
    else
      write_clip(name_, {.frames = 40, .options = b_frames(true)});
  }

  bool is_indexed() const { return !name_.ends_with(".h264"); }

  const TemporaryFolder folder_;
  const std::string name_;
};

TEST_P(SampledSource, GivesTheElementsOfItsSampler) {
  const std::vector<SeenFrame> all = read_frames(*open_source(name_));
  ASSERT_EQ(all.size(), 40u);
  for (const Sampler& sampler : some_samplers()) {
    const auto source = open_source(name_, {.sampler = sampler});
    const std::vector<SeenFrame> expected = sampled(all, sampler);
    if (is_indexed()) {
      EXPECT_EQ(source->info().frames, static_cast<std::int64_t>(expected.size()));
    }
    EXPECT_EQ(read_frames(*source), expected);
    EXPECT_FALSE(source->read());
  }
}

TEST_P(SampledSource, SamplesTheFramesThatRangeAndStrideLeave) {
  SourceOptions options{.start = milliseconds(199), .end = milliseconds(1400), .stride = 2};
  const std::vector<SeenFrame> rows = read_frames(*open_source(name_, options));
  ASSERT_EQ(rows.size(), 15u) << "frames 5, 7, … 33";
  options.sampler = Sampler::gather({0, 7, 8, 14});
  EXPECT_EQ(read_frames(*open_source(name_, options)), sampled(rows, options.sampler));
}

TEST_P(SampledSource, CanBeReadFromAnyElementOn) {
  for (const Sampler& sampler : some_samplers()) {
    const auto source = open_source(name_, {.sampler = sampler});
    const auto access = source->random_access();
    ASSERT_EQ(access != nullptr, is_indexed());
    if (!access) continue;
    const std::vector<SeenFrame> all = read_frames(*source);
    ASSERT_EQ(access->frames(), static_cast<std::int64_t>(all.size()));
    for (std::size_t i = 0; i < all.size(); i += 1 + all.size() / 12)
      EXPECT_EQ(read_frames(*access->open_at(static_cast<std::int64_t>(i)), 3),
                std::vector(all.begin() + static_cast<std::ptrdiff_t>(i),
                            all.begin() + static_cast<std::ptrdiff_t>(std::min(i + 3, all.size()))))
          << "from element " << i;
  }
}

TEST_P(SampledSource, RefusesRowsThatDoNotExist) {
  const SourceOptions options{.stride = 2, .sampler = Sampler::gather({3, 25})};
  const std::string why = "row 25 does not exist; there are only rows 0 to 19";
  if (is_indexed()) {
    EXPECT_THAT([&] { open_source(name_, options); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(why)));
    return;
  }
  const auto source = open_source(name_, options);
  EXPECT_EQ(source->read()->pts, milliseconds(240));
  EXPECT_THAT([&] { source->read(); },
              ThrowsError<SourceError>(
                  ErrorCode::source_read,
                  AllOf(HasSubstr(name_), HasSubstr("ends too early"), HasSubstr(why))));
}

TEST_P(SampledSource, RepeatsAsTheLoopSays) {
  const auto source = open_source(
      name_, {.sampler = Sampler::gather({1, 4, 39}).then(Sampler::repeat(2)), .loop = 2});
  EXPECT_EQ(source->info().frames, 12);
  std::vector<Discontinuity> kinds;
  std::vector<nanoseconds> times;
  for (const SeenFrame& frame : read_frames(*source)) {
    kinds.push_back(frame.discontinuity);
    times.push_back(frame.pts);
  }
  using enum Discontinuity;
  EXPECT_THAT(kinds,
              ElementsAre(start, none, seek, none, seek, none, loop, none, seek, none, seek, none));
  const auto at = [](int time) { return nanoseconds(milliseconds(time)); };
  EXPECT_THAT(times, ElementsAre(at(40), at(60), at(160), at(180), at(1560), at(1580), at(1600),
                                 at(1620), at(1720), at(1740), at(3120), at(3140)));
}

INSTANTIATE_TEST_SUITE_P(Sources, SampledSource, testing::Values("clip.mp4", "clip.h264", "*.png"),
                         [](const auto& source) {
                           const std::string name = source.param;
                           return name.ends_with("mp4")    ? "WithAnIndex"
                                  : name.ends_with("h264") ? "WithoutOne"
                                                           : "OfImages";
                         });

/// Sixty frames in four groups; no group needs another one for its decoding.
class SampledClip : public testing::Test {
 protected:
  SampledClip() { write_clip(path_, {.frames = 60, .options = b_frames(false)}); }

  const KeptLog log_;
  const TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_ / "clip.mp4";
};

TEST_F(SampledClip, HasTheFrameRateOfItsElements) {
  EXPECT_DOUBLE_EQ(open_source(path_)->info().frames_per_second, 25);
  EXPECT_DOUBLE_EQ(
      open_source(path_, {.stride = 5, .sampler = Sampler::repeat(2)})->info().frames_per_second,
      10);
}

TEST_F(SampledClip, SharesOnePictureAmongAllElementsOfARow) {
  const auto source = open_source(path_, {.sampler = Sampler::repeat(2)});
  const Frame first = *source->read();
  EXPECT_EQ(source->read()->image.data, first.image.data);
  EXPECT_NE(source->read()->image.data, first.image.data);
}

TEST_F(SampledClip, DecodesNoGroupWithoutARow) {
  const Sampler sampler = Sampler::gather({1, 12, 40, 59});
  const std::vector<SeenFrame> expected = sampled(read_frames(*open_source(path_)), sampler);
  for (int place = 17; place < 34; ++place) destroy(path_, packet_of(path_, place));
  EXPECT_EQ(read_frames(*open_source(path_, {.sampler = sampler})), expected);
  EXPECT_THAT(log_.text(), Not(HasSubstr("warning: ")));
}

/// From a missing row on, rows are counted in the order of decoding, and the log says so.
TEST_F(SampledClip, ContinuesInOrderWhenTheClipDiffersFromItsIndex) {
  const Packet lost = packet_of(path_, 22);
  destroy(path_, lost);
  const auto missing = lost.pts / milliseconds(40);
  const std::vector<SeenFrame> decoded = read_frames(*open_source(path_));
  ASSERT_EQ(decoded.size(), 59u);
  const auto source =
      open_source(path_, {.sampler = Sampler::ranges({{missing - 3, missing + 10}})});
  const std::vector<SeenFrame> seen = read_frames(*source);
  ASSERT_EQ(seen.size(), 13u);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const SeenFrame& frame = decoded[static_cast<std::size_t>(missing) - 3 + i];
    EXPECT_EQ(seen[i].pts, frame.pts) << i;
    EXPECT_EQ(seen[i].pixels, frame.pixels) << i;
    EXPECT_EQ(seen[i].discontinuity, i == 0 ? Discontinuity::start : frame.discontinuity) << i;
  }
  EXPECT_THAT(log_.text(), HasSubstr("warning: file " + path_.native() + " does not have frame"));
  EXPECT_FALSE(source->random_access()) << "no longer";
}

TEST_F(SampledClip, DividesUnevenTimes) {
  const std::vector<std::int64_t> times{0, 10, 50, 51, 400};
  write_clip(folder_ / "uneven.mkv",
             {.frames = 5,
              .time = [&](int i) { return times[static_cast<std::size_t>(i)]; },
              .options = b_frames(false)});
  const auto source = open_source(folder_ / "uneven.mkv", {.sampler = Sampler::repeat(2)});
  std::vector<double> seen;
  for (const SeenFrame& frame : read_frames(*source))
    seen.push_back(std::chrono::duration<double, std::milli>(frame.pts).count());
  seen.pop_back();  // it is in the last row, which has no end
  EXPECT_THAT(seen, ElementsAre(0, 5, 10, 30, 50, 50.5, 51, 225.5, 400));
}

}  // namespace
}  // namespace vcap::test
