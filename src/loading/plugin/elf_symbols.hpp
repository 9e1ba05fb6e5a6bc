// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "loading/plugin/elf_image.hpp"

namespace vcap {

/// Why dlsym(3) would not find a function with this name that the library itself defines; empty if
/// it would. Uses the same hash table as the linker. Throws ElfFault (invalid_library) if the
/// tables are damaged.
std::string elf_function_fault(const ElfImage& image, std::string_view name);

/// The hash of the System V ABI, for DT_HASH and symbol versions.
std::uint32_t elf_hash(std::string_view name) noexcept;
/// The hash of DT_GNU_HASH: Bernstein's, with 33 and 5381.
std::uint32_t gnu_hash(std::string_view name) noexcept;

}  // namespace vcap
