// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>

#include "support/elf_writer.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {

/// A library that is wrong in one way.
struct UnfitLibrary {
  const char* name;  ///< unique
  Elf elf;
  ErrorCode code;
  const char* message;  ///< a part of the error message

  friend void PrintTo(const UnfitLibrary& one, std::ostream* out) { *out << one.name; }
};

}  // namespace vcap::test
