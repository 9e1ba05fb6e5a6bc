// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The functions that fault_interposer.cpp offers when it is preloaded into a program: they make
/// the n-th call of a kind fail. The program finds them by dlsym, so it is built without them.
namespace faults {

enum Kind : int { kAllocation, kFileSystem };

using Arm = void (*)(Kind kind, long nth);     ///< "fault_arm": nth from 1; 0 only counts calls
using Disarm = long (*)();                     ///< "fault_disarm": the number of calls so far
using Outstanding = long (*)();                ///< "fault_outstanding": allocations not yet freed
using FailedCall = const char* (*)();          ///< "fault_failed_call": null if none has failed
using FailedStack = int (*)(void**& callers);  ///< "fault_failed_stack": its callers

}  // namespace faults
