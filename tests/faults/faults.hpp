// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What fault_interposer.cpp, preloaded into a program, offers to it: to make the n-th call of a
/// kind fail. The program finds them by dlsym, so that it is built without them.
namespace faults {

enum Kind : int { kAllocation, kFileSystem };

using Arm = void (*)(Kind kind, long nth);     ///< "fault_arm": from 1; 0 only counts
using Disarm = long (*)();                     ///< "fault_disarm": how many calls there have been
using Outstanding = long (*)();                ///< "fault_outstanding": allocations not freed yet
using FailedCall = const char* (*)();          ///< "fault_failed_call": null where none has failed
using FailedStack = int (*)(void**& callers);  ///< "fault_failed_stack": who called it

}  // namespace faults
