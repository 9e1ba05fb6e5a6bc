// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

/// The files that came with a capsule, by name, as views into the mapped archive.
///
/// Holds the mapping: views stay valid as long as this object or a copy of it lives. The Capsule
/// keeps one until its backends are closed. Thread safety: value; copies share the mapping.
class VCAP_EXPORT CapsuleFiles {
 public:
  using Bytes = std::span<const std::byte>;

  CapsuleFiles() = default;
  /// `storage` owns the memory that the views point into.
  CapsuleFiles(std::map<std::string, Bytes, std::less<>> files,
               std::shared_ptr<const void> storage);

  bool contains(std::string_view name) const;
  std::vector<std::string> names() const;

  /// The file's bytes; throws InvalidArgument, which lists the names, if there is no such file.
  Bytes operator[](std::string_view name) const&;
  Bytes operator[](std::string_view name) const&& = delete;  // would outlive the mapping
  /// The same bytes as text.
  std::string_view text(std::string_view name) const&;
  std::string_view text(std::string_view name) const&& = delete;

 private:
  std::map<std::string, Bytes, std::less<>> files_;
  std::shared_ptr<const void> storage_;
};

}  // namespace vcap
