// SPDX-License-Identifier: Apache-2.0
#include "loading/elf_header.hpp"

#include <elf.h>

#include <cstring>

namespace vcap {
namespace {

struct Machine {
  std::string_view platform;
  unsigned number;
};
constexpr Machine kMachines[] = {{"linux-x86_64", EM_X86_64}, {"linux-aarch64", EM_AARCH64}};

}  // namespace

std::string elf_header_fault(std::span<const std::byte> library, std::string_view platform) {
  Elf64_Ehdr header{};
  if (library.size() < sizeof(header) || std::memcmp(library.data(), ELFMAG, SELFMAG) != 0)
    return "is no ELF file";
  std::memcpy(&header, library.data(), sizeof(header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return "is not for 64 bits";
  if (header.e_ident[EI_DATA] != ELFDATA2LSB) return "is not little-endian";
  if (header.e_type != ET_DYN)
    return "is of ELF type " + std::to_string(header.e_type) + ", not a shared library (3)";
  for (const Machine& machine : kMachines)
    if (machine.platform == platform && machine.number != header.e_machine)
      return "is for processor " + std::to_string(header.e_machine) + " (ELF e_machine); " +
             std::string(platform) + " is " + std::to_string(machine.number);
  return {};
}

}  // namespace vcap
