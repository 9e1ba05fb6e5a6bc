// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/command.hpp"
#include "cluster/chaos/small_disk.hpp"
#include "cluster/chaos/three_servers.hpp"
#include "cluster/link.hpp"
#include "support/paths.hpp"
#include "support/sanitizers.hpp"

namespace vcap::test {

/// A process `vcap worker` with a network, a folder and a clock of its own.
/// Thread safety: thread-compatible.
class ChaosWorker {
 public:
  static constexpr std::chrono::seconds kLease{kUnderSanitizer ? 4 : 2};
  /// Its clock cannot be stepped under a sanitizer.
  static constexpr bool kHasClock = !kUnderSanitizer;

  ChaosWorker(const std::filesystem::path& folder, const ThreeServers& servers)
      : disk_(folder, "64m"), clock_(folder.string() + ".clock") {
    for (std::size_t i = 0; i < ThreeServers::kServers; ++i)
      links_[i] = std::make_unique<Link>(servers.port(i));
    step_clock(std::chrono::nanoseconds(0));
    begin();
  }

  const std::filesystem::path& folder() const { return disk_.folder(); }

  /// Idempotent.
  void begin() {
    if (process_) return;
    std::string url;
    for (const auto& link : links_) url += (url.empty() ? "" : ",") + link->url();
    const std::string lease = std::to_string(kLease.count());
    const std::vector<std::string> words{
        "worker", "--nats",       url,  "--replicas",    "3",   "--capsules",
        folder(), "--slots",      "1",  "--lease",       lease, "--stream-lease",
        lease,    "--capacity",   "2",  "--record-time", "0.1", "--checkpoint-time",
        "1",      "--spool-size", "16", "--grace",       "10"};
    Command::Setup setup;
    if (kHasClock)
      setup.environment = {
          {"LD_PRELOAD", test::built("tests/cluster/chaos/libvcap_stepped_clock.so")},
          {"VCAP_TEST_CLOCK", clock_}};
    process_ = std::make_unique<Command>(words, setup);
    constexpr std::string_view kBefore = "vcap: worker ";
    constexpr std::string_view kAfter = " works for";
    if (!name_.empty() || !process_->wait_for_err(std::string(kAfter))) return;
    const std::string text = process_->err();
    const std::size_t begin = text.find(kBefore) + kBefore.size();
    name_ = text.substr(begin, text.find(kAfter) - begin);
  }
  /// Starts it again if it has ended by itself, as a service manager does: it does so if it finds
  /// no broker at its beginning. Returns whether it had ended.
  bool keep_running() {
    if (!process_ || !process_->has_ended()) return false;
    note_end();
    begin();
    return true;
  }
  void kill() {
    send(SIGKILL);
    if (process_) note_end();
  }
  void send(int signal) const {
    if (process_) process_->send(signal);
  }
  /// In order. Returns its exit code.
  int end() {
    send(SIGTERM);
    return note_end();
  }

  void each_link(const std::function<void(Link&)>& change) const {
    for (const auto& link : links_) change(*link);
  }
  /// Its time of day differs by so much from the machine's.
  void step_clock(std::chrono::nanoseconds offset) const {
    const int file = ::open(clock_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const std::int64_t value = offset.count();
    const bool is_written = ::pwrite(file, &value, sizeof value, 0) == sizeof value;
    ::close(file);
    if (!is_written) throw std::system_error(errno, std::generic_category(), clock_);
  }
  /// If this process may not have a disk, files do not grow.
  void fill_disk(bool is_full) {
    had_full_disk_ |= is_full;
    if (disk_.exists()) {
      is_full ? disk_.fill() : disk_.free();
    } else if (process_ && !process_->has_ended()) {
      process_->limit_file_size(is_full ? 0 : RLIM_INFINITY);
    }
  }

  bool had_full_disk() const { return had_full_disk_; }
  /// In the site.
  const std::string& name() const { return name_; }

  /// What it says of messages that it could not set aside.
  std::vector<std::string> not_kept() const {
    std::vector<std::string> lines = not_kept_;
    if (process_) add_not_kept(process_->err(), lines);
    return lines;
  }
  /// The end of what its processes have written on standard error.
  std::string log() const { return ended_ + (process_ ? end_of(process_->err()) : ""); }

 private:
  static std::string end_of(const std::string& text) {
    constexpr std::size_t kMost = 6'000;
    return text.substr(text.size() - std::min(text.size(), kMost));
  }
  static void add_not_kept(const std::string& text, std::vector<std::string>& lines) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
      if (line.find("; it is not kept, since") != line.npos) lines.push_back(line);
  }
  int note_end() {
    const Result result = process_->wait();
    process_.reset();
    add_not_kept(result.err, not_kept_);
    ended_ =
        end_of(ended_ + result.err + "-- exit code " + std::to_string(result.exit_code) + '\n');
    return result.exit_code;
  }

  const SmallDisk disk_;
  const std::string clock_;
  std::array<std::unique_ptr<Link>, ThreeServers::kServers> links_{};
  std::unique_ptr<Command> process_;
  std::string name_;
  std::string ended_;
  std::vector<std::string> not_kept_;
  bool had_full_disk_ = false;
};

}  // namespace vcap::test
