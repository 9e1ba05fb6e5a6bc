// SPDX-License-Identifier: Apache-2.0
#include "media/image_size.hpp"

#include <gtest/gtest.h>

#include <opencv2/imgcodecs.hpp>

#include "support/image_headers.hpp"
#include "support/temporary_folder.hpp"

namespace vcap::test {
namespace {

using namespace std::string_literals;

class ImageSizeOf : public testing::TestWithParam<ImageHeader> {};

TEST_P(ImageSizeOf, IsReadFromTheHeader) {
  const TemporaryFolder folder;
  const ImageHeader& header = GetParam();
  const auto size = read_image_size(folder.write("a" + header.extension, header.bytes));
  ASSERT_TRUE(size);
  EXPECT_EQ(size->width, header.width);
  EXPECT_EQ(size->height, header.height);
}

/// A header that ends early has no size, and one with a bit that is wrong does no harm.
TEST_P(ImageSizeOf, IsAbsentOrOtherInADamagedHeader) {
  const TemporaryFolder folder;
  const std::string& bytes = GetParam().bytes;
  const std::string whole = bytes.substr(0, bytes.find_last_not_of('\0') + 1);
  for (std::size_t length = 0; length < whole.size(); ++length)
    static_cast<void>(read_image_size(folder.write("a", whole.substr(0, length))));
  EXPECT_FALSE(read_image_size(folder.write("a", whole.substr(0, 8))));
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    static_cast<void>(read_image_size(folder.write("a", damaged)));
  }
}

INSTANTIATE_TEST_SUITE_P(Image, ImageSizeOf, testing::ValuesIn(image_headers(8191, 4093)),
                         [](const auto& test) { return test.param.name; });

TEST(ImageSize, IsThatWhichOpenCvDecodes) {
  const TemporaryFolder folder;
  const cv::Mat image(37, 91, CV_8UC3, cv::Scalar(1, 2, 3));
  for (const char* name :
       {"a.bmp", "a.jp2", "a.jpg", "a.pgm", "a.png", "a.ppm", "a.tiff", "a.webp"}) {
    SCOPED_TRACE(name);
    cv::Mat written = image;
    if (std::string(name) == "a.pgm") cv::extractChannel(image, written, 0);
    ASSERT_TRUE(cv::imwrite((folder / name).string(), written));
    const auto size = read_image_size(folder / name);
    ASSERT_TRUE(size);
    EXPECT_EQ(size->width, 91u);
    EXPECT_EQ(size->height, 37u);
  }
}

TEST(ImageSize, IsThatOfTheSmallestImage) {
  const TemporaryFolder folder;
  const auto size = read_image_size(folder.write("a.pbm", "P1 1 1 0"));
  ASSERT_TRUE(size);
  EXPECT_EQ(size->pixels(), 1u);
}

TEST(ImageSize, IsThatOfALargerTile) {
  const TemporaryFolder folder;
  std::string bytes = tiff_header(little, "II", 10, 10);
  // In place of the third entry: a tile of 40000 × 30000.
  bytes.replace(8, 2, little(4, 2));
  bytes.resize(8 + 2 + 2 * 12);
  for (const auto& [tag, value] : {std::pair(322, 40000), std::pair(323, 30000)})
    bytes += little(static_cast<std::uint64_t>(tag), 2) + little(4, 2) + little(1, 4) +
             little(static_cast<std::uint64_t>(value), 4);
  const auto size = read_image_size(folder.write("a.tif", bytes + little(0, 4)));
  ASSERT_TRUE(size);
  EXPECT_EQ(size->pixels(), 1'200'000'000u);
}

TEST(ImageSize, CountsALargerValueOfATagThatIsThereTwice) {
  const TemporaryFolder folder;
  std::string bytes = tiff_header(little, "II", 50'000, 10);
  bytes.replace(8 + 2 + 2 * 12, 12, little(256, 2) + little(4, 2) + little(1, 4) + little(10, 4));
  const auto size = read_image_size(folder.write("a.tif", bytes));
  ASSERT_TRUE(size);
  EXPECT_EQ(size->width, 50'000u);
}

TEST(ImageSize, IsAbsentForOtherFormatsWhateverTheirName) {
  const TemporaryFolder folder;
  for (const std::string& bytes :
       {""s, "P"s, "GIF89a"s + little(10, 2) + little(10, 2), "#?RADIANCE\n-Y 9 +X 9\n"s,
        "\x59\xa6\x6a\x95"s + big(10, 4) + big(10, 4), "\x76\x2f\x31\x01"s + big(0, 64),
        "<VRTDataset rasterXSize=\"9\">"s, "#EXTM3U\nfile.ts\n"s, "P8 9 9 "s, "Pf\n9 9\n"s,
        "P6 0 9 255 "s, "P6 -9 9 255 "s, "P6 99999999999999999999 9 255 "s})
    EXPECT_FALSE(read_image_size(folder.write("a.png", bytes + std::string(32, ' ')))) << bytes;
  EXPECT_FALSE(read_image_size(folder / "nothing.png"));
  EXPECT_FALSE(read_image_size(folder.path()));
}

TEST(ImageSize, HasNoOverflow) {
  EXPECT_EQ((ImageSize{0xFFFFFFFF, 0xFFFFFFFF}).pixels(), 0xFFFFFFFE00000001u);
  EXPECT_EQ((ImageSize{UINT64_MAX, 3}).pixels(), UINT64_MAX);
}

}  // namespace
}  // namespace vcap::test
