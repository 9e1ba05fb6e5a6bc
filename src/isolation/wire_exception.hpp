// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

#include "isolation/wire.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// Writes an exception with its text, its code and what else its type has. Of a type that the other
/// side cannot know, such as an author's own, it goes as the nearest of vcap's, the standard
/// library's and OpenCV's types that it derives from. Thread-safe.
VCAP_EXPORT void write_exception(WireWriter& wire, const std::exception_ptr& thrown);

/// Throws what write_exception() wrote, or Error (misbehaving_capsule) if that was something else.
/// Thread-safe.
[[noreturn]] VCAP_EXPORT void throw_exception(WireReader& wire);

}  // namespace vcap
