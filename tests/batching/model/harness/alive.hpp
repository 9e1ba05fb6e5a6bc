// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "harness/execution.hpp"

namespace vcap::model {

/// Tells an object that lives from one whose end has come.
class Alive {
 public:
  Alive() = default;
  ~Alive() { mark_ = 0; }
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;

  /// Fails the run unless it lives.
  void check(const char* operation) const {
    if (mark_ != kMark)
      Execution::current()->fail(std::string(operation) + " after the end of what it is done to");
  }

 private:
  static constexpr std::uint64_t kMark = 0x416C697665213F21;
  // Volatile, or the compiler would not care for what is written last.
  volatile std::uint64_t mark_ = kMark;
};

}  // namespace vcap::model
