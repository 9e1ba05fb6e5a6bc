// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "vcap/base/export.hpp"
#include "vcap/capsule/plugin.hpp"

namespace vcap {

/// A capsule's library as a part of this process.
///
/// Its bytes are copied into a sealed memory file, which nobody can change any more; their digest
/// is taken and their ELF tables are read there, and that file is loaded: what was checked is what
/// runs. A library stays for good, since unloading native code is not safe, and one digest is
/// loaded once in a process.
struct PluginLibrary {
  std::span<const std::byte> bytes{};
  std::string sha256{};   ///< what the bytes must have
  std::string capsule{};  ///< the capsule's name, for debuggers: "memfd:vcap-<name>-<digest>"
  std::string entry{};    ///< its name in the capsule; empty where it comes from none
  std::string subject{};  ///< for messages, such as `capsule file "a.cap": entry "lib/…"`
};

/// Loads the library where that was not done yet, with those that it needs, which runs their
/// constructors, and looks up its entry. Throws InvalidCapsuleError (digest_mismatch,
/// invalid_library, unsafe_library, no_entry_symbol), IncompatibleCapsuleError
/// (missing_dependency); CapsuleLoadError (invalid_library) where this process lacks memory or
/// descriptors. Thread-safe.
VCAP_EXPORT PluginEntry load_plugin_library(const PluginLibrary& library);

}  // namespace vcap
