// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "files/byte_reader.hpp"
#include "vcap/capsule/plugin.hpp"

namespace vcap {

/// A capsule's library as part of this process.
///
/// Its bytes are copied into a sealed memory file, which cannot change any more. Their digest and
/// ELF tables are checked there, and that file is loaded, so that what was checked is what runs. A
/// library stays loaded, since unloading native code is not safe; each digest is loaded once per
/// process.
struct PluginLibrary {
  std::span<const std::byte> bytes{};
  /// In place of `bytes`: gives them in blocks, of a file that may be truncated meanwhile.
  std::function<void(const TakeBlock&)> read_blocks{};
  std::string sha256{};   ///< the digest that the bytes must have
  std::string capsule{};  ///< the capsule's name, for debuggers: "memfd:vcap-<name>-<digest>"
  std::string entry{};    ///< its name in the capsule; empty if it is not from a capsule
  std::string subject{};  ///< for messages, such as `capsule file "a.cap": entry "lib/…"`
};

/// Loads the library if that was not done yet, with the libraries that it needs, which runs their
/// constructors. Then looks up its entry function. Throws InvalidCapsuleError (digest_mismatch,
/// invalid_library, unsafe_library, no_entry_symbol), IncompatibleCapsuleError
/// (missing_dependency), what `read_blocks` throws; CapsuleLoadError (invalid_library) if this
/// process lacks memory or descriptors. Thread-safe.
PluginEntry load_plugin_library(const PluginLibrary& library);

}  // namespace vcap
