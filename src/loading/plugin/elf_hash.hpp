// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "loading/plugin/elf_image.hpp"

namespace vcap {

/// The hash of the System V ABI, for DT_HASH and symbol versions.
std::uint32_t elf_hash(std::string_view name) noexcept;
/// The hash of DT_GNU_HASH: Bernstein's, with 33 and 5381.
std::uint32_t gnu_hash(std::string_view name) noexcept;

/// The hash tables by which the linker finds a library's symbols: DT_GNU_HASH, DT_HASH or both.
///
/// Every chain of both tables is known to end within its table. Thread safety: thread-safe, since
/// it is constant.
class ElfHashTables {
 public:
  /// Throws ElfFault (invalid_library). The image must outlive this.
  explicit ElfHashTables(const ElfImage& image);

  /// The number of symbols; only the hash tables say how many there are.
  std::uint64_t symbol_count() const noexcept { return symbol_count_; }
  /// The index of the symbol that the linker would find. `has_name` says whether the symbol with an
  /// index has that name.
  std::optional<std::uint64_t> find(std::string_view name,
                                    const std::function<bool(std::uint64_t)>& has_name) const;
  void add_tables(ElfRanges& tables) const;

 private:
  struct Gnu {
    std::uint64_t address = 0;
    ElfBytes words{};
    std::uint64_t buckets = 0;
    std::uint64_t first_symbol = 0;
    std::uint64_t filter_words = 0;  ///< of 64 bits
    std::uint32_t shift = 0;
    std::uint64_t symbols = 0;

    std::uint64_t buckets_at() const noexcept { return 4 + 2 * filter_words; }
    std::uint64_t chains_at() const noexcept { return buckets_at() + buckets; }
  };
  struct SystemV {
    std::uint64_t address = 0;
    ElfBytes words{};
    std::uint64_t buckets = 0;
    std::uint64_t chains = 0;
  };

  static Gnu read_gnu(const ElfImage& image, std::uint64_t address);
  static SystemV read_system_v(const ElfImage& image, std::uint64_t address);
  static void check_chains(const SystemV& table);
  std::optional<std::uint64_t> find_by_gnu(
      std::string_view name, const std::function<bool(std::uint64_t)>& has_name) const;
  std::optional<std::uint64_t> find_by_system_v(
      std::string_view name, const std::function<bool(std::uint64_t)>& has_name) const;

  std::optional<Gnu> gnu_{};
  std::optional<SystemV> system_v_{};
  std::uint64_t symbol_count_ = 0;
};

}  // namespace vcap
