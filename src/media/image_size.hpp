// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace vcap {

/// A size in pixels. Thread safety: value.
struct ImageSize {
  std::uint64_t width = 0;
  std::uint64_t height = 0;
  /// The largest possible number if the product is beyond it.
  std::uint64_t pixels() const noexcept {
    std::uint64_t product = 0;
    return __builtin_mul_overflow(width, height, &product) ? UINT64_MAX : product;
  }
};

/// The size that the header of an image says: of what a decoder will hold, before one runs. If a
/// TIFF has tiles, and one of them is larger than the image, it is the size of a tile.
///
/// `nullopt` if the file cannot be read, if its header is broken, or if it begins like no BMP,
/// JPEG, JPEG 2000, PBM, PGM, PPM, PAM, PNG, TIFF or WebP, whatever its name. Decoders of other
/// formats are reached by no file this way. Thread-safe.
std::optional<ImageSize> read_image_size(const std::filesystem::path& file);

}  // namespace vcap
