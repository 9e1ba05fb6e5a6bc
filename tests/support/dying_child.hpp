// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

/// Loads a library in a child process, which may die.
namespace vcap::test {

/// How the child ended.
enum class LoadEnd {
  loaded,          ///< loaded and unloaded
  refused,         ///< dlopen(3) gave an error
  died_in_linker,  ///< by a signal or an assertion, before any code of the library had run
  died_in_code,    ///< by a signal while code of the library was running, or it ended the process
  hung,            ///< in the linker, for longer than the deadline
};

namespace dying {

constexpr const char* kName = "vcap-mutant";
constexpr int kLoaded = 50, kRefused = 51, kLinker = 52, kCode = 53, kHung = 54, kUnprepared = 55;
/// The linker's exit code for its own assertions.
constexpr int kFatal = 127;
inline std::uintptr_t stack_begin = 0, stack_end = 0;

struct CodeRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool has(std::uintptr_t address) const { return address >= begin && address < end; }
};

/// Calls `visit` with each range of code and the text behind it, which ends with the file's path.
/// Allocates nothing, for a signal handler.
template <class Visit>
void each_code(Visit visit) {
  static char text[1 << 18];
  const int fd = ::open("/proc/self/maps", O_RDONLY);
  std::size_t size = 0;
  for (ssize_t count = 0; (count = ::read(fd, text + size, sizeof text - 1 - size)) > 0;)
    size += static_cast<std::size_t>(count);
  text[size] = '\0';
  for (char* line = text; *line != '\0';) {
    char* const end = std::strchr(line, '\n');
    if (end == nullptr) break;
    *end = '\0';
    // Such as: 7f0012340000-7f0012350000 r-xp 00001000 00:01 77 /memfd:vcap-mutant (deleted)
    char* rest = nullptr;
    CodeRange one{.begin = std::strtoull(line, &rest, 16)};
    one.end = std::strtoull(rest + 1, &rest, 16);
    if (rest[3] == 'x') visit(one, rest);
    line = end + 1;
  }
}

/// Where the code of a file with that in its name is mapped; empty if it is not.
inline CodeRange code_range(const char* name) {
  CodeRange found;
  each_code([&](const CodeRange& one, const char* text) {
    if (std::strstr(text, name) != nullptr) found = one;
  });
  return found;
}

/// Whether a library is running that the linker itself does not call: after the library's own
/// libraries are loaded, it only calls those of the C library.
inline bool in_other_library(std::uintptr_t place) {
  bool is_other = false;
  each_code([&](const CodeRange& one, const char* text) {
    if (one.has(place))
      is_other = std::strstr(text, ".so") != nullptr && std::strstr(text, "/ld-linux") == nullptr &&
                 std::strstr(text, "/libc.so") == nullptr;
  });
  return is_other;
}

/// Whether an address in the library follows a call, so that it may be a return address.
inline bool follows_call(std::uintptr_t address, const CodeRange& code) {
  if (!code.has(address - 8)) return false;
#if defined(__aarch64__)
  const auto before = *reinterpret_cast<const std::uint32_t*>(address - 4);
  return (before & 0xfc000000u) == 0x94000000u || (before & 0xfffffc1fu) == 0xd63f0000u;
#else
  const auto byte = [address](std::uintptr_t back) {
    return *reinterpret_cast<const unsigned char*>(address - back);
  };
  const auto is_indirect = [&](std::uintptr_t back) {
    return byte(back) == 0xff && (byte(back - 1) & 0x38) == 0x10;
  };
  return byte(5) == 0xe8 || is_indirect(2) || is_indirect(3) || is_indirect(6);
#endif
}

/// Whether the library's code is running, or has called what is running.
inline bool in_code(const ucontext_t& context) {
  const CodeRange code = code_range(kName);
  if (code.begin == 0) return false;
#if defined(__aarch64__)
  const std::uintptr_t place = context.uc_mcontext.pc;
  const std::uintptr_t stack = context.uc_mcontext.sp;
  if (follows_call(context.uc_mcontext.regs[30], code)) return true;
#else
  const auto place = static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
  const auto stack = static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RSP]);
#endif
  if (code.has(place) || place == code.end) return true;  // at the end: it has run off the page
  if (in_other_library(place)) return true;  // an initialiser may be a jump to another library
  if (stack < stack_begin) return false;     // nothing that could be read
  constexpr std::uintptr_t kMost = 256u << 10;
  const std::uintptr_t begin = stack / sizeof(std::uintptr_t) * sizeof(std::uintptr_t);
  for (std::uintptr_t at = begin; at < stack_end && at - begin < kMost; at += sizeof(at)) {
    const auto value = *reinterpret_cast<const std::uintptr_t*>(at);
    if (code.has(value) && follows_call(value, code)) return true;
  }
  return false;
}

/// Whether the library's code has jumped to where no code is. If the linker calls such a place, the
/// call leaves a return address into the linker; before a jump, code of the library ran, such as
/// the beginning of its table of calls, which first pushes something else.
inline bool was_jump_of_code(const siginfo_t& info, const ucontext_t& context) {
#if defined(__aarch64__)
  const std::uintptr_t place = context.uc_mcontext.pc;
  const std::uintptr_t back = context.uc_mcontext.regs[30];
#else
  const auto place = static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
  const auto stack = static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RSP]);
  if (stack < stack_begin || stack >= stack_end) return false;
  const auto back = *reinterpret_cast<const std::uintptr_t*>(stack);
#endif
  if (info.si_signo != SIGSEGV || reinterpret_cast<std::uintptr_t>(info.si_addr) != place)
    return false;
  return code_range(kName).begin != 0 && !code_range("/ld-linux").has(back);
}

inline void on_signal(int number, siginfo_t* info, void* context) {
  const auto& then = *static_cast<const ucontext_t*>(context);
  const bool is_own = in_code(then) || was_jump_of_code(*info, then);
  ::_exit(is_own ? kCode : number == SIGALRM ? kHung : kLinker);
}

inline void watch(unsigned seconds) {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  pthread_attr_t attributes;
  void* lowest = nullptr;
  std::size_t size = 0;
  if (::pthread_getattr_np(::pthread_self(), &attributes) == 0 &&
      ::pthread_attr_getstack(&attributes, &lowest, &size) == 0)
    stack_end = (stack_begin = reinterpret_cast<std::uintptr_t>(lowest)) + size;
  static char stack[1 << 16];
  const stack_t alternative{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  ::sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_sigaction = &on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGALRM})
    ::sigaction(number, &action, nullptr);
  ::alarm(seconds);
}

[[noreturn]] inline void load_and_end(const std::string& bytes, unsigned seconds) {
  const int fd = ::memfd_create(kName, 0);
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count = ::write(fd, bytes.data() + written, bytes.size() - written);
    if (count <= 0) ::_exit(kUnprepared);
    written += static_cast<std::size_t>(count);
  }
  // What the linker and the library say is of no interest.
  if (std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(kUnprepared);
  watch(seconds);
  void* const handle =
      ::dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) ::_exit(kRefused);
  static_cast<void>(::dlsym(handle, "vcap_capsule_plugin"));
  ::dlclose(handle);  // runs its finalisers
  ::_exit(kLoaded);
}

}  // namespace dying

/// Loads the bytes with dlopen(3), looks up a symbol and unloads them, all in a child process. Call
/// it from the main thread.
inline LoadEnd load_in_child(const std::string& bytes, unsigned seconds = 20) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) dying::load_and_end(bytes, seconds);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw std::runtime_error("cannot wait for a child");
  if (!WIFEXITED(status)) return LoadEnd::died_in_linker;
  switch (WEXITSTATUS(status)) {
    case dying::kLoaded:
      return LoadEnd::loaded;
    case dying::kRefused:
      return LoadEnd::refused;
    case dying::kHung:
      return LoadEnd::hung;
    case dying::kLinker:
    case dying::kFatal:
      return LoadEnd::died_in_linker;
    case dying::kUnprepared:
      throw std::runtime_error("a child could not be prepared");
    default:  // the code died, or it called exit()
      return LoadEnd::died_in_code;
  }
}

}  // namespace vcap::test
