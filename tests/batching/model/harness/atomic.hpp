// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "harness/execution.hpp"

namespace vcap::model {

/// std::atomic for strands. A relaxed load or store is no step, because it orders nothing else. A
/// relaxed store must be made under a mutex. A load without an order must be made under a mutex
/// too, and is no step either. All operations are sequentially consistent, so an order that is too
/// weak does not show. An atomic with static storage has its first value again in each run.
template <class Value>
class Atomic {
 public:
  using Order = std::memory_order;

  Atomic(Value value = {}) noexcept  // NOLINT: as std::atomic
      : first_(value), value_(value), run_(Execution::current()->run_number()) {}
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  operator Value() const noexcept {  // NOLINT: as std::atomic
    expect(Execution::current()->self().locks > 0,
           "an atomic is read as if it were none, under no mutex");
    return load(Order::relaxed);
  }
  Value load(Order order = Order::seq_cst, const Where& where = Where::current()) const noexcept {
    if (order != Order::relaxed) reach("load", where);
    Execution::current()->learn(static_cast<std::uint64_t>(value()));
    return value();
  }
  void store(Value value, Order order = Order::seq_cst,
             const Where& where = Where::current()) noexcept {
    if (order != Order::relaxed)
      reach("store", where);
    else
      expect(Execution::current()->self().locks > 0, "a relaxed store under no mutex");
    this->value() = value;
  }
  Value exchange(Value value, Order = Order::seq_cst,
                 const Where& where = Where::current()) noexcept {
    reach("exchange", where);
    return std::exchange(this->value(), value);
  }
  bool compare_exchange_strong(Value& expected, Value value, Order = Order::seq_cst,
                               const Where& where = Where::current()) noexcept {
    reach("compare and exchange", where);
    if (this->value() != expected) {
      expected = this->value();
      return false;
    }
    this->value() = value;
    return true;
  }
  Value fetch_add(Value more, Order = Order::seq_cst,
                  const Where& where = Where::current()) noexcept {
    reach("add", where);
    return std::exchange(value(), static_cast<Value>(value() + more));
  }
  Value fetch_sub(Value less, Order = Order::seq_cst,
                  const Where& where = Where::current()) noexcept {
    reach("subtract", where);
    return std::exchange(value(), static_cast<Value>(value() - less));
  }

 private:
  void reach(const char* operation, const Where& where) const noexcept {
    Execution::current()->reach(operation, this, where);
  }

  Value& value() const noexcept {
    const std::uint64_t run = Execution::current()->run_number();
    if (std::exchange(run_, run) != run) value_ = first_;
    return value_;
  }

  Value first_;
  mutable Value value_;
  mutable std::uint64_t run_;
};

/// The futex system call. It supports FUTEX_WAIT_PRIVATE, and FUTEX_WAKE_PRIVATE of one waiter
/// (gives how many it woke) or of all.
long futex(const Atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const Where& where);

}  // namespace vcap::model
