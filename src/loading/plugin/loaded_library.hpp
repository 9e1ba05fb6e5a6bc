// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vcap {

/// Tables of a library that the linker has loaded. Its bytes belong to the host, and the linker has
/// already read them, so they are not checked. Thread safety: thread-safe while it stays loaded.
class LoadedLibrary {
 public:
  /// `base`: what the linker adds to addresses in the library. `dynamic`: its dynamic section; null
  /// if it has none.
  LoadedLibrary(std::uintptr_t base, const ElfW(Dyn) * dynamic) : base_(base), dynamic_(dynamic) {}
  /// For a handle of dlopen(3).
  static LoadedLibrary of(void* handle);

  /// Whether symbols with this version are available, by the linker's rules.
  bool has_version(std::string_view version) const;
  /// Whether its symbols have versions at all. The linker ends the process if they have none, but a
  /// library asks for versions of them.
  bool has_symbol_versions() const { return dynamic_ == nullptr || pointer(DT_VERSYM).has_value(); }
  /// The type (STT_FUNC, …) of the symbol that it defines; `nullopt` if it defines none.
  std::optional<unsigned> type_of(const std::string& symbol) const;

 private:
  std::optional<std::uintptr_t> pointer(std::int64_t tag) const;
  std::optional<std::uint64_t> index_by_gnu(std::uintptr_t table, const std::string& symbol) const;
  std::optional<std::uint64_t> index_by_system_v(std::uintptr_t table,
                                                 const std::string& symbol) const;
  bool defines(std::uint64_t index, const std::string& symbol) const;

  std::uintptr_t base_;
  const ElfW(Dyn) * dynamic_;
};

/// Whether a type of symbol (STT_FUNC, …) is the wanted kind.
using IsKind = bool (*)(unsigned type);
inline bool is_thread_variable_type(unsigned type) noexcept { return type == STT_TLS; }
/// Functions in assembly code may have no type.
inline bool is_function_type(unsigned type) noexcept {
  return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

/// The name of a library of this process that defines the symbol, but as another kind; `nullopt` if
/// there is none. The program itself is "the program". Thread-safe.
std::optional<std::string> library_with_other_kind(const std::string& symbol, IsKind is_kind);

}  // namespace vcap
