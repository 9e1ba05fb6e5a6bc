// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/fiber.hpp"
#include "support/choices.hpp"

namespace vcap::model {

using test::Choices;

using TimePoint = std::chrono::steady_clock::time_point;
using Where = std::source_location;

/// The limits of a search: which schedules belong to it.
struct Limits {
  /// How often a strand may be interrupted although it could continue. A switch does not count when
  /// the strand has to wait, ends, or calls pause().
  int preemptions = 2;
  /// How many waits may end spuriously, if the standard allows it. Each counts as an interruption.
  int spurious = 0;
  /// Whether a wait may time out although others could continue; this counts as an interruption
  /// too. If false, time passes only while no strand can continue, and only to the first end of a
  /// wait.
  bool time_presses = true;
  /// A schedule with more steps than this counts as endless.
  std::size_t steps = 2000;
  /// Whether the search continues again from a state from which it has already continued. That
  /// finds nothing new.
  bool repeats = false;
};

/// The states from which a search has continued, each with the preemptions that were left then.
using States = std::unordered_map<std::uint64_t, int>;

/// The condition for a strand to continue, checked again and again. It refers to the callable that
/// it is made from.
class Condition {
 public:
  Condition() = default;  // always holds
  template <class Holds>
  Condition(const Holds& holds) noexcept  // NOLINT: a lambda is one
      : what_(&holds),
        ask_([](const void* what) -> bool { return (*static_cast<const Holds*>(what))(); }) {}

  bool holds() const { return !ask_ || ask_(what_); }

 private:
  const void* what_ = nullptr;
  bool (*ask_)(const void*) = nullptr;
};

/// A thread of the execution. It runs when the schedule chooses it.
struct Strand {
  enum class Resumed : std::uint8_t { normally, by_time, spuriously };

  std::string name{};
  std::function<void()> body{};
  Context* context = nullptr;
  bool ended = false;

  // Its next operation, or the one that it waits in.
  const char* operation = "";
  Where where{};
  Condition can_go_on{};
  const void* sleeps_on = nullptr;  // null: awake
  TimePoint wakes_at = TimePoint::max();
  Resumed resumed = Resumed::normally;

  std::size_t locks = 0;            // how many it holds
  std::uint64_t arena = 0;          // the arena whose predict it runs
  std::chrono::nanoseconds busy{};  // the processor time that it says it has used
  std::uint64_t history = 0;        // a hash of all that it has done and learnt
};

/// One run of a scenario under one schedule, on one thread of the machine.
///
/// The scenario runs as the first strand and starts others. Each strand runs up to its next step
/// and stops there. The schedule chooses which strand takes the next step, so nothing interferes
/// between two steps. Time stands still, except when a wait times out.
///
/// Steps on different objects may be swapped without a visible difference. So two runs are in the
/// same state if every strand has done the same, and every object has seen the same in the same
/// order. Strands must share all other data under a mutex that is such an object. If a run reaches
/// a state from which an earlier run has continued with as many preemptions left, it makes no more
/// choices.
///
/// Can be used for one run after another. Thread safety: thread-compatible.
class Execution {
 public:
  static constexpr TimePoint kStart{std::chrono::hours(1)};

  explicit Execution(const Limits& limits) : limits_(limits) {}
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  /// Gives the failure, if any, with the steps that led to it. After a failure, do not use it
  /// again.
  std::optional<std::string> run(const std::function<void()>& scenario, Choices& choices,
                                 States& states);
  /// The state at the end of the run. The run must have ended.
  std::uint64_t state() const;

  // For the strands, and for the code that they call:

  /// The execution that the caller runs in; null outside of an execution.
  static Execution* current() noexcept;

  /// Call it before a step on an object (null: on none) that others may see, or whose outcome
  /// others may change: other strands may run first. Returns when the strand may take the step and
  /// `can_go_on` holds.
  void reach(const char* operation, const void* object, const Where& where,
             Condition can_go_on = {});
  /// Records a step that is one with the step before: it shows in the story, and no other strand
  /// runs first.
  void note(const char* operation, const void* object, const Where& where);
  /// Adds to the strand's history a fact that it has not learnt from an object.
  void learn(std::uint64_t what) noexcept;
  /// Lets others continue, because the operation of the strand takes time. It is no interruption.
  void pause(const char* operation, const Where& where);
  /// Waits until the strand is woken or `time` has come, and then until `can_go_on` holds.
  void sleep(const void* object, TimePoint time, const char* operation, const Where& where,
             Condition can_go_on = {});
  /// Wakes any one of the strands that sleep on the object, or all of them.
  bool wake_one(const void* object);  // false: no strand sleeps there
  void wake_all(const void* object);

  Strand& start(std::function<void()> body, const Where& where);
  /// Differs in each run. Data that outlives a run uses it to start afresh in the next run.
  std::uint64_t run_number() const noexcept { return run_number_; }
  /// 1, 2, 3 … in each run.
  std::uint64_t next_number() noexcept { return ++numbers_; }
  Strand& self() noexcept { return *running_; }
  int preemptions_left() const noexcept { return limits_.preemptions - preemptions_; }
  /// For checks. Strands whose behaviour depends on the time must ask the ModelClock.
  TimePoint now() const noexcept { return now_; }
  void advance(std::chrono::nanoseconds time) noexcept { now_ += time; }

  /// Ends the run as failed. The objects of its strands are lost.
  [[noreturn]] void fail(const std::string& what);
  /// How many decisions the run has taken so far.
  std::size_t decisions() const noexcept { return decisions_; }
  /// The steps so far, one per line, and the decisions that lead here.
  std::string story() const;

 private:
  struct Option {
    Strand* strand;
    Strand::Resumed how;
    int preemptions;
  };
  struct Step {
    const Strand* strand;
    const char* operation;
    Where where;
    Strand::Resumed resumed;
    bool interrupted;  // whether it interrupted another strand
  };

  void touch(const void* object);
  void decide(bool pauses);
  void find_options(bool pauses);
  bool has_been_here(bool pauses);
  std::size_t choose(std::size_t count);
  void end_strand();
  std::string waiting() const;

  const Limits limits_;
  Choices* choices_ = nullptr;
  States* states_ = nullptr;
  bool chooses_ = true;  // has not reached a state of an earlier run
  Context outside_{};
  std::deque<Fiber> fibers_{};    // one for each strand, kept from run to run
  std::deque<Strand> strands_{};  // the first used_ belong to this run
  std::size_t used_ = 0;
  Strand* running_ = nullptr;
  TimePoint now_ = kStart;
  int preemptions_ = 0;
  int spurious_ = 0;
  bool interrupted_ = false;
  bool asks_ = false;  // while asking who can continue: the running strand learns nothing then
  std::vector<Option> options_{};
  std::vector<Strand*> sleepers_{};
  std::vector<Step> steps_{};
  std::vector<std::pair<const void*, std::uint64_t>> objects_{};  // each with its history
  std::size_t decisions_ = 0;
  std::uint64_t run_number_ = 0;
  std::uint64_t numbers_ = 0;
  std::optional<std::string> failure_{};
};

/// Fails the run if `holds` is false.
inline void expect(bool holds, std::string_view what) {
  if (!holds) Execution::current()->fail(std::string(what));
}

}  // namespace vcap::model
