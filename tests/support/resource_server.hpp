// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "support/paths.hpp"
#include "support/temporary_folder.hpp"

extern char** environ;

namespace vcap::test {

/// Runs tests/support/resource_server.py while it lives: an HTTP server on this machine's loopback.
/// It serves the files that write() stores, in the ways that its source lists.
class ResourceServer {
 public:
  /// `certificate`: a PEM file with a key and its certificate; then the server speaks https.
  explicit ResourceServer(std::string certificate = {}) : certificate_(std::move(certificate)) {
    // The machine's settings of proxies and caches must not change a test.
    for (const char* const name : {"http_proxy", "all_proxy", "ALL_PROXY", "VCAP_CACHE",
                                   "VCAP_RESOURCE_MIRROR", "VCAP_OFFLINE", "SSL_CERT_FILE"})
      ::unsetenv(name);
    std::array<int, 2> to{};
    std::array<int, 2> from{};
    if (::pipe2(to.data(), O_CLOEXEC) != 0 || ::pipe2(from.data(), O_CLOEXEC) != 0)
      throw std::system_error(errno, std::generic_category());
    spawn(to[0], from[1]);
    ::close(to[0]);
    ::close(from[1]);
    input_ = to[1];
    char byte = 0;
    while (::read(from[0], &byte, 1) == 1 && byte != '\n') port_ += byte;
    ::close(from[0]);
    if (port_.empty())
      throw std::runtime_error("python3 could not run " +
                               test::in_sources("tests/support/resource_server.py"));
  }
  ResourceServer(const ResourceServer&) = delete;
  ResourceServer& operator=(const ResourceServer&) = delete;
  ~ResourceServer() {
    ::close(input_);  // this ends the server
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  std::filesystem::path write(const std::string& name, std::string_view content) const {
    return folder_.write(name, content);
  }
  std::string root() const {
    return (certificate_.empty() ? "http" : "https") + ("://127.0.0.1:" + port_);
  }
  std::string url(const std::string& behaviour, const std::string& name) const {
    return root() + "/" + behaviour + "/" + name;
  }

  /// The Range headers of the requests for this URL so far; "-" for a request without one.
  std::vector<std::string> log(const std::string& behaviour, const std::string& name) const {
    std::istringstream answer(get("/log/" + behaviour + "/" + name));
    std::vector<std::string> lines;
    for (std::string line; std::getline(answer, line);) lines.push_back(line);
    return lines;
  }
  /// Answers the requests that wait at the gate, now and later.
  void open_gate() const { get("/open/gate"); }

 private:
  void spawn(int input, int output) {
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    // Isolated mode without site packages starts in half the time.
    std::array<std::string, 6> words{"python3",
                                     "-I",
                                     "-S",
                                     test::in_sources("tests/support/resource_server.py"),
                                     folder_.path().native(),
                                     certificate_};
    std::array<char*, 7> arguments{};
    for (std::size_t i = 0; i < words.size() && !words[i].empty(); ++i)
      arguments[i] = words[i].data();
    const int failed =
        ::posix_spawnp(&process_, "python3", &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::system_error(failed, std::generic_category(), "python3");
  }

  /// A plain request, without the library under test.
  std::string get(const std::string& path) const {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port_)));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
      throw std::system_error(errno, std::generic_category(), "the test's server");
    const std::string request =
        "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    if (::write(fd, request.data(), request.size()) != static_cast<ssize_t>(request.size()))
      throw std::system_error(errno, std::generic_category(), "the test's server");
    std::string answer;
    std::array<char, 4096> buffer{};
    for (ssize_t count = 0; (count = ::read(fd, buffer.data(), buffer.size())) > 0;)
      answer.append(buffer.data(), static_cast<std::size_t>(count));
    ::close(fd);
    return answer.substr(answer.find("\r\n\r\n") + 4);
  }

  const std::string certificate_;
  TemporaryFolder folder_;
  pid_t process_ = -1;
  int input_ = -1;
  std::string port_;
};

}  // namespace vcap::test
