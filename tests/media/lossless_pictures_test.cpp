// SPDX-License-Identifier: Apache-2.0
#include "media/lossless_pictures.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

cv::Mat noise(cv::Size size, int seed) {
  cv::Mat picture(size, CV_8UC3);
  cv::RNG random(seed);
  random.fill(picture, cv::RNG::UNIFORM, 0, 256);
  return picture;
}

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

TEST(LosslessPictures, AreTheSameAfterDecodingInAnyOrderAndSize) {
  LosslessEncoder encoder("recording");
  const std::vector<cv::Mat> pictures{noise({64, 48}, 1), noise({64, 48}, 2), noise({33, 17}, 3),
                                      noise({64, 48}, 4), noise({1, 1}, 5)};
  std::vector<std::vector<std::byte>> encoded;
  for (const cv::Mat& picture : pictures) encoded.push_back(copy_of(encoder.encode(picture)));

  LosslessDecoder decoder("recording");
  for (const std::size_t i : {4u, 1u, 3u, 0u, 2u}) {
    const cv::Mat picture = decoder.decode(encoded[i], pictures[i].size());
    EXPECT_EQ(cv::norm(picture, pictures[i], cv::NORM_INF), 0) << i;
  }
}

TEST(LosslessPictures, TakePartsOfLargerPictures) {
  const cv::Mat whole = noise({64, 48}, 6);
  const cv::Mat part = whole(cv::Rect(5, 7, 20, 30));
  LosslessEncoder encoder("recording");
  const cv::Mat decoded = LosslessDecoder("recording").decode(encoder.encode(part), part.size());
  EXPECT_EQ(cv::norm(decoded, part, cv::NORM_INF), 0);
}

TEST(LosslessPictures, RefuseBytesThatAreCutShort) {
  LosslessEncoder encoder("recording");
  const std::vector<std::byte> bytes = copy_of(encoder.encode(noise({64, 48}, 7)));
  LosslessDecoder decoder("recording night");
  for (const std::size_t size : {std::size_t{0}, std::size_t{3}, std::size_t{10}}) {
    try {
      decoder.decode(std::span(bytes).first(size), {64, 48});
      ADD_FAILURE() << size << " bytes were decoded";
    } catch (const SourceError& error) {
      EXPECT_EQ(error.code(), ErrorCode::source_read);
      EXPECT_NE(std::string(error.what()).find("recording night"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace vcap
