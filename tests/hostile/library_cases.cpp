// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "hostile/hostile_case.hpp"
#include "loading/capsule_builder.hpp"
#include "support/unfit_libraries.hpp"

namespace vcap::test {
namespace {

constexpr auto kMissing = ErrorCode::missing_dependency;
constexpr auto kNoLibrary = ErrorCode::invalid_library;

std::string capsule_with(const std::string& library) {
  return CapsuleBuilder(library, fixture::info("fixture")).bytes();
}

HostileCase whole(std::string name, std::string fault, const std::string& library) {
  return {"library.whole." + std::move(name), std::move(fault), kNoLibrary,
          [library] { return capsule_with(library); }};
}

/// A sound library that needs a library or symbol version that this host lacks.
HostileCase homeless(std::string name, std::string fault, Elf elf) {
  return {"library.host." + std::move(name), std::move(fault), kMissing,
          [elf = std::move(elf)] { return capsule_with(elf_bytes(elf)); }};
}

}  // namespace

HostileCases library_cases() {
  HostileCases cases;
  for (const UnfitLibrary& one : unfit_libraries())
    cases.push_back({std::string("library.") + one.name, std::string("refused for ") + one.message,
                     one.code, [elf = one.elf] { return capsule_with(elf_bytes(elf)); }});

  cases.push_back(whole("empty", "no byte", ""));
  cases.push_back(whole("text", "no library but text", "int main() { return 0; }\n"));
  cases.push_back(whole("script", "a linker's script", "GROUP ( /lib/libc.so.6 )\n"));
  cases.push_back(whole("archive", "a static library", "!<arch>\n" + std::string(120, ' ')));
  cases.push_back(whole("zeros", "64 KiB of zeros", std::string(1 << 16, '\0')));
  cases.push_back(whole("magic", "ELF's first four bytes and no more", "\177ELF"));
  cases.push_back(whole("twice_cut", "the first page of a library", elf_bytes().substr(0, 4096)));

  cases.push_back(homeless("library", "needs a library that is not there",
                           {.needed = {"libvcap_of_nobody.so.7"}, .versions = {}}));
  cases.push_back(homeless("second", "needs one that is there, and one that is not",
                           {.needed = {"libc.so.6", "libvcap_of_nobody.so.7"}}));
  cases.push_back(homeless("version", "needs a version of symbols that is not there",
                           {.versions = {{.library = "libc.so.6", .versions = {"GLIBC_9.99"}}}}));
  cases.push_back(
      homeless("second_version", "needs one version that is there, and one that is not",
               {.versions = {{.library = "libc.so.6", .versions = {kLibcVersion, "GLIBC_9.99"}}}}));

  Elf thread = with_relocations({relocation(kDataAt, kThreadOffset, 2, 0)});
  thread.symbols.push_back({.name = "malloc", .type = STT_TLS, .section = SHN_UNDEF, .value = 0});
  cases.push_back(homeless("thread", "takes a function of the host for a thread-local variable",
                           std::move(thread)));
  Elf initialiser = with_initialiser({relocation(kDataAt, kAbsolute, 2, 0)});
  initialiser.symbols.push_back({.name = "environ"});
  cases.push_back(homeless("initialiser", "has an initialiser with the name of a host's variable",
                           std::move(initialiser)));

  // The entry function returns null; no check of the file can detect that.
  cases.push_back({"library.entry.null", "an entry that gives nothing", ErrorCode::invalid_library,
                   [] { return capsule_with(elf_bytes()); }});
  return cases;
}

}  // namespace vcap::test
