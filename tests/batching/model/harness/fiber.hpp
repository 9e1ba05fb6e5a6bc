// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <csetjmp>
#include <cstddef>
#include <functional>
#include <utility>

namespace vcap::model {

/// The state of a stopped flow of control: its registers and its exceptions in progress. The C++
/// runtime keeps these exceptions for each thread of the machine.
struct Context {
  std::jmp_buf registers{};
  // The layout of the ABI: a list of the caught exceptions, and the number of the uncaught ones.
  std::array<std::byte, 2 * sizeof(void*)> exceptions{};
};

/// Stops at `from` and continues at `to`. Returns when something switches back to `from`.
void switch_context(Context& from, Context& to) noexcept;

/// A stack on which one body after another runs. Thread safety: thread-compatible.
class Fiber {
 public:
  Fiber();
  ~Fiber();  ///< objects that are still on the stack are lost
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Sets the body that runs at the next switch to context(). The body before must have ended: its
  /// last action was a switch away for good, and the next switch makes it return.
  void set_body(std::function<void()> body) { body_ = std::move(body); }
  Context& context() noexcept { return context_; }

 private:
  static void enter();

  std::byte* memory_;
  Context context_{};
  std::function<void()> body_{};
};

}  // namespace vcap::model
