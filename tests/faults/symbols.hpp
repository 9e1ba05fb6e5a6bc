// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>
#include <elf.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

namespace faults {

/// The file's content. Reads each file once, since libraries with debug information are large.
inline const std::string& content_of(const std::string& path) {
  static std::map<std::string, std::string> contents;
  const auto [place, is_new] = contents.try_emplace(path);
  if (is_new) {
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    place->second.resize(in ? static_cast<std::size_t>(in.tellg()) : 0);
    in.seekg(0);
    in.read(place->second.data(), static_cast<std::streamsize>(place->second.size()));
  }
  return place->second;
}

/// The mangled name of the function at an address; empty if there is none. Reads the file's own
/// symbol table, which has hidden symbols, too.
inline std::string function_at(const void* address) {
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  const auto place =
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  const std::string& file = content_of(info.dli_fname);
  const auto read = [&file](std::size_t offset, auto& record) {
    if (offset + sizeof(record) > file.size()) return false;
    std::memcpy(&record, file.data() + offset, sizeof(record));
    return true;
  };
  Elf64_Ehdr header{};
  if (!read(0, header)) return {};
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr table{};
    Elf64_Shdr names{};
    if (!read(header.e_shoff + i * sizeof(table), table) || table.sh_type != SHT_SYMTAB ||
        !read(header.e_shoff + table.sh_link * sizeof(names), names))
      continue;
    Elf64_Sym symbol{};
    for (std::size_t at = 0; at < table.sh_size && read(table.sh_offset + at, symbol);
         at += sizeof(symbol))
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && place >= symbol.st_value &&
          place - symbol.st_value < symbol.st_size)
        return file.c_str() + names.sh_offset + symbol.st_name;
  }
  return info.dli_sname != nullptr ? info.dli_sname : "";
}

}  // namespace faults
