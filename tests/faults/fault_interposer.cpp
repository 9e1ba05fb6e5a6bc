// SPDX-License-Identifier: Apache-2.0
//
// Replaces the C library's allocation and file system calls (LD_PRELOAD), and makes the n-th one
// fail while it is armed. Counts calls of all threads, but not of the libraries listed below.
//
// These callers are left out, since they do not survive a failed allocation in any program:
//   libtbb            ends the process, or loses a worker, if its scheduler gets no memory
//   ld-linux          keeps a half-loaded library; glibc guarantees nothing for this case
// Calls inside the C library itself (dlopen's mmap, fopen's open, a thread's stack) do not reach
// this file.
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <new>

#include "faults.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* memory);
}

namespace {

constexpr const char* kLeftOut[] = {"libtbb", "ld-linux"};

std::atomic<int> armed{-1};  ///< a Kind, or -1 if not armed
std::atomic<long> calls{0};
std::atomic<long> nth{0};
std::atomic<const char*> failed_call{nullptr};
std::atomic<long> outstanding{0};
void* failed_stack[64];
std::atomic<int> failed_stack_size{0};

struct Library {
  std::uintptr_t begin;
  std::uintptr_t end;
  bool is_left_out;
};
Library libraries[512];
std::atomic<std::size_t> library_count{0};

int note_library(dl_phdr_info* info, std::size_t, void* found) {
  const auto& place = *static_cast<std::uintptr_t*>(found);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || place < begin || place - begin >= segment.p_memsz) continue;
    Library library{begin, begin + segment.p_memsz, false};
    for (const char* const name : kLeftOut)
      if (std::strstr(info->dlpi_name, name) != nullptr) library.is_left_out = true;
    // Only one thread at a time writes here: the linker holds its lock around this function.
    const std::size_t count = library_count;
    if (count < std::size(libraries)) {
      libraries[count] = library;
      library_count = count + 1;
    }
    return library.is_left_out ? 2 : 1;
  }
  return 0;
}

bool is_left_out(void* caller) {
  auto place = reinterpret_cast<std::uintptr_t>(caller);
  for (std::size_t i = 0, count = library_count; i < count; ++i)
    if (place >= libraries[i].begin && place < libraries[i].end) return libraries[i].is_left_out;
  return ::dl_iterate_phdr(note_library, &place) == 2;
}

/// Whether this call must fail.
bool fails(faults::Kind kind, void* caller, const char* name) {
  if (armed != kind || is_left_out(caller)) return false;
  if (++calls != nth) return false;
  failed_call = name;
  failed_stack_size = ::backtrace(failed_stack, std::size(failed_stack));
  return true;
}

void* counted(void* memory) {
  if (memory != nullptr) ++outstanding;
  return memory;
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

/// The C library's own function of this name.
#define REAL(name) static const auto real = next<decltype(&::name)>(#name)
#define FAIL_FILE_CALL(name, error, result)                             \
  if (fails(faults::kFileSystem, __builtin_return_address(0), #name)) { \
    errno = error;                                                      \
    return result;                                                      \
  }

}  // namespace

EXPORT void fault_arm(faults::Kind kind, long which) {
  void* first[1];
  ::backtrace(first, 1);  // the first call initialises it
  calls = 0;
  nth = which;
  failed_call = nullptr;
  armed = kind;
}
EXPORT long fault_disarm() {
  armed = -1;
  return calls;
}
EXPORT long fault_outstanding() { return outstanding; }
EXPORT const char* fault_failed_call() { return failed_call; }
EXPORT int fault_failed_stack(void**& callers) {
  callers = failed_stack;
  return failed_stack_size;
}

// Allocation

#define FAIL_ALLOCATION(name)                                          \
  if (fails(faults::kAllocation, __builtin_return_address(0), name)) { \
    errno = ENOMEM;                                                    \
    return nullptr;                                                    \
  }

EXPORT void* malloc(std::size_t size) {
  FAIL_ALLOCATION("malloc")
  return counted(__libc_malloc(size));
}
EXPORT void* calloc(std::size_t count, std::size_t size) {
  FAIL_ALLOCATION("calloc")
  return counted(__libc_calloc(count, size));
}
EXPORT void* realloc(void* old, std::size_t size) {
  FAIL_ALLOCATION("realloc")
  void* const memory = __libc_realloc(old, size);
  if (old == nullptr) return counted(memory);
  if (memory == nullptr && size == 0) --outstanding;
  return memory;
}
EXPORT void* memalign(std::size_t alignment, std::size_t size) {
  FAIL_ALLOCATION("memalign")
  return counted(__libc_memalign(alignment, size));
}
EXPORT void* aligned_alloc(std::size_t alignment, std::size_t size) {
  FAIL_ALLOCATION("aligned_alloc")
  return counted(__libc_memalign(alignment, size));
}
EXPORT int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  if (fails(faults::kAllocation, __builtin_return_address(0), "posix_memalign")) return ENOMEM;
  *result = counted(__libc_memalign(alignment, size));
  return *result != nullptr ? 0 : ENOMEM;
}
EXPORT void free(void* memory) {
  if (memory != nullptr) --outstanding;
  __libc_free(memory);
}

// Does not call malloc(), since the caller of malloc() would then be this library.
#define OPERATOR_NEW(operation, allocate)                                                         \
  if (fails(faults::kAllocation, __builtin_return_address(0), operation)) throw std::bad_alloc(); \
  void* const memory = counted(allocate);                                                         \
  if (memory == nullptr) throw std::bad_alloc();                                                  \
  return memory;

__attribute__((visibility("default"))) void* operator new(std::size_t size) {
  OPERATOR_NEW("operator new", __libc_malloc(size))
}
__attribute__((visibility("default"))) void* operator new[](std::size_t size) {
  OPERATOR_NEW("operator new[]", __libc_malloc(size))
}
__attribute__((visibility("default"))) void* operator new(std::size_t size,
                                                          std::align_val_t alignment) {
  OPERATOR_NEW("aligned new", __libc_memalign(static_cast<std::size_t>(alignment), size))
}
__attribute__((visibility("default"))) void* operator new[](std::size_t size,
                                                            std::align_val_t alignment) {
  OPERATOR_NEW("aligned new[]", __libc_memalign(static_cast<std::size_t>(alignment), size))
}
__attribute__((visibility("default"))) void* operator new(std::size_t size,
                                                          const std::nothrow_t&) noexcept {
  FAIL_ALLOCATION("nothrow new")
  return counted(__libc_malloc(size));
}
__attribute__((visibility("default"))) void* operator new[](std::size_t size,
                                                            const std::nothrow_t&) noexcept {
  FAIL_ALLOCATION("nothrow new[]")
  return counted(__libc_malloc(size));
}
#define OPERATOR_DELETE __attribute__((visibility("default"))) void
OPERATOR_DELETE operator delete(void* memory) noexcept { ::free(memory); }
OPERATOR_DELETE operator delete[](void* memory) noexcept { ::free(memory); }
OPERATOR_DELETE operator delete(void* memory, std::size_t) noexcept { ::free(memory); }
OPERATOR_DELETE operator delete[](void* memory, std::size_t) noexcept { ::free(memory); }
OPERATOR_DELETE operator delete(void* memory, std::align_val_t) noexcept { ::free(memory); }
OPERATOR_DELETE operator delete[](void* memory, std::align_val_t) noexcept { ::free(memory); }
OPERATOR_DELETE operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  ::free(memory);
}
OPERATOR_DELETE operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  ::free(memory);
}

// The file system

#define DEFINE_OPEN(name)                             \
  EXPORT int name(const char* path, int flags, ...) { \
    FAIL_FILE_CALL(name, EMFILE, -1)                  \
    va_list arguments;                                \
    va_start(arguments, flags);                       \
    const mode_t mode = va_arg(arguments, mode_t);    \
    va_end(arguments);                                \
    REAL(name);                                       \
    return real(path, flags, mode);                   \
  }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)

#define DEFINE_OPENAT(name)                                       \
  EXPORT int name(int folder, const char* path, int flags, ...) { \
    FAIL_FILE_CALL(name, EMFILE, -1)                              \
    va_list arguments;                                            \
    va_start(arguments, flags);                                   \
    const mode_t mode = va_arg(arguments, mode_t);                \
    va_end(arguments);                                            \
    REAL(name);                                                   \
    return real(folder, path, flags, mode);                       \
  }
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

#define DEFINE_FCNTL(name)                         \
  EXPORT int name(int fd, int command, ...) {      \
    FAIL_FILE_CALL(name, EMFILE, -1)               \
    va_list arguments;                             \
    va_start(arguments, command);                  \
    const auto argument = va_arg(arguments, long); \
    va_end(arguments);                             \
    REAL(name);                                    \
    return real(fd, command, argument);            \
  }
DEFINE_FCNTL(fcntl)
DEFINE_FCNTL(fcntl64)

EXPORT int close(int fd) {
  REAL(close);
  const int result = real(fd);  // the kernel closes the descriptor even if it reports an error
  FAIL_FILE_CALL(close, EIO, -1)
  return result;
}

#define DEFINE(result, name, error, parameters, arguments) \
  EXPORT result name parameters {                          \
    FAIL_FILE_CALL(name, error, -1)                        \
    REAL(name);                                            \
    return real arguments;                                 \
  }

DEFINE(ssize_t, read, EIO, (int fd, void* to, std::size_t size), (fd, to, size))
DEFINE(ssize_t, pread, EIO, (int fd, void* to, std::size_t size, off_t at), (fd, to, size, at))
DEFINE(ssize_t, write, ENOSPC, (int fd, const void* from, std::size_t size), (fd, from, size))
DEFINE(ssize_t, pwrite, ENOSPC, (int fd, const void* from, std::size_t size, off_t at),
       (fd, from, size, at))
DEFINE(ssize_t, readlink, EIO, (const char* path, char* to, std::size_t size), (path, to, size))
// The same functions as code that is built with _FORTIFY_SOURCE calls them.
DEFINE(ssize_t, __read_chk, EIO, (int fd, void* to, std::size_t size, std::size_t room),
       (fd, to, size, room))
DEFINE(ssize_t, __pread_chk, EIO, (int fd, void* to, std::size_t size, off_t at, std::size_t room),
       (fd, to, size, at, room))
DEFINE(ssize_t, __pread64_chk, EIO,
       (int fd, void* to, std::size_t size, off_t at, std::size_t room), (fd, to, size, at, room))
DEFINE(ssize_t, __readlink_chk, EIO,
       (const char* path, char* to, std::size_t size, std::size_t room), (path, to, size, room))
DEFINE(int, __open_2, EMFILE, (const char* path, int flags), (path, flags))
DEFINE(int, __open64_2, EMFILE, (const char* path, int flags), (path, flags))
DEFINE(int, __openat_2, EMFILE, (int folder, const char* path, int flags), (folder, path, flags))
DEFINE(int, __openat64_2, EMFILE, (int folder, const char* path, int flags), (folder, path, flags))
DEFINE(int, fstat, EIO, (int fd, struct stat* status), (fd, status))
DEFINE(int, stat, EIO, (const char* path, struct stat* status), (path, status))
DEFINE(int, lstat, EIO, (const char* path, struct stat* status), (path, status))
DEFINE(int, fstatat, EIO, (int folder, const char* path, struct stat* status, int flags),
       (folder, path, status, flags))
DEFINE(int, ftruncate, ENOSPC, (int fd, off_t size), (fd, size))
DEFINE(int, memfd_create, EMFILE, (const char* name, unsigned flags), (name, flags))
DEFINE(int, mkdir, ENOSPC, (const char* path, mode_t mode), (path, mode))
DEFINE(int, mkdirat, ENOSPC, (int folder, const char* path, mode_t mode), (folder, path, mode))
DEFINE(int, rename, EIO, (const char* from, const char* to), (from, to))
DEFINE(int, renameat, EIO, (int from_folder, const char* from, int to_folder, const char* to),
       (from_folder, from, to_folder, to))
DEFINE(int, unlink, EIO, (const char* path), (path))
DEFINE(int, unlinkat, EIO, (int folder, const char* path, int flags), (folder, path, flags))
DEFINE(int, mprotect, ENOMEM, (void* at, std::size_t size, int protection), (at, size, protection))

#define DEFINE_MMAP(name)                                                                          \
  EXPORT void* name(void* at, std::size_t size, int protection, int flags, int fd, off_t offset) { \
    FAIL_FILE_CALL(name, ENOMEM, MAP_FAILED)                                                       \
    REAL(name);                                                                                    \
    return real(at, size, protection, flags, fd, offset);                                          \
  }
DEFINE_MMAP(mmap)
DEFINE_MMAP(mmap64)
