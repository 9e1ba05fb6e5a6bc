// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <future>
#include <iosfwd>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "vcap/batching/batch_executor.hpp"

namespace vcap::model {

/// The behaviour of predict, besides doubling its inputs.
struct Predicting {
  std::set<int> bad{};               ///< it throws if it sees one of these
  std::chrono::nanoseconds takes{};  ///< how much of the execution's time it takes
  bool computes = true;              ///< its thread is busy for that time, or else sleeps
  bool held = false;                 ///< it continues only after release()
  int keys = 1;                      ///< inputs share a batch if they are equal modulo this
};

/// The outcome of an item.
enum class Fate : std::uint8_t { answered, failed, cancelled, expired, full, closed };
void PrintTo(Fate fate, std::ostream* out);  // for GoogleTest
using Fates = std::set<Fate>;

/// An executor, and everything that the strands of a scenario send to it and get from it. Each
/// input is sent once. The run fails unless all of this holds:
///
/// - Each sender gets the double of its input, or an error that is possible: cancelled only after
///   its stop was requested, deadline_exceeded only after the deadline, closed only after a close.
/// - Predict sees an input at most once, unless it isolates failures. An input that it has seen is
///   answered with its result.
/// - Inputs of different keys share no batch.
/// - At most `BatchPolicy::workers` batches run at a time, whichever threads run them.
/// - When close returns, everything that was accepted before has been answered.
/// - At the end nothing waits or runs, and the statistics agree with the senders' results. This is
///   checked in schedules with fewer preemptions than the limit.
class Subject {
 public:
  /// Adds the outcomes of items to `all`.
  explicit Subject(Fates& all, BatchPolicy policy = {}, Predicting predicting = {});
  ~Subject();
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  void run(int input, const RequestOptions& options = {});
  void run_all(std::vector<int> inputs, const RequestOptions& options = {});
  void submit(int input, const RequestOptions& options = {});
  void try_submit(int input);
  void close(CloseMode mode);
  void destroy();
  void release() { released_ = true; }
  /// From now on senders may get the error `closed`: the scenario closes the executor directly.
  void expect_closing() { closing_ = true; }

  /// Returns when `items` items have been accepted or refused, or later.
  void await_arrival(std::size_t items);
  /// Returns when the future of a submit is ready.
  void await_answer(int input);
  /// How many batches senders have predicted in their own threads.
  std::size_t led() const noexcept { return led_; }
  /// How many items have this outcome, among those whose senders know it by now.
  std::size_t count(Fate fate) const;
  BatchExecutor<int, int>& executor() noexcept { return *executor_; }

 private:
  struct Request {
    std::future<int> future;
    RequestOptions options;
  };

  /// Counts a batch as within predict, for its lifetime.
  struct Running {
    explicit Running(Subject& subject);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    Subject& of;
  };

  std::vector<int> predict(std::span<const int> inputs);
  template <class Receive>
  void receive(int input, std::size_t items, const RequestOptions& options, Receive output);
  void note(int input, std::size_t items, Fate fate, const RequestOptions& options);
  void take_answers();
  void compare_statistics();

  Fates& all_fates_;
  const bool isolates_;
  const std::size_t workers_;
  const Predicting predicting_;
  std::map<int, std::size_t> seen_{};
  std::map<int, Request> requests_{};
  std::map<Fate, std::size_t> fates_{};
  std::size_t sent_ = 0;
  std::size_t running_ = 0;  // batches within predict
  std::size_t led_ = 0;
  bool shared_fates_ = false;  // run_all gives one outcome for all its inputs
  bool closing_ = false;
  bool released_ = false;
  std::unique_ptr<BatchExecutor<int, int>> executor_;  // last, because it uses the other members
};

}  // namespace vcap::model
