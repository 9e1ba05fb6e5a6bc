// SPDX-License-Identifier: Apache-2.0
#include "loading/plugin/loaded_library.hpp"

#include <dlfcn.h>

#include "loading/plugin/elf_hash.hpp"

namespace vcap {
namespace {

struct KindSearch {
  const std::string& symbol;
  IsKind is_kind;
  std::optional<std::string> found{};
};

int search_for_kind(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<KindSearch*>(data);
  const ElfW(Dyn)* dynamic = nullptr;
  for (std::size_t i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  const auto type = LoadedLibrary(info->dlpi_addr, dynamic).type_of(search.symbol);
  if (!type || search.is_kind(*type)) return 0;
  const std::string name = info->dlpi_name != nullptr ? info->dlpi_name : "";
  search.found = name.empty() ? "the program" : name;
  return 1;
}

}  // namespace

LoadedLibrary LoadedLibrary::of(void* handle) {
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return {0, nullptr};
  return {map->l_addr, map->l_ld};
}

std::optional<std::uintptr_t> LoadedLibrary::pointer(std::int64_t tag) const {
  if (dynamic_ == nullptr) return {};
  for (const ElfW(Dyn)* entry = dynamic_; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != tag) continue;
    // On some processors, glibc has added the base to some kinds of entries. An address without it
    // is below the base, which is far above any library's size.
    const std::uintptr_t value = entry->d_un.d_ptr;
    return value < base_ ? base_ + value : value;
  }
  return {};
}

bool LoadedLibrary::has_version(std::string_view version) const {
  const auto first = pointer(DT_VERDEF);
  const auto strings = pointer(DT_STRTAB);
  // From a library without version definitions, the linker takes any symbol.
  if (!first || !strings) return true;
  for (auto at = *first;;) {
    const auto* const record = reinterpret_cast<const Elf64_Verdef*>(at);
    const auto* const name = reinterpret_cast<const Elf64_Verdaux*>(at + record->vd_aux);
    if (reinterpret_cast<const char*>(*strings + name->vda_name) == version) return true;
    if (record->vd_next == 0) return false;
    at += record->vd_next;
  }
}

std::optional<unsigned> LoadedLibrary::type_of(const std::string& symbol) const {
  const auto symbols = pointer(DT_SYMTAB);
  if (!symbols || !pointer(DT_STRTAB)) return {};
  std::optional<std::uint64_t> index;
  if (const auto gnu = pointer(DT_GNU_HASH))
    index = index_by_gnu(*gnu, symbol);
  else if (const auto older = pointer(DT_HASH))
    index = index_by_system_v(*older, symbol);
  if (!index) return {};
  return ELF64_ST_TYPE(reinterpret_cast<const Elf64_Sym*>(*symbols)[*index].st_info);
}

bool LoadedLibrary::defines(std::uint64_t index, const std::string& symbol) const {
  const Elf64_Sym& one = reinterpret_cast<const Elf64_Sym*>(*pointer(DT_SYMTAB))[index];
  return one.st_shndx != SHN_UNDEF &&
         symbol == reinterpret_cast<const char*>(*pointer(DT_STRTAB) + one.st_name);
}

std::optional<std::uint64_t> LoadedLibrary::index_by_gnu(std::uintptr_t table,
                                                         const std::string& symbol) const {
  const auto* const words = reinterpret_cast<const std::uint32_t*>(table);
  const std::uint32_t buckets = words[0];
  const std::uint32_t first = words[1];
  if (buckets == 0) return {};
  const std::uint32_t* const bucket = words + 4 + std::size_t{2} * words[2];
  const std::uint32_t* const chain = bucket + buckets;
  const std::uint32_t hash = gnu_hash(symbol);
  std::uint32_t index = bucket[hash % buckets];
  if (index < first || index == 0) return {};
  for (;; ++index) {
    const std::uint32_t entry = chain[index - first];
    if ((entry | 1u) == (hash | 1u) && defines(index, symbol)) return index;
    if ((entry & 1u) != 0) return {};
  }
}

std::optional<std::uint64_t> LoadedLibrary::index_by_system_v(std::uintptr_t table,
                                                              const std::string& symbol) const {
  const auto* const words = reinterpret_cast<const std::uint32_t*>(table);
  const std::uint32_t buckets = words[0];
  if (buckets == 0) return {};
  std::uint32_t index = words[2 + elf_hash(symbol) % buckets];
  for (; index != STN_UNDEF; index = words[2 + buckets + index])
    if (defines(index, symbol)) return index;
  return {};
}

std::optional<std::string> library_with_other_kind(const std::string& symbol, IsKind is_kind) {
  KindSearch search{.symbol = symbol, .is_kind = is_kind};
  ::dl_iterate_phdr(&search_for_kind, &search);
  return search.found;
}

}  // namespace vcap
