// SPDX-License-Identifier: Apache-2.0
// Random races of sending, cancelling, expiring and closing. In any order, each request is answered
// exactly once: with its own output, or with an error that is possible in its round.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/sanitizers.hpp"
#include "vcap/base/error.hpp"
#include "vcap/batching/batch_executor.hpp"
#include "vcap/batching/batch_stream_scope.hpp"

namespace vcap {
namespace {

using namespace std::chrono_literals;
using Executor = BatchExecutor<int, int>;

constexpr int kRounds = test::kUnderSanitizer ? 4000 : 10'000;

/// Counts how often each request reaches predict, and throws at some batches.
struct Model {
  std::vector<int> operator()(std::span<const int> inputs) {
    const Inside one(*this);
    std::vector<int> outputs;
    for (const int input : inputs) {
      ++seen[static_cast<std::size_t>(input)];
      outputs.push_back(2 * input);
      if (key(input) != key(inputs.front())) mixed = true;
    }
    if (throw_at >= 0 && inputs.front() % 5 == throw_at) throw std::domain_error("model");
    return outputs;
  }

  std::uint64_t key(int input) const { return static_cast<std::uint64_t>(input) % keys; }

  /// Counts the calls of predict that run at the same time.
  struct Inside {
    explicit Inside(Model& model) : of(model) {
      if (++of.inside > of.workers) of.crowded = true;
    }
    ~Inside() { --of.inside; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    Model& of;
  };

  static constexpr std::size_t kMost = 64;
  std::array<std::atomic<int>, kMost> seen{};
  std::atomic<bool> mixed{false};
  std::size_t workers = 1;
  std::atomic<std::size_t> inside{0};
  std::atomic<bool> crowded{false};
  int throw_at = -1;
  std::uint64_t keys = 1;
};

/// An executor that gives the model's outputs at once or one by one. If one by one, the model may
/// throw between two outputs.
std::unique_ptr<Executor> executor_of(Model& model, const BatchPolicy& policy, bool one_by_one) {
  const auto key = [&model](int input) { return model.key(input); };
  if (!one_by_one)
    return std::make_unique<Executor>([&](std::span<const int> inputs) { return model(inputs); },
                                      policy, key);
  return std::make_unique<Executor>(
      [&](std::span<const int> inputs, BatchOutputs<int>& outputs) {
        for (std::size_t i = 0; i < inputs.size(); ++i)
          outputs.add(std::move(model(inputs.subspan(i, 1)).front()));
      },
      policy, key);
}

/// The errors that the threads of a round found.
class Findings {
 public:
  void add(const std::string& text) {
    const std::lock_guard lock(mutex_);
    text_ += text + "; ";
  }
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

/// Checks an answer, for any way of sending: it must be right, or an expected error.
template <class Receive>
void expect_answer(int input, Findings& findings, Receive receive) {
  try {
    if (receive() != 2 * input) findings.add(std::to_string(input) + " got another's answer");
  } catch (const BatchError& error) {
    switch (error.code()) {
      case ErrorCode::cancelled:
      case ErrorCode::deadline_exceeded:
      case ErrorCode::closed:
      case ErrorCode::queue_full:
        break;
      default:
        findings.add(error.what());
    }
  } catch (const std::domain_error&) {  // thrown by the model
  } catch (const std::exception& error) {
    findings.add(error.what());
  }
}

BatchPolicy random_policy(std::mt19937& random) {
  const auto pick = [&](auto... values) {
    const std::common_type_t<decltype(values)...> all[] = {values...};
    return all[random() % sizeof...(values)];
  };
  return {.max_batch_size = pick(std::size_t{1}, std::size_t{3}, std::size_t{40}),
          .max_queue_delay = pick(0us, 0us, 20us),
          .max_queue_size = pick(std::size_t{0}, std::size_t{0}, std::size_t{2}),
          .overflow = pick(QueueOverflowPolicy::wait, QueueOverflowPolicy::reject,
                           QueueOverflowPolicy::drop_oldest),
          .isolate_failures = random() % 2 == 0,
          .workers = pick(std::size_t{1}, std::size_t{1}, std::size_t{2}),
          .callers_predict = random() % 4 != 0,
          .concurrency = 2};
}

RequestOptions random_options(std::mt19937& random, const std::stop_source& stop) {
  RequestOptions options{.priority = static_cast<RequestPriority>(random() % 3)};
  if (random() % 3 == 0)
    options.deadline = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 200);
  if (random() % 3 == 0) options.cancellation = stop.get_token();
  return options;
}

/// Sends four numbers from `first` on, in ways chosen at random.
void send_some(Executor& executor, int first, unsigned seed, const std::stop_source& stop,
               Findings& findings) {
  std::mt19937 random(seed);
  const BatchStreamScope stream(std::to_string(first));
  for (int input = first; input < first + 4;) {
    const RequestOptions options = random_options(random, stop);
    switch (random() % 5) {
      case 0: {
        std::vector<int> both{input, input + 1};
        expect_answer(input, findings, [&] {
          const std::vector<int> outputs = executor.run_all(both, options);
          return outputs.at(1) == 2 * (input + 1) ? outputs.at(0) : -1;
        });
        input += 2;
        break;
      }
      case 1:
        expect_answer(input, findings, [&] { return executor.run(input, options); });
        ++input;
        break;
      case 2:
        expect_answer(input, findings, [&] {
          auto future = executor.try_submit(int{input}, options);
          return future ? future->get() : 2 * input;
        });
        ++input;
        break;
      default:
        expect_answer(input, findings, [&] { return executor.submit(input, options).get(); });
        ++input;
    }
  }
}

std::string play(unsigned seed) {
  std::mt19937 random(seed);
  Findings findings;
  Model model;
  model.throw_at = random() % 4 == 0 ? static_cast<int>(random() % 5) : -1;
  model.keys = random() % 2 == 0 ? 1 : 3;
  const BatchPolicy policy = random_policy(random);
  model.workers = policy.workers;
  {
    const auto made = executor_of(model, policy, random() % 3 == 0);
    Executor& executor = *made;
    std::stop_source stop;
    std::vector<std::jthread> threads;
    const int senders = 1 + static_cast<int>(random() % 3);
    for (int sender = 0; sender < senders; ++sender)
      threads.emplace_back([&, sender, own = random()] {
        send_some(executor, 8 * sender, static_cast<unsigned>(own), stop, findings);
      });
    // Gives the senders some time. It does not sleep or yield, because these may take far longer
    // than the race.
    const auto later = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 300);
    while (std::chrono::steady_clock::now() < later) {
    }
    stop.request_stop();
    if (random() % 2) executor.close(random() % 2 ? CloseMode::cancel : CloseMode::drain);
    threads.clear();
    executor.close();
    if (executor.workload() != 0) findings.add("workload is not zero at the end");
    const BatchStatistics is = executor.statistics();
    if (is.accepted != is.answered + is.failed + is.dropped + is.expired + is.cancelled + is.closed)
      findings.add("an item that was accepted is in no count, or in two");
  }
  if (model.mixed) findings.add("two keys shared a batch");
  if (model.crowded) findings.add("more batches ran at a time than the policy has workers");
  if (!policy.isolate_failures)
    for (const auto& times : model.seen)
      if (times > 1) findings.add("predict saw a request twice");
  return findings.text();
}

TEST(BatchRaces, EveryRequestIsAnsweredExactlyOnce) {
  for (unsigned round = 0; round < kRounds; ++round)
    ASSERT_EQ(play(round), "") << "in round " << round;
}

// The senders do not wait for their answers. Each future must still become ready.
TEST(BatchRaces, EveryFutureBecomesReadyWhenAnExecutorIsDestroyed) {
  for (unsigned round = 0; round < kRounds / 10; ++round) {
    std::mt19937 random(round);
    Findings findings;
    Model model;
    std::stop_source stop;
    std::vector<std::future<int>> futures;
    {
      const BatchPolicy policy = random_policy(random);
      model.workers = policy.workers;
      const auto made = executor_of(model, policy, false);
      Executor& executor = *made;
      std::jthread canceller([&] { stop.request_stop(); });
      for (int input = 0; input < 20; ++input) try {
          futures.push_back(executor.submit(0, random_options(random, stop)));
        } catch (const BatchError& error) {
          ASSERT_EQ(error.code(), ErrorCode::queue_full);
        }
    }
    for (auto& future : futures) expect_answer(0, findings, [&] { return future.get(); });
    ASSERT_EQ(findings.text(), "") << "in round " << round;
  }
}

/// Calls run and run_all a few times, as `seed` says.
void call_some(Executor& executor, int first, unsigned seed, Findings& findings) {
  std::mt19937 random(seed);
  for (int input = first; input < first + 12; input += 3) {
    expect_answer(input, findings, [&] {
      if (random() % 3 > 0) return executor.run(input);
      const std::vector<int> outputs = executor.run_all({input, input + 1, input + 2});
      return outputs.at(2) == 2 * (input + 2) ? outputs.at(0) : -1;
    });
  }
}

// Callers that only wait for their answers: they predict each other's inputs, and hand over to
// workers and back.
TEST(BatchRaces, CallersThatPredictForEachOtherGetTheirOwnAnswers) {
  for (unsigned round = 0; round < kRounds / 2; ++round) {
    std::mt19937 random(round);
    Findings findings;
    Model model;
    model.keys = random() % 3 == 0 ? 2 : 1;
    BatchPolicy policy = random_policy(random);
    policy.overflow = QueueOverflowPolicy::wait;
    policy.callers_predict = true;
    model.workers = policy.workers;
    const auto executor = executor_of(model, policy, false);
    const int callers = 2 + static_cast<int>(random() % 3);
    std::vector<std::jthread> threads;
    for (int caller = 0; caller < callers; ++caller)
      threads.emplace_back([&, caller, own = random()] {
        call_some(*executor, 12 * caller, static_cast<unsigned>(own), findings);
      });
    threads.clear();
    ASSERT_EQ(executor->workload(), 0u) << "in round " << round;
    ASSERT_EQ(findings.text(), "") << "in round " << round;
    ASSERT_FALSE(model.crowded || model.mixed) << "in round " << round;
  }
}

// Each caller calls once. The executor is destroyed as soon as all of them are known to it.
TEST(BatchRaces, CallersThatPredictOutliveTheirExecutor) {
  for (unsigned round = 0; round < kRounds / 4; ++round) {
    Findings findings;
    Model model;
    std::atomic<bool> go{false};
    auto executor = std::make_unique<Executor>([&](std::span<const int> inputs) {
      while (!go.load()) std::this_thread::yield();
      return model(inputs);
    });
    std::vector<std::jthread> threads;
    for (int caller = 0; caller < 3; ++caller)
      threads.emplace_back([&, caller, to = executor.get()] {
        expect_answer(caller, findings, [&] { return to->run(caller); });
      });
    while (executor->workload() < 3) std::this_thread::yield();
    go = true;
    executor.reset();
    threads.clear();
    ASSERT_EQ(findings.text(), "") << "in round " << round;
  }
}

}  // namespace
}  // namespace vcap
