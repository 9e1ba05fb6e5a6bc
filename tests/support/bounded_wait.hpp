// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>

namespace vcap::test {

/// Waits until `holds()`, as condition_variable::wait does, but at most two minutes. After that it
/// throws std::runtime_error with the name `what`, so that a test fails instead of hanging.
template <class Predicate>
void bounded_wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                  const std::string& what, Predicate holds) {
  constexpr std::chrono::minutes kLongest(2);  // for a sanitizer on a busy machine
  if (!changed.wait_for(lock, kLongest, holds))
    throw std::runtime_error("this test waited two minutes for " + what);
}

}  // namespace vcap::test
