// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "vcap/base/export.hpp"

namespace vcap {

/// What keeps these bytes from being a shared library for `platform`, read off their ELF header;
/// empty where nothing does. Of a platform that vcap does not know, the processor is not looked
/// at. Nothing is loaded or run. Thread-safe.
VCAP_EXPORT std::string elf_header_fault(std::span<const std::byte> library,
                                         std::string_view platform);

}  // namespace vcap
