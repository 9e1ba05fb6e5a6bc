// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "files/file_descriptor.hpp"

namespace vcap {

/// Text that is kept on the disk until it can be put behind other text. A file without a name, in
/// the folder of the output, so that it needs no memory and is gone when the process ends. Thread
/// safety: thread-compatible.
class Spool {
 public:
  /// Throws OutputError (output_open) that names the folder.
  explicit Spool(const std::filesystem::path& folder);

  /// Throws OutputError (output_write); what was written of the text is then removed again.
  void write(std::string_view text);
  std::int64_t size() const noexcept { return size_; }
  /// Removes what was written after that size.
  void cut(std::int64_t size) noexcept;
  /// Gives the whole text in blocks. Throws OutputError if it cannot be read.
  void read(const std::function<void(std::span<const std::byte>)>& take) const;

 private:
  std::string folder_;
  FileDescriptor file_;
  std::int64_t size_ = 0;
};

}  // namespace vcap
