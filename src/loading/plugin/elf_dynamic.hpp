// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "loading/plugin/elf_record.hpp"

namespace vcap {

/// The entries of a dynamic section, up to its end (DT_NULL). Thread safety: value.
class ElfDynamic {
 public:
  /// Refuses entries that the linker does not need, that change what it loads, that occur twice, or
  /// that lack their companions. Throws ElfFault (invalid_library, unsafe_library).
  ElfDynamic(ElfBytes section, unsigned machine);

  /// The values with this tag, in order.
  std::span<const std::uint64_t> all(std::int64_t tag) const noexcept;
  /// The value of a tag that may occur once.
  std::optional<std::uint64_t> one(std::int64_t tag) const;
  bool has(std::int64_t tag) const noexcept { return !all(tag).empty(); }

 private:
  void read(ElfBytes section);
  void check_tags(unsigned machine) const;
  void check_flags() const;
  void check_tables() const;

  std::map<std::int64_t, std::vector<std::uint64_t>> values_{};
};

}  // namespace vcap
