// SPDX-License-Identifier: Apache-2.0
// Included before everything else in the sources whose schedules are searched. It replaces the
// thread facilities of the standard library with those of the model.
#pragma once

// All headers of the standard library and of the system that these sources use. They keep their own
// types.
#include <linux/futex.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <chrono>
#include <cmath>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <forward_list>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/atomic.hpp"
#include "harness/condition_variable.hpp"
#include "harness/execution.hpp"
#include "harness/mutex.hpp"
#include "harness/stop_token.hpp"
#include "harness/thread.hpp"

// A macro cannot replace "std::mutex", only "mutex", and "std::" stays. So the model's types are
// put into std.
namespace std {  // NOLINT
template <class Value>
using model_atomic = vcap::model::Atomic<Value>;
using model_condition_variable = vcap::model::ConditionVariable;
template <class Lockable>
using model_lock_guard = vcap::model::LockGuard<Lockable>;
using model_mutex = vcap::model::Mutex;
template <class Function>
using model_stop_callback = vcap::model::StopCallback<Function>;
using model_stop_source = vcap::model::StopSource;
using model_stop_token = vcap::model::StopToken;
using model_thread = vcap::model::Thread;
template <class Lockable>
using model_unique_lock = vcap::model::UniqueLock<Lockable>;
}  // namespace std

inline long model_syscall(long, const vcap::model::Atomic<std::uint32_t>* word, int operation,
                          std::uint32_t value, std::nullptr_t, std::nullptr_t, int,
                          const vcap::model::Where& where = vcap::model::Where::current()) {
  return vcap::model::futex(*word, operation, value, where);
}

inline vcap::model::Strand* model_self() { return &vcap::model::Execution::current()->self(); }
inline void model_setname(vcap::model::Strand* strand, const char* name) { strand->name = name; }
// Does nothing: the model has its own time, and the program's thread keeps its timers.
inline void model_prctl(int, unsigned long) {}

#define atomic model_atomic
#define condition_variable model_condition_variable
#define lock_guard model_lock_guard
#define mutex model_mutex
#define prctl model_prctl
#define pthread_self model_self
#define pthread_setname_np model_setname
#define stop_callback model_stop_callback
#define stop_source model_stop_source
#define stop_token model_stop_token
#define syscall model_syscall
#define thread model_thread
#define unique_lock model_unique_lock
