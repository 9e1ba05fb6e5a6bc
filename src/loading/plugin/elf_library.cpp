// SPDX-License-Identifier: Apache-2.0
#include "loading/plugin/elf_library.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "loading/plugin/elf_image.hpp"
#include "loading/plugin/elf_relocations.hpp"
#include "loading/plugin/elf_symbols.hpp"
#include "loading/plugin/elf_versions.hpp"
#include "vcap/capsule/plugin.hpp"

namespace vcap {
namespace {

struct Machine {
  std::string_view platform;
  unsigned number;
};
constexpr Machine kMachines[] = {{"linux-x86_64", EM_X86_64}, {"linux-aarch64", EM_AARCH64}};

std::optional<unsigned> machine_of(std::string_view platform) {
  const auto found = std::ranges::find(kMachines, platform, &Machine::platform);
  return found == std::end(kMachines) ? std::nullopt : std::optional(found->number);
}

// Of the kernel, for a file's name and for a path. The linker copies both to the stack, which may
// be small.
constexpr std::size_t kLongestFileName = 255;
constexpr std::size_t kLongestPath = 4096;

/// The linker omits a folder from its search if the path is not below the library's own.
bool is_below_origin(std::string_view folder) {
  constexpr std::string_view kOrigins[] = {"$ORIGIN", "${ORIGIN}"};
  const auto origin = std::ranges::find_if(
      kOrigins, [folder](std::string_view one) { return folder.starts_with(one); });
  if (origin == std::end(kOrigins)) return false;
  folder.remove_prefix(origin->size());
  if (!folder.empty() && folder.front() != '/') return false;
  while (!folder.empty()) {
    folder.remove_prefix(1);
    const std::string_view part = folder.substr(0, folder.find('/'));
    if (part == "..") return false;
    folder.remove_prefix(part.size());
  }
  return true;
}

/// DT_RPATH and DT_RUNPATH: folders that the linker searches before the system's folders.
void check_search_paths(const ElfImage& image) {
  for (const std::int64_t tag : {DT_RPATH, DT_RUNPATH}) {
    for (const std::uint64_t offset : image.all(tag)) {
      const std::string text = image.text(offset);
      if (text.empty()) continue;  // left behind when a path was removed; the linker ignores it
      if (text.size() > kLongestPath)
        unsafe_library("has a search path (RPATH) of " + std::to_string(text.size()) + " bytes; " +
                       std::to_string(kLongestPath) + " are allowed; link it without -rpath");
      std::string_view rest = text;
      for (bool is_last = false; !is_last;) {
        const std::size_t end = rest.find(':');
        is_last = end == rest.npos;
        if (!is_below_origin(rest.substr(0, end)))
          unsafe_library("has the search path (RPATH) " + quote(rest.substr(0, end)) +
                         ", which is not below $ORIGIN; link it without -rpath, in CMake with "
                         "BUILD_WITH_INSTALL_RPATH ON");
        if (!is_last) rest.remove_prefix(end + 1);
      }
    }
  }
}

std::vector<ElfLibrary::Needed> read_needed(const ElfImage& image) {
  std::vector<ElfLibrary::Needed> needed;
  for (const std::uint64_t offset : image.all(DT_NEEDED)) {
    std::string name = image.text(offset);
    if (name.empty()) invalid_library("is damaged: it needs a library without a name");
    if (name.size() > kLongestFileName)
      invalid_library("needs a library whose name has " + std::to_string(name.size()) +
                      " bytes; a file's name has at most " + std::to_string(kLongestFileName));
    if (name.find_first_of("/$") != name.npos)
      unsafe_library("needs the library " + quote(name) +
                     " by its path; link it by its name (-l), or give that library a soname");
    needed.push_back({.name = std::move(name)});
  }
  return needed;
}

/// DT_SONAME: the linker compares it with the names of libraries that are loaded later.
void check_own_name(const ElfImage& image) {
  if (const auto offset = image.one(DT_SONAME)) static_cast<void>(image.text(*offset));
}

}  // namespace

ElfLibrary read_elf_library(std::span<const std::byte> bytes, std::string_view platform) {
  const ElfImage image(bytes, machine_of(platform));
  check_search_paths(image);
  check_own_name(image);
  ElfLibrary library{.needed = read_needed(image)};
  const ElfSymbols symbols(image);
  if (const std::string fault = symbols.function_fault(kPluginEntrySymbol); !fault.empty())
    throw ElfFault(ErrorCode::no_entry_symbol,
                   fault + "; write VCAP_CAPSULE(YourCapsule) in one of its sources");
  ElfRanges tables = image.tables();
  symbols.add_tables(tables);
  read_versions(image, symbols, library.needed, tables);
  symbols.check();
  auto used = check_relocations(image, symbols, std::move(tables));
  library.thread_variables = std::move(used.thread_variables);
  library.called_functions = std::move(used.called_functions);
  return library;
}

ElfLibrary check_elf_library(std::span<const std::byte> bytes, std::string_view platform,
                             const std::string& subject, const std::string& entry) {
  try {
    return read_elf_library(bytes, platform);
  } catch (const ElfFault& fault) {
    std::string text = subject + " " + fault.what();
    if (fault.code() == ErrorCode::invalid_library)
      text += "; build it as a shared library for " + std::string(platform);
    throw InvalidCapsuleError(fault.code(), text, entry);
  }
}

}  // namespace vcap
