// SPDX-License-Identifier: Apache-2.0
#include "capsule/host_guard.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <clocale>
#include <locale>
#include <optional>
#include <utility>

#include "base/thread_annotations.hpp"
#include "capsule/floating_modes.hpp"
#include "vcap/base/log.hpp"

namespace vcap::detail {
namespace {

std::string name_of(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

/// What the kernel reports about a process in one text: much cheaper than a call for each signal,
/// and the only way to read the umask without changing it.
struct Status {
  std::optional<mode_t> umask{};
  /// Signals that are ignored, and signals that have a handler: bit 0 is signal 1.
  std::optional<std::uint64_t> ignored{}, caught{};
};

template <class Value>
std::optional<Value> field_of(std::string_view status, std::string_view name, int base) {
  const std::size_t at = status.find(name);
  if (at == status.npos) return {};
  Value value{};
  const char* const end = status.data() + status.size();
  const auto read = std::from_chars(status.data() + at + name.size(), end, value, base);
  if (read.ec != std::errc() || read.ptr == end) return {};
  return value;
}

/// Leaves out what this system does not report.
Status read_status() noexcept {
  const int fd = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::array<char, 4096> text;
  const ssize_t size = ::read(fd, text.data(), text.size());
  ::close(fd);
  const std::string_view status(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return {.umask = field_of<mode_t>(status, "\nUmask:\t", 8),
          .ignored = field_of<std::uint64_t>(status, "\nSigIgn:\t", 16),
          .caught = field_of<std::uint64_t>(status, "\nSigCgt:\t", 16)};
}

/// Whether this signal's action needs a call of its own: if it has a handler, and for SIGCHLD,
/// which has flags without a handler.
bool is_asked_for(int signal, const Status& status) noexcept {
  if (!status.ignored || !status.caught || signal == SIGCHLD) return true;
  return (*status.caught >> (signal - 1) & 1) != 0;
}

bool is_ignored(int signal, const Status& status) noexcept {
  return (*status.ignored >> (signal - 1) & 1) != 0;
}

/// The process's working directory; it can be restored even if it was renamed meanwhile.
class WorkingFolder {
 public:
  WorkingFolder() noexcept : fd_(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)) {}
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;
  ~WorkingFolder() {
    if (fd_ >= 0) ::close(fd_);
  }

  bool is_left() const noexcept {
    struct stat then {};
    struct stat now {};
    return fd_ >= 0 && ::fstat(fd_, &then) == 0 && ::stat(".", &now) == 0 &&
           (then.st_dev != now.st_dev || then.st_ino != now.st_ino);
  }
  bool return_to() const noexcept { return ::fchdir(fd_) == 0; }

 private:
  int fd_;
};

/// State that a process has only once.
class ProcessState {
 public:
  ProcessState() : c_locale_(std::setlocale(LC_ALL, nullptr)), status_(read_status()) {
    for (int signal = 1; signal < static_cast<int>(actions_.size()); ++signal) {
      struct sigaction& action = actions_[static_cast<std::size_t>(signal)];
      if (is_asked_for(signal, status_))
        ::sigaction(signal, nullptr, &action);
      else
        action.sa_handler = is_ignored(signal, status_) ? SIG_IGN : SIG_DFL;
    }
  }

  /// Restores what has changed since, and says what that was.
  std::string restore() const {
    std::string changes;
    if (std::locale() != locale_ || c_locale_ != std::setlocale(LC_ALL, nullptr)) {
      changes += "the locale, ";
      std::locale::global(locale_);  // sets the C library's locale too
      std::setlocale(LC_ALL, c_locale_.c_str());
    }
    if (folder_.is_left())
      changes += folder_.return_to() ? "the working directory, "
                                     : "the working directory (which is gone), ";
    const Status now = read_status();
    if (now.umask && status_.umask && *now.umask != *status_.umask) {
      changes += "the umask, ";
      ::umask(*status_.umask);
    }
    restore_actions(now, changes);
    return changes;
  }

 private:
  void restore_actions(const Status& status, std::string& changes) const {
    for (int signal = 1; signal < static_cast<int>(actions_.size()); ++signal) {
      if (!is_asked_for(signal, status) && !is_asked_for(signal, status_) &&
          is_ignored(signal, status) == is_ignored(signal, status_))
        continue;
      const struct sigaction& then = actions_[static_cast<std::size_t>(signal)];
      struct sigaction now {};
      if (::sigaction(signal, nullptr, &now) != 0) continue;  // reserved by the C library
      constexpr int kIgnored = 0x04000000;  // SA_RESTORER, which the C library adds by itself
      if (now.sa_handler == then.sa_handler && ((now.sa_flags ^ then.sa_flags) & ~kIgnored) == 0)
        continue;
      changes += "the handler of " + name_of(signal) + ", ";
      ::sigaction(signal, &then, nullptr);
    }
  }

  std::locale locale_{};
  std::string c_locale_;
  WorkingFolder folder_{};
  Status status_;
  std::array<struct sigaction, 65> actions_{};  // by number; Linux has 64
};

/// State shared by all guards.
struct Watch {
  Mutex mutex{};
  std::size_t guards VCAP_GUARDED_BY(mutex) = 0;
  std::optional<ProcessState> before VCAP_GUARDED_BY(mutex){};  ///< from before the first guard
};

Watch& watch() {
  // Never destroyed: capsules may be closed until the last static object is gone.
  static Watch& instance = *new Watch;
  return instance;
}

void log_changes(std::string_view subject, std::string changes) {
  if (changes.empty()) return;
  changes.resize(changes.size() - 2);
  log(LogLevel::warning,
      std::string(subject) + " changed " + changes +
          "; this belongs to the host and was restored (\"What a plugin may not change\" in "
          "docs/capsule-format.md)");
}

}  // namespace

ThreadState::ThreadState() noexcept : locale_(::uselocale(locale_t{})) {
  ::fegetenv(&floating_);
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked_);
}

std::string ThreadState::restore() const {
  std::string changes;
  if (::uselocale(locale_t{}) != locale_) {
    changes += "the thread's locale, ";
    ::uselocale(locale_);
  }
  if (floating_modes() != floating_modes(floating_)) {
    changes += "the floating-point modes, ";
    ::fesetenv(&floating_);
  }
  sigset_t blocked{};
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    if (::sigismember(&blocked, signal) == ::sigismember(&blocked_, signal)) continue;
    changes += "the thread's signal mask, ";
    ::pthread_sigmask(SIG_SETMASK, &blocked_, nullptr);
    break;
  }
  return changes;
}

ThreadGuard::~ThreadGuard() {
  try {
    log_changes(subject_, before_.restore());
  } catch (...) {
    // No memory for the message.
  }
}

HostGuard::HostGuard(std::string_view subject) noexcept : subject_(subject), current_(subject) {
  try {
    Watch& shared = watch();
    const MutexLock lock(shared.mutex);
    if (shared.guards == 0) shared.before.emplace();
    ++shared.guards;
    is_watching_ = true;
  } catch (...) {
    // No memory: the work goes on without a guard.
  }
}

HostGuard::~HostGuard() {
  try {
    std::string changes = thread_.restore();
    bool is_alone = true;
    if (is_watching_) {
      Watch& shared = watch();
      const MutexLock lock(shared.mutex);
      is_alone = --shared.guards == 0;
      changes += shared.before->restore();
      if (is_alone) shared.before.reset();
    }
    log_changes(
        std::string(subject_) +
            (is_alone ? "" : ", or another capsule that was loaded or closed at the same time,"),
        std::move(changes));
  } catch (...) {
    // No memory for the message.
  }
}

}  // namespace vcap::detail
