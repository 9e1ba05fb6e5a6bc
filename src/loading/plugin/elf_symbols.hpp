// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "loading/plugin/elf_image.hpp"

namespace vcap {

/// What keeps dlsym(3) from finding a function of this name that the library defines itself;
/// empty where nothing does. Looks it up in the hash table that the linker would take. Throws
/// ElfFault (invalid_library) where the tables are damaged.
std::string elf_function_fault(const ElfImage& image, std::string_view name);

/// The hash of the System V ABI, which DT_HASH and versions of symbols use.
std::uint32_t elf_hash(std::string_view name) noexcept;
/// The hash of DT_GNU_HASH: Bernstein's, with 33 and 5381.
std::uint32_t gnu_hash(std::string_view name) noexcept;

}  // namespace vcap
