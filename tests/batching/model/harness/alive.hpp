// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "harness/execution.hpp"

namespace vcap::model {

/// Detects the use of an object after its destruction.
class Alive {
 public:
  Alive() = default;
  ~Alive() { mark_ = 0; }
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;

  /// Fails the run if the object was destroyed.
  void check(const char* operation) const {
    if (mark_ != kMark)
      Execution::current()->fail(std::string(operation) + " after the end of what it is done to");
  }

 private:
  static constexpr std::uint64_t kMark = 0x416C697665213F21;
  // Volatile: otherwise the compiler could drop the last write, which is in the destructor.
  volatile std::uint64_t mark_ = kMark;
};

}  // namespace vcap::model
