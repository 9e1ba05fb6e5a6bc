// SPDX-License-Identifier: Apache-2.0
#include "loading/plugin/elf_image.hpp"

#include <algorithm>

namespace vcap {
namespace {

/// Names of C++ symbols are long; no name is longer than this by far.
constexpr std::size_t kLongestText = std::size_t{1} << 20;

Elf64_Ehdr read_elf_header(ElfBytes file, std::optional<unsigned> machine) {
  if (file.size() < sizeof(Elf64_Ehdr) || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0)
    invalid_library("is not an ELF file");
  const auto header = elf_record<Elf64_Ehdr>(file, 0, "header");
  if (header.e_ident[EI_CLASS] != ELFCLASS64) invalid_library("is not a 64-bit library");
  if (header.e_ident[EI_DATA] != ELFDATA2LSB) invalid_library("is not little-endian");
  if (header.e_ident[EI_VERSION] != EV_CURRENT || header.e_version != EV_CURRENT)
    invalid_library("has an ELF version other than 1");
  if (header.e_ident[EI_OSABI] != ELFOSABI_SYSV && header.e_ident[EI_OSABI] != ELFOSABI_GNU)
    invalid_library("is for another operating system (ELF OSABI " +
                    std::to_string(header.e_ident[EI_OSABI]) + ")");
  if (header.e_type != ET_DYN)
    invalid_library("has ELF type " + std::to_string(header.e_type) + ", not a shared library (3)");
  if (machine && header.e_machine != *machine)
    invalid_library("is for processor " + std::to_string(header.e_machine) +
                    " (ELF e_machine), not " + std::to_string(*machine));
  if (header.e_ehsize != sizeof(Elf64_Ehdr) || header.e_phentsize != sizeof(Elf64_Phdr))
    invalid_library("is damaged: the sizes in its header are wrong");
  return header;
}

}  // namespace

ElfImage::ElfImage(ElfBytes file, std::optional<unsigned> machine)
    : header_(read_elf_header(file, machine)),
      segments_(file, header_),
      dynamic_(segments_.dynamic(), header_.e_machine),
      strings_(read_strings()) {}

ElfBytes ElfImage::read_strings() const {
  const auto table = one(DT_STRTAB);
  const auto size = one(DT_STRSZ);
  if (!table || !size) invalid_library("has no table of names (DT_STRTAB, DT_STRSZ)");
  const ElfBytes strings = at(*table, *size, "table of names");
  if (strings.empty() || strings.back() != std::byte{0})
    damaged_library("table of names is not terminated");
  return strings;
}

std::string ElfImage::text(std::uint64_t offset) const {
  if (!is_text(offset)) ends_early("name");
  const ElfBytes rest = strings_.subspan(offset);
  const auto end = std::ranges::find(rest, std::byte{0});  // the last byte, at the latest
  const auto size = static_cast<std::size_t>(end - rest.begin());
  if (size > kLongestText) damaged_library("table of names has a name of too many bytes");
  return {reinterpret_cast<const char*>(rest.data()), size};
}

ElfRanges ElfImage::tables() const {
  ElfRanges tables = segments_.tables();
  tables.add(*one(DT_STRTAB), strings_.size(), "table of names");
  return tables;
}

}  // namespace vcap
