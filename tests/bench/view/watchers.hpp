// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/http_get.hpp"
#include "support/process.hpp"
#include "vcap/view/live_view.hpp"

namespace vcap::bench {

/// Viewers of a live view, each with a thread that reads what comes and throws it away, until it is
/// destroyed or the view ends.
class Watchers {
 public:
  /// `queries`: of each viewer, such as "large=gate&rate=10".
  Watchers(std::uint16_t port, const std::vector<std::string>& queries);
  ~Watchers();
  Watchers(const Watchers&) = delete;
  Watchers& operator=(const Watchers&) = delete;

 private:
  std::vector<std::unique_ptr<test::LoopbackConnection>> connections_;
  std::vector<std::jthread> threads_;
};

/// With this argument, the program is only viewers, in a process of their own: of a port, so many,
/// with a query.
constexpr const char* kWatch = "--watch";
int watch(int count, char** arguments);
/// Such a process.
Process start_watchers(std::uint16_t port, int viewers, const std::string& query);

/// Waits until the view has so many viewers. Throws std::runtime_error after a minute.
void wait_for_viewers(const LiveView& view, int viewers);

}  // namespace vcap::bench
