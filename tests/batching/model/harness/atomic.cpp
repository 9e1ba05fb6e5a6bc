// SPDX-License-Identifier: Apache-2.0
#include "harness/atomic.hpp"

#include <linux/futex.h>

namespace vcap::model {

long futex(const Atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const Where& where) {
  Execution& execution = *Execution::current();
  if (operation == FUTEX_WAKE_PRIVATE) {
    execution.reach("futex wake", &word, where);
    if (value == 1) return execution.wake_one(&word) ? 1 : 0;
    execution.wake_all(&word);
    return 0;  // vcap does not use the number
  }
  expect(operation == FUTEX_WAIT_PRIVATE, "a system call that the model does not know");
  execution.reach("futex wait", &word, where);
  if (word.load(std::memory_order_relaxed) != value) return -1;
  execution.sleep(&word, TimePoint::max(), "futex sleep", where);
  return 0;
}

}  // namespace vcap::model
