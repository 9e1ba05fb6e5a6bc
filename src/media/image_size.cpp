// SPDX-License-Identifier: Apache-2.0
#include "media/image_size.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <fstream>
#include <ios>
#include <string>
#include <string_view>

namespace vcap {
namespace {

/// The longest box before a JPEG 2000's codestream.
constexpr std::uint64_t kLongestBox = std::uint64_t{64} << 20;
/// A JPEG has some ten segments before its frame, and nothing between them; a JP2 file has some
/// boxes.
constexpr int kMostSegments = 4096;
constexpr int kMostBytesBetween = 65'536;
/// A directory of a TIFF has about twenty entries.
constexpr std::uint64_t kMostEntries = 65'535;

/// Thrown where a header is not what its format says.
struct Broken {};

/// Reads numbers from a file. Throws std::ios_base::failure at its end.
class Header {
 public:
  explicit Header(const std::filesystem::path& file) {
    in_.exceptions(std::ios_base::badbit | std::ios_base::failbit | std::ios_base::eofbit);
    in_.open(file, std::ios_base::binary);
  }

  std::uint64_t at() { return static_cast<std::uint64_t>(in_.tellg()); }
  void go_to(std::uint64_t place) {
    if (place > INT64_MAX) throw Broken();
    in_.seekg(static_cast<std::streamoff>(place));
  }
  void skip(std::uint64_t bytes) { go_to(at() + bytes); }
  std::string text(std::size_t bytes) {
    std::string text(bytes, '\0');
    in_.read(text.data(), static_cast<std::streamsize>(bytes));
    return text;
  }
  /// At most that many; fewer if the file is shorter.
  std::string begin(std::size_t bytes) {
    std::string text(bytes, '\0');
    in_.exceptions(std::ios_base::badbit);
    in_.read(text.data(), static_cast<std::streamsize>(bytes));
    text.resize(static_cast<std::size_t>(in_.gcount()));
    in_.clear();
    in_.exceptions(std::ios_base::badbit | std::ios_base::failbit | std::ios_base::eofbit);
    go_to(0);
    return text;
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(in_.get()); }
  /// To the end of the line whose last byte was read, unless that byte ended it.
  void skip_line() {
    in_.unget();
    for (std::uint8_t next = byte(); next != '\n' && next != '\r';) next = byte();
  }
  std::uint64_t number(std::size_t bytes, std::endian order) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      const std::uint64_t next = byte();
      number = order == std::endian::big ? number << 8 | next : number | next << (8 * i);
    }
    return number;
  }
  std::uint64_t big(std::size_t bytes) { return number(bytes, std::endian::big); }
  std::uint64_t little(std::size_t bytes) { return number(bytes, std::endian::little); }

 private:
  std::ifstream in_;
};

ImageSize png_size(Header& header) {
  header.skip(8);
  header.skip(4);  // the length of the first chunk
  if (header.text(4) != "IHDR") throw Broken();
  const std::uint64_t width = header.big(4);
  return {width, header.big(4)};
}

bool is_frame_of_jpeg(std::uint8_t marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

/// As libjpeg finds it: other segments, and bytes between segments, are skipped.
ImageSize jpeg_size(Header& header) {
  header.skip(2);
  int between = 0;
  for (int segment = 0; segment < kMostSegments && between < kMostBytesBetween; ++segment) {
    while (header.byte() != 0xFF && ++between < kMostBytesBetween) {
    }
    std::uint8_t marker = 0xFF;
    while (marker == 0xFF && ++between < kMostBytesBetween) marker = header.byte();
    if (is_frame_of_jpeg(marker)) {
      header.skip(3);  // length, precision
      const std::uint64_t height = header.big(2);
      return {header.big(2), height};
    }
    const bool is_end = marker == 0xD8 || marker == 0xD9 || marker == 0xDA;
    if (is_end) throw Broken();
    if (marker <= 0x01 || (marker >= 0xD0 && marker <= 0xD7)) continue;  // without a length
    const std::uint64_t length = header.big(2);
    if (length < 2) throw Broken();
    header.skip(length - 2);
  }
  throw Broken();
}

ImageSize bmp_size(Header& header) {
  header.go_to(14);
  const std::uint64_t length = header.little(4);
  if (length == 12) {
    const std::uint64_t width = header.little(2);
    return {width, header.little(2)};
  }
  const std::uint64_t width = header.little(4);
  const auto height = static_cast<std::int32_t>(header.little(4));  // below 0: from the top
  return {width, static_cast<std::uint64_t>(height < 0 ? -std::int64_t{height} : height)};
}

bool is_space(std::uint8_t byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

/// The next number of a text header; '#' begins a comment.
std::uint64_t number_in_text(Header& header) {
  constexpr std::uint64_t kLargest = 99'999'999'999;
  std::uint8_t byte = header.byte();
  for (; is_space(byte) || byte == '#'; byte = header.byte())
    if (byte == '#')
      while (byte != '\n' && byte != '\r') byte = header.byte();
  if (byte < '0' || byte > '9') throw Broken();
  std::uint64_t number = 0;
  for (; byte >= '0' && byte <= '9'; byte = header.byte()) {
    number = 10 * number + (byte - '0');
    if (number > kLargest) throw Broken();
  }
  return number;
}

ImageSize pnm_size(Header& header) {
  header.skip(2);
  const std::uint64_t width = number_in_text(header);
  return {width, number_in_text(header)};
}

/// The word of a PAM's header that comes next.
std::string word_in_text(Header& header) {
  constexpr std::size_t kLongestWord = 64;
  std::uint8_t byte = header.byte();
  while (is_space(byte)) byte = header.byte();
  std::string word;
  for (; !is_space(byte) && word.size() <= kLongestWord; byte = header.byte())
    word += static_cast<char>(byte);
  return word;
}

ImageSize pam_size(Header& header) {
  constexpr std::uint64_t kLongestHeader = 4096;
  header.skip(2);
  ImageSize size;
  while (header.at() < kLongestHeader) {
    const std::string word = word_in_text(header);
    if (word.starts_with('#')) {
      header.skip_line();
      continue;
    }
    if (word == "WIDTH") size.width = std::max(size.width, number_in_text(header));
    if (word == "HEIGHT") size.height = std::max(size.height, number_in_text(header));
    if (word == "ENDHDR") return size;
  }
  throw Broken();
}

/// Reads the directory of a TIFF or BigTIFF.
class TiffSize {
 public:
  explicit TiffSize(Header& header) : header_(header) {
    order_ = header_.text(2) == "II" ? std::endian::little : std::endian::big;
    is_big_ = number(2) == 43;
    if (is_big_) header_.skip(4);  // the bytes of an offset, always eight
    header_.go_to(number(is_big_ ? 8 : 4));
    const std::uint64_t entries = number(is_big_ ? 8 : 2);
    if (entries > kMostEntries) throw Broken();
    const std::uint64_t first = header_.at();
    for (std::uint64_t i = 0; i < entries; ++i) {
      header_.go_to(first + i * (is_big_ ? 20 : 12));
      read_entry();
    }
  }

  ImageSize size() const {
    const ImageSize image{width_, height_};
    const ImageSize tile{tile_width_, tile_height_};
    return tile.pixels() > image.pixels() ? tile : image;
  }

 private:
  std::uint64_t number(std::size_t bytes) { return header_.number(bytes, order_); }

  /// A tag that is there twice counts with its larger value.
  void read_entry() {
    const std::uint64_t tag = number(2);
    const std::uint64_t type = number(2);
    header_.skip(is_big_ ? 8 : 4);  // how many values
    std::uint64_t* const value = tag == 256   ? &width_
                                 : tag == 257 ? &height_
                                 : tag == 322 ? &tile_width_
                                 : tag == 323 ? &tile_height_
                                              : nullptr;
    if (value != nullptr) *value = std::max(*value, number(bytes_of(type)));
  }

  /// Of one value, if it is a whole number.
  std::size_t bytes_of(std::uint64_t type) const {
    if (type == 1 || type == 6) return 1;
    if (type == 3 || type == 8) return 2;
    if (type == 4 || type == 9) return 4;
    if (is_big_ && (type == 16 || type == 17)) return 8;
    throw Broken();
  }

  Header& header_;
  std::endian order_ = std::endian::big;
  bool is_big_ = false;
  std::uint64_t width_ = 0, height_ = 0, tile_width_ = 0, tile_height_ = 0;
};

ImageSize webp_size(Header& header) {
  header.skip(8);
  if (header.text(4) != "WEBP") throw Broken();
  const std::string chunk = header.text(4);
  header.skip(4);  // its length
  if (chunk == "VP8X") {
    header.skip(4);
    const std::uint64_t width = header.little(3) + 1;
    return {width, header.little(3) + 1};
  }
  if (chunk == "VP8L") {
    header.skip(1);
    const std::uint64_t bits = header.little(4);
    return {(bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1};
  }
  if (chunk != "VP8 ") throw Broken();
  header.skip(6);
  const std::uint64_t width = header.little(2) & 0x3FFF;
  return {width, header.little(2) & 0x3FFF};
}

/// At the beginning of a codestream.
ImageSize codestream_size(Header& header) {
  constexpr std::uint64_t kMostComponents = 4;
  header.skip(8);  // SOC, SIZ, its length, capabilities
  const std::uint64_t right = header.big(4);
  const std::uint64_t bottom = header.big(4);
  const std::uint64_t left = header.big(4);
  const std::uint64_t top = header.big(4);
  header.skip(16);  // tiles
  // Each component takes memory of its own.
  if (left > right || top > bottom || header.big(2) > kMostComponents) throw Broken();
  return {right - left, bottom - top};
}

/// The codestream in the boxes of a JP2 file; it is what a decoder follows.
ImageSize jp2_size(Header& header) {
  std::uint64_t box = 0;
  for (int boxes = 0; boxes < kMostSegments; ++boxes) {
    header.go_to(box);
    std::uint64_t length = header.big(4);
    const std::string type = header.text(4);
    if (length == 1) length = header.big(8);
    if (type == "jp2c") return codestream_size(header);
    if (length < 8 || length > kLongestBox) throw Broken();
    box += length;
  }
  throw Broken();
}

ImageSize size_of(Header& header) {
  using namespace std::string_view_literals;
  const std::string begin = header.begin(12);
  if (begin.size() < 3) throw Broken();
  if (begin.starts_with("\x89PNG\r\n\x1a\n"sv)) return png_size(header);
  if (begin.starts_with("\xff\xd8\xff"sv)) return jpeg_size(header);
  if (begin.starts_with("BM"sv)) return bmp_size(header);
  if (begin.starts_with("II\x2a\0"sv) || begin.starts_with("II\x2b\0"sv) ||
      begin.starts_with("MM\0\x2a"sv) || begin.starts_with("MM\0\x2b"sv))
    return TiffSize(header).size();
  if (begin.starts_with("RIFF"sv)) return webp_size(header);
  if (begin == "\0\0\0\x0cjP  \r\n\x87\n"sv) return jp2_size(header);
  if (begin.starts_with("\xff\x4f\xff\x51"sv)) return codestream_size(header);
  const bool is_text = begin[0] == 'P' && is_space(static_cast<std::uint8_t>(begin[2]));
  if (is_text && begin[1] >= '1' && begin[1] <= '6') return pnm_size(header);
  if (is_text && begin[1] == '7') return pam_size(header);
  throw Broken();
}

}  // namespace

std::optional<ImageSize> read_image_size(const std::filesystem::path& file) {
  try {
    Header header(file);
    const ImageSize size = size_of(header);
    if (size.pixels() > 0) return size;
  } catch (const std::ios_base::failure&) {
  } catch (const Broken&) {
  }
  return std::nullopt;
}

}  // namespace vcap
