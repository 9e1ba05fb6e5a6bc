// SPDX-License-Identifier: Apache-2.0
#include "view/clip_pictures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include <opencv2/imgproc.hpp>

#include "media/opencv_io.hpp"
#include "vcap/base/error.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {
namespace {

constexpr int kPictureQuality = 80;

/// RFC 4648, section 4.
std::string base64(std::span<const unsigned char> bytes) {
  constexpr const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::array<unsigned, 3> three{};
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(i), count, three.begin());
    const unsigned bits = three[0] << 16 | three[1] << 8 | three[2];
    for (std::size_t digit = 0; digit < 4; ++digit)
      text += digit <= count ? digits[bits >> (18 - 6 * digit) & 63] : '=';
  }
  return text;
}

cv::Rect part_of(const cv::Mat& image, const WantedPicture& wanted) {
  const cv::Rect all(0, 0, image.cols, image.rows);
  if (wanted.box.width() <= 0 || wanted.resolution.area() <= 0) return all;
  const double x = image.cols / static_cast<double>(wanted.resolution.width);
  const double y = image.rows / static_cast<double>(wanted.resolution.height);
  const cv::Rect2d box(wanted.box.x1 * x, wanted.box.y1 * y, wanted.box.width() * x,
                       wanted.box.height() * y);
  const cv::Rect2d inside = box & cv::Rect2d(all);
  return cv::Rect(static_cast<int>(inside.x), static_cast<int>(inside.y),
                  static_cast<int>(std::ceil(inside.width)),
                  static_cast<int>(std::ceil(inside.height))) &
         all;
}

}  // namespace

std::string picture_uri(const cv::Mat& image, const WantedPicture& wanted) {
  const cv::Rect part = part_of(image, wanted);
  if (part.area() == 0) return {};
  cv::Mat picture = image(part);
  const double scale = wanted.longest_side / static_cast<double>(std::max(part.width, part.height));
  if (scale < 1) {
    cv::Mat smaller;
    const cv::Size size(std::max(1, static_cast<int>(part.width * scale)),
                        std::max(1, static_cast<int>(part.height * scale)));
    cv::resize(picture, smaller, size, 0, 0, cv::INTER_AREA);
    picture = smaller;
  }
  return "data:image/jpeg;base64," +
         base64(opencv_io().encode_image(picture, ".jpg", kPictureQuality));
}

std::vector<std::string> clip_pictures(const std::string& clip,
                                       const std::vector<WantedPicture>& wanted) {
  std::vector<std::string> pictures(wanted.size());
  if (wanted.empty()) return pictures;
  const auto source = open_source(clip);
  if (source->info().live)
    throw SourceError(ErrorCode::source_open,
                      "clip " + clip + " is a live source; give a stored one for its pictures");
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return wanted[i].pts; });
  const double rate = source->info().frames_per_second;
  // Half of a frame's duration: a clip that was written anew may round its times.
  const std::chrono::nanoseconds half(rate > 0 ? std::llround(5e8 / rate) : 0);
  auto next = order.begin();
  while (next != order.end()) {
    const std::optional<Frame> frame = source->read();
    if (!frame) break;
    for (; next != order.end() && wanted[*next].pts <= frame->pts + half; ++next)
      pictures[*next] = picture_uri(frame->image, wanted[*next]);
  }
  return pictures;
}

}  // namespace vcap
