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

#include "harness/choices.hpp"
#include "harness/fiber.hpp"

namespace vcap::model {

using TimePoint = std::chrono::steady_clock::time_point;
using Where = std::source_location;

/// Which schedules belong to a search.
struct Limits {
  /// How often a strand is interrupted that could go on. Others go on for nothing whenever one has
  /// to wait, ends, or says that it takes its time.
  int preemptions = 2;
  /// How many waits end for no reason, of those that the standard lets do so; each an interruption.
  int spurious = 0;
  /// Whether a wait may end by its time although others could go on, which is an interruption too.
  /// Where not, time passes only while nobody can go on, and to the first end of a wait.
  bool time_presses = true;
  /// One that takes more steps than this has no end.
  std::size_t steps = 2000;
  /// Whether a state that has been gone on from is gone on from again. That finds nothing new.
  bool repeats = false;
};

/// The states that a search has gone on from, each with the preemptions that were left then.
using States = std::unordered_map<std::uint64_t, int>;

/// What must hold for a strand to go on, asked again and again. Refers to what it is made of.
class Condition {
 public:
  Condition() = default;  // holds
  template <class Holds>
  Condition(const Holds& holds) noexcept  // NOLINT: a lambda is one
      : what_(&holds),
        ask_([](const void* what) -> bool { return (*static_cast<const Holds*>(what))(); }) {}

  bool holds() const { return !ask_ || ask_(what_); }

 private:
  const void* what_ = nullptr;
  bool (*ask_)(const void*) = nullptr;
};

/// A thread of the execution that runs when it is chosen to.
struct Strand {
  enum class Resumed : std::uint8_t { normally, by_time, spuriously };

  std::string name{};
  std::function<void()> body{};
  Context* context = nullptr;
  bool ended = false;

  // What it is about to do, or waits for.
  const char* operation = "";
  Where where{};
  Condition can_go_on{};
  const void* sleeps_on = nullptr;  // null: awake
  TimePoint wakes_at = TimePoint::max();
  Resumed resumed = Resumed::normally;

  std::size_t locks = 0;      // that it holds
  std::uint64_t arena = 0;    // whose predict it is in
  std::uint64_t history = 0;  // a hash of all that it has done, and of all that may have told on it
};

/// One run of a scenario, on one thread of the machine, under one schedule.
///
/// The scenario runs as the first strand and starts others. All go from one step to the next and
/// stop there, and whose step comes next is the schedule's choice; so between two steps nobody
/// interferes. Time stands still but for waits that end by it.
///
/// Steps on different objects may be swapped, and nobody could tell. So two runs are in one state
/// where every strand has done the same, and every object has seen the same in the same order; what
/// else strands share they must share under a mutex that is an object. Where a run comes to a state
/// that an earlier one has gone on from, with as many preemptions left, it makes no more choices.
///
/// Used one run after another. Thread safety: thread-compatible.
class Execution {
 public:
  static constexpr TimePoint kStart{std::chrono::hours(1)};

  explicit Execution(const Limits& limits) : limits_(limits) {}
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  /// Gives what went wrong, if anything, with the steps that led there. Not to be used again then.
  std::optional<std::string> run(const std::function<void()>& scenario, Choices& choices,
                                 States& states);
  /// Of the run, which has ended: the state that it came to.
  std::uint64_t state() const;

  // For the strands, and what they call:

  /// The one that the caller is in; null outside of any.
  static Execution* current() noexcept;

  /// Before a step on an object (null: on none) that others may see, or whose outcome others may
  /// change: they may go first. Returns when the strand is to take it, and `can_go_on` holds.
  void reach(const char* operation, const void* object, const Where& where,
             Condition can_go_on = {});
  /// A step that is one with what went before: it shows in the story, and nobody goes first.
  void note(const char* operation, const void* object, const Where& where);
  /// What the strand has learnt from elsewhere than an object becomes part of its history.
  void learn(std::uint64_t what) noexcept;
  /// Others may go on meanwhile, and it is no interruption: what the strand does takes its time.
  void pause(const char* operation, const Where& where);
  /// Waits until it is woken, or `time` has come, and then until `can_go_on` holds.
  void sleep(const void* object, TimePoint time, const char* operation, const Where& where,
             Condition can_go_on = {});
  /// Wakes one of those who sleep on the object, any of them, or all.
  bool wake_one(const void* object);  // false: nobody sleeps there
  void wake_all(const void* object);

  Strand& start(std::function<void()> body, const Where& where);
  /// Tells this run from all others: what outlives a run is as new in the next.
  std::uint64_t run_number() const noexcept { return run_number_; }
  /// 1, 2, 3 … in each run.
  std::uint64_t next_number() noexcept { return ++numbers_; }
  Strand& self() noexcept { return *running_; }
  int preemptions_left() const noexcept { return limits_.preemptions - preemptions_; }
  /// For checks; strands that go by the time ask the ModelClock.
  TimePoint now() const noexcept { return now_; }
  void advance(std::chrono::nanoseconds time) noexcept { now_ += time; }

  /// Ends the run as one that went wrong. Objects of its strands are lost.
  [[noreturn]] void fail(const std::string& what);
  /// How many decisions the run has taken so far.
  std::size_t decisions() const noexcept { return decisions_; }
  /// The steps so far, one a line, and the decisions that lead here.
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
    bool interrupted;  // somebody
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
  bool chooses_ = true;  // has come to no state where an earlier run has been
  Context outside_{};
  std::deque<Fiber> fibers_{};    // one for each strand, kept from run to run
  std::deque<Strand> strands_{};  // the first used_ belong to this run
  std::size_t used_ = 0;
  Strand* running_ = nullptr;
  TimePoint now_ = kStart;
  int preemptions_ = 0;
  int spurious_ = 0;
  bool interrupted_ = false;
  bool asks_ = false;  // who can go on, and what is read for that tells the running strand nothing
  std::vector<Option> options_{};
  std::vector<Strand*> sleepers_{};
  std::vector<Step> steps_{};
  std::vector<std::pair<const void*, std::uint64_t>> objects_{};  // each with its history
  std::size_t decisions_ = 0;
  std::uint64_t run_number_ = 0;
  std::uint64_t numbers_ = 0;
  std::optional<std::string> failure_{};
};

/// Where `holds` is false, the run went wrong.
inline void expect(bool holds, std::string_view what) {
  if (!holds) Execution::current()->fail(std::string(what));
}

}  // namespace vcap::model
