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

/// What predict does besides doubling its inputs.
struct Predicting {
  std::set<int> bad{};               ///< it throws where it sees one of these
  std::chrono::nanoseconds takes{};  ///< of the execution's time
  bool held = false;                 ///< it goes on only after release()
};

/// What became of an item.
enum class Fate : std::uint8_t { answered, failed, cancelled, expired, full, closed };
void PrintTo(Fate fate, std::ostream* out);  // for GoogleTest
using Fates = std::set<Fate>;

/// An executor, and all that the strands of a scenario send to it and get from it; each input is
/// sent once. It fails the run where any of this does not hold:
///
/// - Whoever sent gets the double of what it sent, or an error that it may get: cancelled only
/// after
///   its stop was requested, deadline_exceeded only after the deadline, closed only after a close.
/// - What predict has seen, it has seen once, unless it isolates failures, and it is answered with
///   what predict made of it.
/// - When close returns, all that was accepted before it has been answered.
/// - At the end nothing waits or runs, and the statistics are those of what the senders got (looked
///   at in schedules with fewer preemptions than the limit).
class Subject {
 public:
  /// Adds to `all` what becomes of items.
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
  /// From now on senders may be told that the executor is closed: somebody closes it from outside.
  void expect_closing() { closing_ = true; }

  /// Returns when so many items have been accepted or refused, or later.
  void await_arrival(std::size_t items);
  /// Returns when the future of a submit is ready.
  void await_answer(int input);
  /// How many items came to that, of those whose sender knows by now.
  std::size_t count(Fate fate) const;
  BatchExecutor<int, int>& executor() noexcept { return *executor_; }

 private:
  struct Request {
    std::future<int> future;
    RequestOptions options;
  };

  std::vector<int> predict(std::span<const int> inputs);
  template <class Receive>
  void receive(int input, std::size_t items, const RequestOptions& options, Receive output);
  void note(int input, std::size_t items, Fate fate, const RequestOptions& options);
  void take_answers();
  void compare_statistics();

  Fates& all_fates_;
  const bool isolates_;
  const Predicting predicting_;
  std::map<int, std::size_t> seen_{};
  std::map<int, Request> requests_{};
  std::map<Fate, std::size_t> fates_{};
  std::size_t sent_ = 0;
  bool shared_fates_ = false;  // run_all tells one for all
  bool closing_ = false;
  bool released_ = false;
  std::unique_ptr<BatchExecutor<int, int>> executor_;  // the last: it uses the others
};

}  // namespace vcap::model
