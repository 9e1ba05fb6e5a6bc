// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>

namespace vcap::test {

/// Waits until `holds()`, as condition_variable::wait does, but at most two minutes: then throws
/// std::runtime_error that names `what`, so that a test fails rather than hangs.
template <class Predicate>
void bounded_wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                  const std::string& what, Predicate holds) {
  constexpr std::chrono::minutes kLongest(2);  // under a sanitizer, on a machine that is busy
  if (!changed.wait_for(lock, kLongest, holds))
    throw std::runtime_error("this test waited two minutes for " + what);
}

}  // namespace vcap::test
