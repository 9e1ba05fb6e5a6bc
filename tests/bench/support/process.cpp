// SPDX-License-Identifier: Apache-2.0
#include "support/process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace vcap::bench {

Process::Process(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t nothing;
  posix_spawn_file_actions_init(&nothing);
  posix_spawn_file_actions_addopen(&nothing, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&nothing, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&nothing, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const int failed = posix_spawn(&id_, arguments[0], &nothing, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&nothing);
  if (failed != 0) throw std::system_error(failed, std::generic_category(), words[0]);
}

Process::~Process() {
  if (id_ == 0) return;
  kill();
  wait();
}

void Process::kill() const { ::kill(id_, SIGKILL); }

Process::End Process::wait() {
  End end;
  rusage used{};
  const pid_t id = std::exchange(id_, 0);
  while (::wait4(id, &end.status, 0, &used) != id)
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "wait4");
  end.peak_mib = static_cast<double>(used.ru_maxrss) / 1024;
  return end;
}

double run_process(const std::vector<std::string>& words) {
  const Process::End end = Process(words).wait();
  if (end.status == 0) return end.peak_mib;
  std::string command;
  for (const std::string& word : words) command += word + " ";
  throw std::runtime_error("this failed: " + command);
}

}  // namespace vcap::bench
