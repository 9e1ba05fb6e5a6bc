// SPDX-License-Identifier: Apache-2.0
#include "loading/plugin/plugin_library.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <system_error>
#include <utility>

#include "base/other_mutexes.hpp"
#include "base/thread_annotations.hpp"
#include "files/digest.hpp"
#include "files/mapped_file.hpp"
#include "files/sealed_memory.hpp"
#include "loading/plugin/elf_library.hpp"
#include "loading/plugin/host_libraries.hpp"
#include "vcap/base/abi.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

[[noreturn]] void fail(const PluginLibrary& library, ErrorCode code, const std::string& fault) {
  throw InvalidCapsuleError(code, library.subject + " " + fault, library.entry);
}

/// A sealed memory file with a copy of the library's bytes.
OpenFile make_sealed_copy(const PluginLibrary& library) {
  try {
    // The kernel allows names of up to 249 bytes; 100 of the capsule's name are enough.
    const std::string name =
        "vcap-" + library.capsule.substr(0, 100) + "-" + library.sha256.substr(0, 8);
    SealedMemory memory(name.c_str());
    if (library.read_blocks)
      library.read_blocks([&memory](std::span<const std::byte> block) { memory.append(block); });
    else
      memory.append(library.bytes);
    return memory.seal_file();
  } catch (const std::system_error& error) {
    throw CapsuleLoadError(
        ErrorCode::invalid_library,
        library.subject + " cannot be copied into memory: " + error.code().message(),
        library.entry);
  }
}

std::shared_ptr<const MappedFile> map_copy(const PluginLibrary& library, const OpenFile& file) {
  try {
    return MappedFile::map(file);
  } catch (const std::system_error& error) {
    throw CapsuleLoadError(ErrorCode::invalid_library,
                           library.subject + " cannot be mapped: " + error.code().message(),
                           library.entry);
  }
}

void check_digest(const PluginLibrary& library, std::span<const std::byte> copy) {
  const std::string digest = sha256(copy);
  if (digest != library.sha256)
    fail(library, ErrorCode::digest_mismatch,
         "has SHA-256 " + digest + ", but should have " + library.sha256 +
             "; it was changed while it was read, load it again");
}

/// A path to the open file that also works for a debugger, which is another process.
std::string path_of(int fd) {
  // Not getpid(): in a container, /proc may use other process ids.
  std::array<char, 32> process{};
  const ssize_t size = ::readlink("/proc/self", process.data(), process.size());
  const std::string self =
      size > 0 ? std::string(process.data(), static_cast<std::size_t>(size)) : "self";
  return "/proc/" + self + "/fd/" + std::to_string(fd);
}

/// The libraries of this process, by digest.
class Table {
 public:
  void* handle_of(const PluginLibrary& library) {
    // Held while loading, since the dynamic linker loads only one at a time anyway. Recursive,
    // since a library's constructor may load a capsule.
    const ExclusiveLock lock(mutex_);
    if (const auto found = handles_.find(library.sha256); found != handles_.end())
      return found->second;
    // Allocates the table entry first: a library that is loaded but not in the table would be
    // loaded again.
    std::map<std::string, void*> made{{library.sha256, nullptr}};
    auto place = made.extract(made.begin());
    void* const handle = place.mapped() = load(library);
    handles_.insert(std::move(place));
    return handle;
  }

 private:
  void* load(const PluginLibrary& library) VCAP_REQUIRES(mutex_) {
    OpenFile file = make_sealed_copy(library);
    const std::string path = path_of(file.fd.get());
    {
      // All checks use the copy, so that what was checked is what runs.
      const auto copy = map_copy(library, file);
      check_digest(library, copy->bytes());
      const ElfLibrary elf =
          check_elf_library(copy->bytes(), platform(), library.subject, library.entry);
      load_host_libraries(elf, library.subject, library.entry);
    }
    // From here on the descriptor stays open. The linker identifies a library by its path, so this
    // descriptor's number must never be used for another file.
    const int fd = file.fd.release();
    // An exception during loading, such as from a static object's constructor, reaches the linker,
    // which ends the process. It cannot be caught here.
    void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* const reason = ::dlerror();
      const std::string text = reason != nullptr ? reason : "unknown reason";
      ::close(fd);
      fail(library, ErrorCode::invalid_library,
           "cannot be loaded: " + text +
               "; check with `ldd -r` that this host has everything that it needs");
    }
    if (std::ranges::any_of(handles_, [&](const auto& known) { return known.second == handle; }))
      throw CapsuleLoadError(ErrorCode::invalid_library,
                             library.subject +
                                 " was confused with another library, because other code closed "
                                 "file descriptors of vcap",
                             library.entry);
    return handle;
  }

  RecursiveMutex mutex_;
  std::map<std::string, void*> handles_ VCAP_GUARDED_BY(mutex_);
};

Table& table() {
  // Never destroyed: capsules may be loaded until the last static object is destroyed.
  static Table& instance = *new Table;
  return instance;
}

}  // namespace

PluginEntry load_plugin_library(const PluginLibrary& library) {
  void* const handle = table().handle_of(library);
  void* const symbol = ::dlsym(handle, kPluginEntrySymbol);
  if (symbol == nullptr)
    fail(library, ErrorCode::no_entry_symbol,
         "has no symbol " + std::string(kPluginEntrySymbol) +
             "; write VCAP_CAPSULE(YourCapsule) in one of its sources");
  return reinterpret_cast<PluginEntry>(symbol);
}

}  // namespace vcap
