// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "harness/execution.hpp"

namespace vcap::model {

/// std::thread for strands. A start takes time: the new thread may have run far when it returns.
class Thread {
 public:
  Thread() = default;
  template <class Body>
  explicit Thread(Body body, const Where& where = Where::current()) {
    // std::function needs a copyable callable; a thread's body may be move-only.
    auto shared = std::make_shared<Body>(std::move(body));
    strand_ = &Execution::current()->start([shared] { (*shared)(); }, where);
    Execution::current()->pause("start a thread", where);
  }
  Thread(Thread&& from) noexcept : strand_(std::exchange(from.strand_, nullptr)) {}
  Thread& operator=(Thread&& from) noexcept {
    expect(!strand_, "a thread is assigned to that has not been joined");
    strand_ = std::exchange(from.strand_, nullptr);
    return *this;
  }
  ~Thread() { expect(!strand_, "a thread comes to its end that has not been joined"); }

  bool joinable() const noexcept { return strand_ != nullptr; }
  void join(const Where& where = Where::current()) {
    expect(strand_, "a thread is joined twice");
    Execution& execution = *Execution::current();
    execution.reach("join", nullptr, where, [this] { return strand_->ended; });
    execution.learn(strand_->history);
    strand_ = nullptr;
  }
  Strand* native_handle() const noexcept { return strand_; }

 private:
  Strand* strand_ = nullptr;
};

}  // namespace vcap::model
