// SPDX-License-Identifier: Apache-2.0
#include "cli/foreign_exit.hpp"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/thread_annotations.hpp"
#include "capsule/current_capsule.hpp"
#include "cli/console.hpp"
#include "cli/exit_code.hpp"

namespace vcap::cli {
namespace {

/// The longest that the process lives on after a foreign exit, whatever else happens.
constexpr std::chrono::minutes kLongestEnd{5};

/// Who ends the process at a foreign exit. The first one decides; later ones wait for the end.
enum class Ender {
  caller,      ///< the thread that calls exit()
  main,        ///< main, which waits for work and is woken
  caller_now,  ///< there was a foreign exit; its thread is ending the process
  main_now,    ///< there was a foreign exit; main is ending the process
  command      ///< the command's work is done, and it ends the process itself
};

std::atomic<Ender> ender = Ender::caller;
/// 0 while exits are not watched. A child of fork() has another id.
std::atomic<pid_t> watched_process = 0;

/// What the first foreign exit calls.
struct Calls {
  Mutex mutex{};
  std::function<void()> finish VCAP_GUARDED_BY(mutex){};
  std::function<void()> wake VCAP_GUARDED_BY(mutex){};
};

Calls& calls() {
  // Never destroyed: exits come until the end.
  static Calls& instance = *new Calls;
  return instance;
}

[[noreturn]] void wait_for_the_end() noexcept {
  for (;;) ::pause();
}

void report_exit(std::string_view name) {
  const std::string_view capsule = current_capsule();
  Console::shared().line(
      "vcap: " +
      (capsule.empty() ? std::string("code in this process, such as a capsule's or a library's,")
                       : std::string(capsule)) +
      " ended the process by " + std::string(name) +
      ". This is a failure, whatever its exit code. Run without that capsule, or ask its author to "
      "throw an exception instead");
}

/// The end is bounded, even if what follows hangs.
void bound_the_end() noexcept {
  try {
    std::thread([] {
      std::this_thread::sleep_for(kLongestEnd);
      leave_now(kForeignExit);
    }).detach();
  } catch (...) {
    // No thread: it ends unless something hangs.
  }
}

void run_handler(std::function<void()> Calls::*which) noexcept {
  std::function<void()> function;
  try {
    {
      const MutexLock lock(calls().mutex);
      function = calls().*which;
    }
    if (function) function();
  } catch (const std::exception& error) {
    Console::shared().line(std::string("vcap: ") + error.what());
  } catch (...) {
    Console::shared().line("vcap: something that is not an exception was thrown");
  }
}

/// Returns if this end is not foreign.
void notice_exit(std::string_view name) noexcept {
  if (watched_process != ::getpid() || ender == Ender::command) return;
  Ender now = Ender::caller;
  const bool is_callers = ender.compare_exchange_strong(now, Ender::caller_now);
  if (!is_callers && (now != Ender::main || !ender.compare_exchange_strong(now, Ender::main_now)))
    // Main may just have begun or ended its wait.
    return now == Ender::caller_now || now == Ender::main_now ? wait_for_the_end()
                                                              : notice_exit(name);
  bound_the_end();
  try {
    report_exit(name);
  } catch (...) {
    // No memory for the message.
  }
  if (!is_callers) {
    run_handler(&Calls::wake);
    wait_for_the_end();
  }
  run_handler(&Calls::finish);
  leave_now(kForeignExit);
}

/// Ends the process as other code asked by `_exit()` or `_Exit()`, which the command never calls.
[[noreturn]] void end_as_asked(int exit_code) noexcept {
  if (watched_process != ::getpid()) leave_now(exit_code);
  // Directly: the objects of the program may be destroyed already.
  constexpr std::string_view kText =
      "vcap: code of a capsule or library ended the process while it was ending. This is a "
      "failure, whatever its exit code\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
  leave_now(kForeignExit);
}

// The C library itself calls its exit(), as err() does. Handlers that were added later come first.
void on_exit() { notice_exit("exit()"); }
void on_quick_exit() { notice_exit("quick_exit()"); }

/// Calls the C library's function of that name, which the program defines, too.
[[noreturn]] void end_by(const char* name, int exit_code) {
  if (void* const own = ::dlsym(RTLD_NEXT, name)) reinterpret_cast<void (*)(int)>(own)(exit_code);
  leave_now(exit_code);
}

}  // namespace

void leave_now(int exit_code) noexcept {
  for (;;) ::syscall(SYS_exit_group, exit_code);
}

void begin_watching_exits() {
  calls();
  watched_process = ::getpid();
  renew_exit_watch();
}

// If a handler cannot be added, the one before stays.
void renew_exit_watch() {
  std::atexit(on_exit);
  std::at_quick_exit(on_quick_exit);
}

void end_watching_exits() noexcept {
  Ender now = Ender::caller;
  if (ender.compare_exchange_strong(now, Ender::command)) return;
  if (now == Ender::caller_now) wait_for_the_end();
  leave_now(kForeignExit);
}

bool has_foreign_exit() noexcept {
  const Ender now = ender;
  return now == Ender::caller_now || now == Ender::main_now;
}

FinishAtForeignExit::FinishAtForeignExit(std::function<void()> finish) {
  const MutexLock lock(calls().mutex);
  calls().finish = std::move(finish);
}

FinishAtForeignExit::~FinishAtForeignExit() {
  {
    const MutexLock lock(calls().mutex);
    calls().finish = nullptr;
  }
  // A thread that ends the process may have taken it before, and what it uses is destroyed next.
  if (ender == Ender::caller_now) wait_for_the_end();
}

MainEndsAtForeignExit::MainEndsAtForeignExit(std::function<void()> wake) {
  {
    const MutexLock lock(calls().mutex);
    calls().wake = std::move(wake);
  }
  Ender now = Ender::caller;
  if (!ender.compare_exchange_strong(now, Ender::main)) wait_for_the_end();
}

MainEndsAtForeignExit::~MainEndsAtForeignExit() {
  Ender now = Ender::main;
  ender.compare_exchange_strong(now, Ender::caller);
  const MutexLock lock(calls().mutex);
  calls().wake = nullptr;
}

}  // namespace vcap::cli

// The dynamic linker binds the calls of capsules and libraries to these definitions, since those of
// the program come first. The C library's own functions do not use them.
extern "C" {

// Before the handlers of libraries, which destroy what other threads still use.
__attribute__((visibility("default"))) void exit(int exit_code) noexcept {
  vcap::cli::notice_exit("exit()");
  vcap::cli::end_by("exit", exit_code);
}

__attribute__((visibility("default"))) void quick_exit(int exit_code) noexcept {
  vcap::cli::notice_exit("quick_exit()");
  vcap::cli::end_by("quick_exit", exit_code);
}

__attribute__((visibility("default"))) void _exit(int exit_code) {
  vcap::cli::notice_exit("_exit()");
  vcap::cli::end_as_asked(exit_code);
}

__attribute__((visibility("default"))) void _Exit(int exit_code) noexcept {
  vcap::cli::notice_exit("_Exit()");
  vcap::cli::end_as_asked(exit_code);
}

}  // extern "C"
