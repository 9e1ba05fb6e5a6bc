// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "files/file_descriptor.hpp"

namespace vcap {

// Names in the folder of a recording.
inline constexpr const char* kManifestName = "recording.json";
// Names in the folder of one of its streams.
inline constexpr const char* kFramesName = "frames.jsonl";
inline constexpr const char* kPicturesName = "pictures.ffv1";

/// A file that only grows, by whole parts: a part that did not fit is cut off again. Its name is
/// its own from the beginning, so that a killed process leaves it. Thread safety:
/// thread-compatible.
class GrowingFile {
 public:
  /// Makes the file. Throws OutputError (output_open).
  explicit GrowingFile(std::filesystem::path path);

  /// Throws OutputError (output_write).
  void append(std::span<const std::byte> part);
  void append(std::string_view part);
  /// In bytes, without a part that did not fit.
  std::int64_t size() const noexcept { return size_; }
  /// Cuts the file to what it was.
  void cut(std::int64_t size) noexcept;
  /// Writes it to the disk. Throws OutputError (output_write).
  void sync();

 private:
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  FileDescriptor descriptor_;
  std::int64_t size_ = 0;
};

}  // namespace vcap
