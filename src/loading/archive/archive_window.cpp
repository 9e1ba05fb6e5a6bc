// SPDX-License-Identifier: Apache-2.0
#include "loading/archive/archive_window.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace vcap {

ArchiveWindow::Bytes ArchiveWindow::take(std::uint64_t at, std::uint64_t count) {
  if (at > size() || count > size() - at)
    broken("a record of " + std::to_string(count) + " bytes at " + std::to_string(at) +
           " is beyond its end at " + std::to_string(size()));
  if (at < begin_ || at + count > begin_ + window_.size()) {
    constexpr std::uint64_t kLeast = 8192;  // a local header with its padding
    window_ = archive_.read(at, std::min(size() - at, std::max(count, kLeast)));
    begin_ = at;
  }
  return Bytes(window_).subspan(at - begin_, count);
}

std::uint64_t ArchiveWindow::number(std::uint64_t at, std::uint64_t count) {
  std::uint64_t value = 0;
  const Bytes bytes = take(at, count);
  for (std::size_t i = bytes.size(); i > 0; --i)
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[i - 1]);
  return value;
}

void ArchiveWindow::fail(ErrorCode code, const std::string& fault, std::string_view entry) const {
  throw InvalidCapsuleError(code, capsule_ + " " + fault, std::string(entry));
}

void ArchiveWindow::broken(const std::string& fault, std::string_view entry) const {
  fail(ErrorCode::not_an_archive,
       "is not a valid zip archive: " + fault + "; create it again with `vcap pack`", entry);
}

void ArchiveWindow::ambiguous(const std::string& fault, std::string_view entry) const {
  fail(ErrorCode::ambiguous_archive,
       "is a zip archive that can be read in two ways: " + fault +
           "; create it again with `vcap pack`",
       entry);
}

void ArchiveWindow::not_written_by_vcap(ErrorCode code, const std::string& difference,
                                        std::string_view entry) const {
  fail(code,
       "is a zip archive that vcap has not written: " + difference +
           "; zip programs write other forms, so create it again with `vcap pack`",
       entry);
}

void ArchiveWindow::refuse(ErrorCode code, std::string_view name, const std::string& fault) const {
  fail(code,
       "has an entry that is not allowed: " + quote(name) + " " + fault +
           "; create it again with `vcap pack`",
       name);
}

}  // namespace vcap
