// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <csetjmp>
#include <cstddef>
#include <functional>
#include <utility>

namespace vcap::model {

/// Where somebody who can be switched to has stopped: its registers, and the exceptions that it is
/// in the middle of, which the C++ runtime keeps for each thread of the machine.
struct Context {
  std::jmp_buf registers{};
  // As the ABI has it: the ones caught, a list, and how many are not.
  std::array<std::byte, 2 * sizeof(void*)> exceptions{};
};

/// Stops here and goes on there. Returns when somebody switches back to `from`.
void switch_context(Context& from, Context& to) noexcept;

/// A stack of its own, on which one body after another runs. Thread safety: thread-compatible.
class Fiber {
 public:
  Fiber();
  ~Fiber();  ///< whatever still is on the stack is lost
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// What runs when context() is switched to for the first time from now on. The body of before has
  /// ended, in that its last act was to switch away for good: this makes it return.
  void set_body(std::function<void()> body) { body_ = std::move(body); }
  Context& context() noexcept { return context_; }

 private:
  static void enter();

  std::byte* memory_;
  Context context_{};
  std::function<void()> body_{};
};

}  // namespace vcap::model
