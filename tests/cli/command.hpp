// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "support/bounded_wait.hpp"
#include "support/paths.hpp"

extern char** environ;

namespace vcap::test {

/// The result of a command that has ended.
struct Result {
  int exit_code = -1;  ///< 128 + the signal's number if a signal ended it
  std::string out{};
  std::string err{};

  friend std::ostream& operator<<(std::ostream& stream, const Result& result) {
    return stream << "exit code " << result.exit_code << "\n-- out\n"
                  << result.out << "-- err\n"
                  << result.err;
  }
};

/// Text that arrives while a thread waits for a part of it. Thread-safe.
class IncomingText {
 public:
  void append(const char* data, std::size_t size) {
    const std::lock_guard lock(mutex_);
    text_.append(data, size);
    changed_.notify_all();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  /// Waits until the text contains `part`; false if the text ends without it.
  bool wait_for(const std::string& part) {
    std::unique_lock lock(mutex_);
    bounded_wait(changed_, lock, "\"" + part + "\" in the output",
                 [&] { return ended_ || text_.find(part) != std::string::npos; });
    return text_.find(part) != std::string::npos;
  }
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  bool ended_ = false;
};

/// The vcap command while it runs. The destructor kills it if it still runs.
class Command {
 public:
  using Environment = std::map<std::string, std::string>;
  struct Setup {
    Environment environment{};      ///< added to this process's environment
    bool terminal = false;          ///< standard error is a terminal
    std::string standard_output{};  ///< a file; empty: the test reads it
    std::string program = test::built("src/cli/vcap");
  };

  explicit Command(const std::vector<std::string>& arguments) : Command(arguments, Setup{}) {}
  Command(const std::vector<std::string>& arguments, const Setup& setup) {
    Channel out =
        setup.standard_output.empty() ? pipe_channel() : file_channel(setup.standard_output);
    Channel err = setup.terminal ? terminal_channel() : pipe_channel();
    spawn(setup.program, arguments, setup.environment, out.write_end, err.write_end);
    ::close(out.write_end);
    ::close(err.write_end);
    readers_.emplace_back([this, end = out.read_end] { read(end, out_); });
    readers_.emplace_back([this, end = err.read_end] { read(end, err_); });
  }
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  ~Command() {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
    }
  }

  bool wait_for_out(const std::string& part) { return out_.wait_for(part); }
  bool wait_for_err(const std::string& part) { return err_.wait_for(part); }
  /// Its standard error so far.
  std::string err() const { return err_.text(); }
  void send(int signal) const { ::kill(process_, signal); }
  /// Whether it has ended; wait() then returns at once.
  bool has_ended() const { return ends_within(std::chrono::milliseconds(0)); }
  /// From now on it cannot write a file beyond that size, as on a full disk.
  void limit_file_size(rlim_t bytes) const {
    rlimit limit{};
    checked(::prlimit(process_, RLIMIT_FSIZE, nullptr, &limit));
    limit.rlim_cur = bytes;
    checked(::prlimit(process_, RLIMIT_FSIZE, &limit, nullptr));
  }

  /// Waits for the command's end. If it does not end in time, kills it and throws
  /// std::runtime_error with its output, so that a test fails instead of hanging.
  Result wait() {
    const bool in_time = ends_within(kLongestRun);
    if (!in_time) send(SIGKILL);
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
    readers_.clear();
    Result result{.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                  .out = out_.text(),
                  .err = err_.text()};
    if (in_time) return result;
    std::ostringstream text;
    text << "the command did not end within " << kLongestRun.count() << " minutes; " << result;
    throw std::runtime_error(text.str());
  }

 private:
  struct Channel {
    int read_end;  ///< -1: nothing to read
    int write_end;
  };

  /// Below CTest's limit for a test, which would name no command.
  static constexpr std::chrono::minutes kLongestRun{4};

  static int checked(int result) {
    if (result < 0) throw std::system_error(errno, std::generic_category());
    return result;
  }
  bool ends_within(std::chrono::milliseconds time) const {
    // glibc 2.36 declares pidfd_open() for C only.
    pollfd end{checked(static_cast<int>(::syscall(SYS_pidfd_open, process_, 0))), POLLIN, 0};
    int ready = 0;
    do {
      ready = ::poll(&end, 1, static_cast<int>(time.count()));
    } while (ready < 0 && errno == EINTR);
    ::close(end.fd);
    return ready > 0;
  }
  static Channel pipe_channel() {
    std::array<int, 2> ends{};
    checked(::pipe2(ends.data(), O_CLOEXEC));
    return {ends[0], ends[1]};
  }
  static Channel file_channel(const std::string& path) {
    return {-1, checked(::open(path.c_str(), O_WRONLY | O_CLOEXEC))};
  }
  static Channel terminal_channel() {
    Channel channel{};
    checked(::openpty(&channel.read_end, &channel.write_end, nullptr, nullptr, nullptr));
    for (const int end : {channel.read_end, channel.write_end})
      checked(::fcntl(end, F_SETFD, FD_CLOEXEC));
    return channel;
  }

  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
  }

  static std::vector<std::string> variables(const Environment& environment) {
    std::vector<std::string> result;
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const std::string text = *variable;
      const std::string name = text.substr(0, text.find('='));
      if (!environment.contains(name) && name != "VCAP_DEVICES") result.push_back(text);
    }
    for (const auto& [name, value] : environment) result.push_back(name + "=" + value);
    return result;
  }

  void spawn(const std::string& program, const std::vector<std::string>& arguments,
             const Environment& environment, int out, int err) {
    std::vector<std::string> words{program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<std::string> settings = variables(environment);

    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
    // Test runners may ignore SIGINT. Children inherit this, and the command would respect it.
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    sigset_t defaults;
    ::sigemptyset(&defaults);
    ::sigaddset(&defaults, SIGINT);
    ::sigaddset(&defaults, SIGTERM);
    ::posix_spawnattr_setsigdefault(&attributes, &defaults);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);

    const int failed = ::posix_spawn(&process_, program.c_str(), &actions, &attributes,
                                     pointers(words).data(), pointers(settings).data());
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::system_error(failed, std::generic_category(), program);
  }

  static void read(int descriptor, IncomingText& text) {
    std::array<char, 4096> buffer{};
    // After the last writer has closed it, a terminal gives EIO; a pipe gives the end.
    for (ssize_t size = 0;
         descriptor >= 0 && (size = ::read(descriptor, buffer.data(), buffer.size())) > 0;)
      text.append(buffer.data(), static_cast<std::size_t>(size));
    if (descriptor >= 0) ::close(descriptor);
    text.end();
  }

  pid_t process_ = -1;
  IncomingText out_;
  IncomingText err_;
  std::vector<std::jthread> readers_;
};

/// Waits until a condition on the files of a command holds. Fails as bounded_wait().
template <class Predicate>
void await_files(const std::string& what, Predicate holds) {
  const auto end = std::chrono::steady_clock::now() + kLongestWait;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) fail_wait(what);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

/// Runs the command until it ends.
inline Result vcap(const std::vector<std::string>& arguments,
                   const Command::Environment& environment = {}) {
  return Command(arguments, {.environment = environment}).wait();
}

/// The path of a packed capsule of tests/cli/capsules.
inline std::string capsule(const std::string& name) {
  return test::built(VCAP_TEST_CAPSULES "/") + name + ".cap";
}

}  // namespace vcap::test
