// SPDX-License-Identifier: Apache-2.0
#include "loading/plugin/elf_symbols.hpp"

#include <bit>
#include <optional>

namespace vcap {
namespace {

using Bytes = ElfImage::Bytes;

constexpr std::uint64_t kWord = sizeof(std::uint32_t);

[[noreturn]] void damaged_symbols(const std::string& text) {
  invalid_library("is damaged: its table of symbols " + text);
}

std::uint32_t word(Bytes bytes, std::uint64_t index) {
  return ElfImage::record<std::uint32_t>(bytes, index * kWord, "hash table of symbols");
}

class Symbols {
 public:
  explicit Symbols(const ElfImage& image) : image_(image) {
    const auto address = image.one(DT_SYMTAB);
    if (!address) damaged_symbols("is missing (DT_SYMTAB)");
    if (image.one(DT_SYMENT) != sizeof(Elf64_Sym)) damaged_symbols("has entries of the wrong size");
    table_ = image.from(*address, "table of symbols");
  }

  Elf64_Sym operator[](std::uint64_t index) const {
    return ElfImage::record<Elf64_Sym>(table_, index * sizeof(Elf64_Sym), "table of symbols");
  }
  bool has_name(std::uint64_t index, std::string_view name) const {
    return image_.text((*this)[index].st_name) == name;
  }

 private:
  const ElfImage& image_;
  Bytes table_{};
};

/// Looks up by DT_GNU_HASH: buckets of consecutive symbols, after a Bloom filter (as binutils and
/// glibc define it). Ends at the end of the segment at the latest.
std::optional<Elf64_Sym> find_by_gnu_hash(const Symbols& symbols, Bytes table,
                                          std::string_view name) {
  const std::uint64_t buckets = word(table, 0);
  const std::uint64_t first_symbol = word(table, 1);
  const std::uint64_t describe_filter = word(table, 2);  // of 64 bits
  const std::uint32_t shift = word(table, 3);
  // glibc stops the process if the filter's size is not a power of two, and divides by `buckets`.
  if (buckets == 0 || !std::has_single_bit(describe_filter))
    damaged_symbols("has an empty hash table");
  constexpr std::uint64_t kHeader = 4;  // words
  const std::uint64_t buckets_at = kHeader + 2 * describe_filter;
  const std::uint64_t chains_at = buckets_at + buckets;

  const std::uint32_t hash = gnu_hash(name);
  const auto filter = ElfImage::record<std::uint64_t>(
      table, (kHeader + 2 * (hash / 64 & (describe_filter - 1))) * kWord, "hash table of symbols");
  if ((filter >> hash % 64 & 1u) == 0 || (filter >> (hash >> shift % 32) % 64 & 1u) == 0)
    return std::nullopt;
  std::uint64_t index = word(table, buckets_at + hash % buckets);
  if (index == 0) return std::nullopt;
  if (index < first_symbol) damaged_symbols("does not match its hash table");
  for (;; ++index) {
    const std::uint32_t entry = word(table, chains_at + index - first_symbol);
    if ((entry | 1u) == (hash | 1u) && symbols.has_name(index, name)) return symbols[index];
    if ((entry & 1u) != 0) return std::nullopt;
  }
}

/// Looks up by DT_HASH of the System V ABI: buckets of linked lists.
std::optional<Elf64_Sym> find_by_hash(const Symbols& symbols, Bytes table, std::string_view name) {
  const std::uint64_t buckets = word(table, 0);
  const std::uint64_t chains = word(table, 1);
  if (buckets == 0) damaged_symbols("has an empty hash table");
  if ((2 + buckets + chains) * kWord > table.size()) damaged_symbols("is longer than the file");
  std::uint64_t index = word(table, 2 + elf_hash(name) % buckets);
  for (std::uint64_t steps = 0; index != STN_UNDEF; ++steps) {
    if (index >= chains || steps > chains) damaged_symbols("has a cycle in its hash table");
    if (symbols.has_name(index, name)) return symbols[index];
    index = word(table, 2 + buckets + index);
  }
  return std::nullopt;
}

}  // namespace

std::string elf_function_fault(const ElfImage& image, std::string_view name) {
  const Symbols symbols(image);
  std::optional<Elf64_Sym> found;
  // glibc uses the older table only if the newer one is missing.
  if (const auto address = image.one(DT_GNU_HASH))
    found = find_by_gnu_hash(symbols, image.from(*address, "hash table of symbols"), name);
  else if (const auto older = image.one(DT_HASH))
    found = find_by_hash(symbols, image.from(*older, "hash table of symbols"), name);
  else
    damaged_symbols("has no hash table (DT_GNU_HASH, DT_HASH)");

  const std::string shown(name);
  if (!found) return "has no symbol " + shown;
  const unsigned binding = ELF64_ST_BIND(found->st_info);
  const unsigned visibility = ELF64_ST_VISIBILITY(found->st_other);
  if (found->st_shndx == SHN_UNDEF) return "uses the symbol " + shown + " but does not define it";
  if (binding == STB_LOCAL || visibility == STV_HIDDEN || visibility == STV_INTERNAL)
    return "does not export its symbol " + shown;
  const unsigned type = ELF64_ST_TYPE(found->st_info);
  if ((type != STT_FUNC && type != STT_NOTYPE) || !image.is_code(found->st_value))
    return "has a symbol " + shown + " that is not a function";
  return {};
}

std::uint32_t elf_hash(std::string_view name) noexcept {
  std::uint32_t hash = 0;
  for (const char character : name) {
    hash = (hash << 4) + static_cast<unsigned char>(character);
    const std::uint32_t high = hash & 0xf0000000u;
    hash ^= high >> 24;
    hash &= ~high;
  }
  return hash;
}

std::uint32_t gnu_hash(std::string_view name) noexcept {
  std::uint32_t hash = 5381;
  for (const char character : name) hash = hash * 33 + static_cast<unsigned char>(character);
  return hash;
}

}  // namespace vcap
