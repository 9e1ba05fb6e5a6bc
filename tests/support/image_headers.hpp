// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vcap::test {

inline char byte_of(std::uint64_t number, std::size_t place) {
  return place < sizeof(number) ? static_cast<char>(number >> (8 * place) & 0xFF) : '\0';
}

inline std::string big(std::uint64_t number, std::size_t bytes) {
  std::string text;
  for (std::size_t i = bytes; i-- > 0;) text += byte_of(number, i);
  return text;
}

inline std::string little(std::uint64_t number, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += byte_of(number, i);
  return text;
}

/// The beginning of an image file that says a size; there are no pixels.
struct ImageHeader {
  std::string name{};
  std::string extension{};
  std::uint64_t width = 0;
  std::uint64_t height = 0;
  std::string bytes{};
};

/// The directory of a TIFF, with the tags of its size and some others. `order`: big() or little().
template <class Order>
std::string tiff_header(Order order, std::string_view mark, std::uint64_t width,
                        std::uint64_t height, std::size_t value_bytes = 4, bool bigtiff = false) {
  const std::size_t word = bigtiff ? 8 : 4;
  const std::uint64_t type = value_bytes == 2 ? 3 : value_bytes == 4 ? 4 : 16;
  std::string bytes(mark);
  bytes += order(bigtiff ? 43 : 42, 2);
  if (bigtiff) bytes += order(8, 2) + order(0, 2);
  bytes += order(bigtiff ? 16 : 8, word);
  bytes += order(3, bigtiff ? 8 : 2);
  const auto entry = [&](std::uint64_t tag, std::uint64_t of_type, std::size_t size,
                         std::uint64_t value) {
    bytes += order(tag, 2) + order(of_type, 2) + order(1, word) + order(value, size) +
             std::string(word - size, '\0');
  };
  entry(256, type, value_bytes, width);
  entry(257, type, value_bytes, height);
  entry(258, 3, 2, 8);
  return bytes + order(0, word);
}

/// A header of each form, for an image of that size; both at most 16383.
inline std::vector<ImageHeader> image_headers(std::uint64_t width, std::uint64_t height) {
  using namespace std::string_literals;
  std::vector<ImageHeader> headers;
  const auto add = [&](std::string name, std::string extension, std::string bytes) {
    headers.push_back({std::move(name), std::move(extension), width, height,
                       std::move(bytes) + std::string(64, '\0')});
  };
  const std::string text = std::to_string(width) + " " + std::to_string(height);
  add("Png", ".png",
      "\x89PNG\r\n\x1a\n"s + big(13, 4) + "IHDR" + big(width, 4) + big(height, 4) + "\x08\x02"s);
  const auto jpeg = [&](char frame, const std::string& before) {
    return "\xff\xd8"s + before + "\xff"s + frame + big(17, 2) + "\x08"s + big(height, 2) +
           big(width, 2) + "\x03"s;
  };
  // The thumbnail in the segment has a frame of its own.
  const std::string segment = "\xff\xe1"s + big(2 + 13, 2) + "\xff\xc0"s + big(17, 2) + "\x08"s +
                              big(9, 2) + big(9, 2) + "\x03zzz"s;
  add("Jpeg", ".jpg", jpeg('\xc0', ""));
  add("JpegProgressive", ".jpeg", jpeg('\xc2', segment));
  add("JpegWithFillBytes", ".jpg", jpeg('\xc1', "\xff\xff\xff\xfe"s + big(4, 2) + "hi" + "\xff"s));
  add("Bmp", ".bmp",
      "BM"s + little(0, 8) + little(54, 4) + little(40, 4) + little(width, 4) + little(height, 4) +
          little(1, 2) + little(24, 2));
  add("BmpFromTheTop", ".bmp",
      "BM"s + little(0, 8) + little(54, 4) + little(124, 4) + little(width, 4) +
          little(std::uint64_t{1} << 32 | (0 - height), 4) + little(1, 2) + little(24, 2));
  add("BmpOfOldForm", ".bmp",
      "BM"s + little(0, 8) + little(26, 4) + little(12, 4) + little(width, 2) + little(height, 2) +
          little(1, 2));
  for (char form = '1'; form <= '6'; ++form)
    add("Pnm"s + form, form % 3 == 0 ? ".ppm" : ".pgm", "P"s + form + "\n" + text + "\n255\n");
  add("PnmWithComments", ".pnm",
      "P6 # 1 1\n#2 2\n " + std::to_string(width) + "\t#3\n" + std::to_string(height) + "\n255\n");
  add("Pam", ".pnm",
      "P7\n# ENDHDR\nHEIGHT " + std::to_string(height) + "\nWIDTH " + std::to_string(width) +
          "\nDEPTH 3\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\n");
  add("TiffLittle", ".tif", tiff_header(little, "II", width, height));
  add("TiffBig", ".tiff", tiff_header(big, "MM", width, height));
  add("TiffShort", ".tif", tiff_header(big, "MM", width, height, 2));
  add("BigTiff", ".tif", tiff_header(little, "II", width, height, 8, true));
  const auto riff = [&](const std::string& chunk) {
    return "RIFF"s + little(100, 4) + "WEBP" + chunk;
  };
  add("WebP", ".webp",
      riff("VP8 "s + little(80, 4) + little(0, 3) + "\x9d\x01\x2a"s + little(width, 2) +
           little(height, 2)));
  add("WebPLossless", ".webp",
      riff("VP8L"s + little(80, 4) + "\x2f"s + little((width - 1) | (height - 1) << 14, 4)));
  add("WebPExtended", ".webp",
      riff("VP8X"s + little(10, 4) + little(0, 4) + little(width - 1, 3) + little(height - 1, 3)));
  const std::string codestream = "\xff\x4f\xff\x51"s + big(47, 2) + big(0, 2) + big(width + 7, 4) +
                                 big(height + 5, 4) + big(7, 4) + big(5, 4) + big(0, 16) +
                                 big(3, 2);
  add("Jpeg2000Codestream", ".jp2", codestream);
  add("Jpeg2000", ".jp2",
      "\0\0\0\x0cjP  \r\n\x87\n"s + big(20, 4) + "ftypjp2 " + big(0, 4) + "jp2 " + big(22, 4) +
          "ihdr" + big(1, 4) + big(1, 4) + big(0, 6) + big(0, 4) + "jp2c" + codestream);
  return headers;
}

}  // namespace vcap::test
