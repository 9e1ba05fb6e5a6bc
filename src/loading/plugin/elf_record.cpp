// SPDX-License-Identifier: Apache-2.0
#include "loading/plugin/elf_record.hpp"

#include <array>
#include <charconv>

namespace vcap {

void invalid_library(const std::string& text) { throw ElfFault(ErrorCode::invalid_library, text); }

void unsafe_library(const std::string& text) { throw ElfFault(ErrorCode::unsafe_library, text); }

void damaged_library(const std::string& text) { invalid_library("is damaged: its " + text); }

void ends_early(std::string_view what) {
  damaged_library(std::string(what) + " is beyond the end of the file");
}

std::string hexadecimal(std::uint64_t value) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
  return "0x" + std::string(digits.data(), end);
}

}  // namespace vcap
