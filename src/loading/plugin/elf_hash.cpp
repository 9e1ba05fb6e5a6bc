// SPDX-License-Identifier: Apache-2.0
#include "loading/plugin/elf_hash.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace vcap {
namespace {

constexpr const char* kHashTable = "hash table of symbols";
constexpr std::uint64_t kHashWord = sizeof(std::uint32_t);

std::uint32_t hash_word(ElfBytes words, std::uint64_t index) {
  return elf_record<std::uint32_t>(words, index * kHashWord, kHashTable);
}

}  // namespace

ElfHashTables::ElfHashTables(const ElfImage& image) {
  if (const auto address = image.one(DT_GNU_HASH)) gnu_ = read_gnu(image, *address);
  if (const auto address = image.one(DT_HASH)) system_v_ = read_system_v(image, *address);
  if (!gnu_ && !system_v_)
    damaged_library("table of symbols has no hash table (DT_GNU_HASH, DT_HASH)");
  symbol_count_ = std::max(gnu_ ? gnu_->symbols : 0, system_v_ ? system_v_->chains : 0);
}

/// Buckets of consecutive symbols, after a Bloom filter (as binutils and glibc define it).
ElfHashTables::Gnu ElfHashTables::read_gnu(const ElfImage& image, std::uint64_t address) {
  Gnu table{.address = address, .words = image.from(address, kHashTable)};
  table.buckets = hash_word(table.words, 0);
  table.first_symbol = hash_word(table.words, 1);
  table.filter_words = hash_word(table.words, 2);
  table.shift = hash_word(table.words, 3);
  // glibc stops the process if the filter's size is not a power of two.
  if (table.buckets == 0 || !std::has_single_bit(table.filter_words))
    damaged_library("table of symbols has an empty hash table");
  if (address % sizeof(std::uint64_t) != 0 || table.first_symbol == 0 || table.shift >= 32)
    damaged_library("table of symbols does not match its hash table");
  if (table.chains_at() * kHashWord > table.words.size()) ends_early(kHashTable);

  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < table.buckets; ++i) {
    const std::uint64_t symbol = hash_word(table.words, table.buckets_at() + i);
    if (symbol != 0 && symbol < table.first_symbol)
      damaged_library("table of symbols does not match its hash table");
    last = std::max(last, symbol);
  }
  table.symbols = table.first_symbol;
  if (last == 0) return table;
  // All chains lie in one list, so the others end where this one ends, at the latest.
  while ((hash_word(table.words, table.chains_at() + last - table.first_symbol) & 1u) == 0) ++last;
  table.symbols = last + 1;
  return table;
}

/// Buckets of linked lists, as in the System V ABI.
ElfHashTables::SystemV ElfHashTables::read_system_v(const ElfImage& image, std::uint64_t address) {
  SystemV table{.address = address, .words = image.from(address, kHashTable)};
  table.buckets = hash_word(table.words, 0);
  table.chains = hash_word(table.words, 1);
  if (table.buckets == 0) damaged_library("table of symbols has an empty hash table");
  if ((2 + table.buckets + table.chains) * kHashWord > table.words.size())
    damaged_library("table of symbols is longer than the file");
  check_chains(table);
  return table;
}

void ElfHashTables::check_chains(const SystemV& table) {
  std::vector<bool> is_seen(table.chains);
  for (std::uint64_t bucket = 0; bucket < table.buckets; ++bucket)
    for (std::uint64_t symbol = hash_word(table.words, 2 + bucket); symbol != STN_UNDEF;
         symbol = hash_word(table.words, 2 + table.buckets + symbol)) {
      if (symbol >= table.chains || is_seen[symbol])
        damaged_library("table of symbols has a cycle in its hash table");
      is_seen[symbol] = true;
    }
}

std::optional<std::uint64_t> ElfHashTables::find(
    std::string_view name, const std::function<bool(std::uint64_t)>& has_name) const {
  // glibc uses the older table only if the newer one is missing.
  return gnu_ ? find_by_gnu(name, has_name) : find_by_system_v(name, has_name);
}

std::optional<std::uint64_t> ElfHashTables::find_by_gnu(
    std::string_view name, const std::function<bool(std::uint64_t)>& has_name) const {
  const Gnu& table = *gnu_;
  const std::uint32_t hash = gnu_hash(name);
  const auto filter = elf_record<std::uint64_t>(
      table.words, (4 + 2 * (hash / 64 & (table.filter_words - 1))) * kHashWord, kHashTable);
  if ((filter >> hash % 64 & 1u) == 0 || (filter >> (hash >> table.shift) % 64 & 1u) == 0)
    return std::nullopt;
  std::uint64_t symbol = hash_word(table.words, table.buckets_at() + hash % table.buckets);
  if (symbol == 0) return std::nullopt;
  for (;; ++symbol) {
    const std::uint32_t entry =
        hash_word(table.words, table.chains_at() + symbol - table.first_symbol);
    if ((entry | 1u) == (hash | 1u) && has_name(symbol)) return symbol;
    if ((entry & 1u) != 0) return std::nullopt;
  }
}

std::optional<std::uint64_t> ElfHashTables::find_by_system_v(
    std::string_view name, const std::function<bool(std::uint64_t)>& has_name) const {
  const SystemV& table = *system_v_;
  std::uint64_t symbol = hash_word(table.words, 2 + elf_hash(name) % table.buckets);
  for (; symbol != STN_UNDEF; symbol = hash_word(table.words, 2 + table.buckets + symbol))
    if (has_name(symbol)) return symbol;
  return std::nullopt;
}

void ElfHashTables::add_tables(ElfRanges& tables) const {
  if (gnu_)
    tables.add(gnu_->address, (gnu_->chains_at() + gnu_->symbols - gnu_->first_symbol) * kHashWord,
               kHashTable);
  if (system_v_)
    tables.add(system_v_->address, (2 + system_v_->buckets + system_v_->chains) * kHashWord,
               kHashTable);
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
