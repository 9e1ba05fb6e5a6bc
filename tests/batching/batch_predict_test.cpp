// SPDX-License-Identifier: Apache-2.0
// Behaviour around predict: isolation of failures, its threads, and requests sent from within it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "batching/expect_batch_error.hpp"
#include "batching/predictor.hpp"
#include "support/bounded_wait.hpp"
#include "vcap/batching/batch_executor.hpp"

namespace vcap {
namespace {

using test::expect_batch_error;
using testing::ElementsAre;

using Executor = BatchExecutor<int, int>;

/// Doubles the inputs. Throws if one is negative.
std::vector<int> throw_at_negatives(std::span<const int> inputs) {
  std::vector<int> outputs;
  for (const int input : inputs) {
    if (input < 0) throw std::domain_error("negative");
    outputs.push_back(2 * input);
  }
  return outputs;
}

/// Sends the inputs as one batch. Gives the answer of each, or -1 if it failed.
std::vector<int> answers_of_one_batch(Executor::Predict predict, std::vector<int> inputs,
                                      BatchPolicy policy) {
  test::Predictor gate;
  gate.hold();
  bool first = true;
  Executor executor(
      [&](std::span<const int> batch) {
        if (!std::exchange(first, false)) return predict(batch);
        return gate(batch);
      },
      policy);
  auto before = executor.submit(0);
  gate.await_batches(1);
  std::vector<std::future<int>> futures;
  for (const int input : inputs) futures.push_back(executor.submit(input));
  gate.release();
  std::vector<int> answers;
  for (auto& future : futures) try {
      answers.push_back(future.get());
    } catch (const std::exception&) {
      answers.push_back(-1);
    }
  return answers;
}

/// The same with a predict that gives its outputs one by one.
std::vector<int> answers_one_by_one(const std::vector<int>& inputs) {
  Executor executor(
      [](std::span<const int> batch, BatchOutputs<int>& outputs) {
        for (const int input : batch) {
          if (input < 0) throw std::domain_error("negative");
          outputs.add(2 * input);
        }
      },
      {.max_queue_delay = std::chrono::hours(1), .isolate_failures = true});
  std::vector<std::future<int>> futures;
  for (const int input : inputs) futures.push_back(executor.submit(input));
  executor.close();  // ends the delay of a batch that is not full
  std::vector<int> answers;
  for (auto& future : futures) try {
      answers.push_back(future.get());
    } catch (const std::domain_error&) {
      answers.push_back(-1);
    }
  return answers;
}

TEST(BatchIsolation, FailsOnlyTheBadRequest) {
  EXPECT_THAT(
      answers_of_one_batch(throw_at_negatives, {1, 2, -3, 4, 5}, {.isolate_failures = true}),
      ElementsAre(2, 4, -1, 8, 10));
}

TEST(BatchIsolation, FindsOneBadInputAmongFortyInFewPredictions) {
  for (int bad = 0; bad < 40; ++bad) {
    std::vector<int> inputs(40, 1);
    inputs[static_cast<std::size_t>(bad)] = -1;
    std::vector<int> expected(40, 2);
    expected[static_cast<std::size_t>(bad)] = -1;
    std::atomic<int> predictions{0};
    const auto counted = [&](std::span<const int> batch) {
      ++predictions;
      return throw_at_negatives(batch);
    };
    ASSERT_EQ(answers_of_one_batch(counted, inputs, {.isolate_failures = true}), expected);
    // docs/batching.md says why there cannot be fewer.
    ASSERT_LE(predictions, 8) << bad;
  }
}

// Predict sees inputs in another order after some failures. Each sender still gets its own answer,
// whatever inputs fail, also if predict had given some outputs before it threw.
TEST(BatchIsolation, AnswersEachRequestWhateverInputsFail) {
  std::mt19937 random(17);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> inputs(1 + random() % 40), expected;
    const auto most_bad = random() % 4;
    std::iota(inputs.begin(), inputs.end(), 1);
    for (unsigned i = 0; i < most_bad; ++i) inputs[random() % inputs.size()] = -1;
    for (const int input : inputs) expected.push_back(input < 0 ? -1 : 2 * input);
    ASSERT_EQ(answers_of_one_batch(throw_at_negatives, inputs, {.isolate_failures = true}),
              expected)
        << "in round " << round;
    ASSERT_EQ(answers_one_by_one(inputs), expected) << "in round " << round;
  }
}

/// An input that is moved only with care. If `Throws`, the compiler does not know that its move
/// throws nothing, so that inputs are not reordered.
template <bool Throws>
struct Owned {
  explicit Owned(int number_in) : number(std::make_unique<int>(number_in)) {}
  Owned(Owned&& other) noexcept(!Throws) : number(std::move(other.number)) {}
  std::unique_ptr<int> number;
};

template <bool Throws>
void expect_each_isolated() {
  for (int bad = 0; bad < 40; ++bad) {
    BatchExecutor<Owned<Throws>, int> executor(
        [&](std::span<const Owned<Throws>> inputs) {
          std::vector<int> outputs;
          for (const Owned<Throws>& input : inputs) {
            if (*input.number == bad) throw std::domain_error("bad");
            outputs.push_back(2 * *input.number);
          }
          return outputs;
        },
        {.max_queue_delay = std::chrono::hours(1), .isolate_failures = true});
    std::vector<std::future<int>> futures;
    for (int i = 0; i < 40; ++i) futures.push_back(executor.submit(Owned<Throws>(i)));
    for (int i = 0; i < 40; ++i) {
      auto& future = futures[static_cast<std::size_t>(i)];
      if (i == bad)
        ASSERT_THROW(future.get(), std::domain_error) << i;
      else
        ASSERT_EQ(future.get(), 2 * i) << "beside " << bad;
    }
  }
}

TEST(BatchIsolation, WorksWithInputsThatCanOnlyBeMoved) {
  expect_each_isolated<false>();
  expect_each_isolated<true>();
}

TEST(BatchIsolation, AnswersInputsThatFailOnlyTogether) {
  const auto throw_at_many = [](std::span<const int> batch) {
    if (batch.size() > 3) throw std::bad_alloc();
    return std::vector<int>(batch.begin(), batch.end());
  };
  EXPECT_THAT(answers_of_one_batch(throw_at_many, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
                                   {.isolate_failures = true}),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
}

TEST(BatchIsolation, FailsEachOfSeveralBadInputs) {
  EXPECT_THAT(answers_of_one_batch(throw_at_negatives, {-1, 2, 3, -4}, {.isolate_failures = true}),
              ElementsAre(-1, 4, 6, -1));
}

TEST(BatchIsolation, AppliesToWrongOutputCountsToo) {
  const auto lose_sevens = [](std::span<const int> inputs) {
    std::vector<int> outputs;
    std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(outputs),
                 [](int input) { return input != 7; });
    return outputs;
  };
  EXPECT_THAT(answers_of_one_batch(lose_sevens, {5, 6, 7, 8}, {.isolate_failures = true}),
              ElementsAre(5, 6, -1, 8));
}

TEST(BatchIsolation, IsOnByDefault) {
  EXPECT_THAT(answers_of_one_batch(throw_at_negatives, {1, -2, 3}, {}), ElementsAre(2, -1, 6));
}

TEST(BatchIsolation, CanBeTurnedOff) {
  int rounds = 0;
  const auto counting = [&](std::span<const int> inputs) {
    ++rounds;
    return throw_at_negatives(inputs);
  };
  EXPECT_THAT(answers_of_one_batch(counting, {1, -2, 3}, {.isolate_failures = false}),
              ElementsAre(-1, -1, -1));
  EXPECT_EQ(rounds, 1);
}

/// The first move, into the request, works. If `bad`, the second move, into the batch, throws.
struct Slippery {
  explicit Slippery(bool bad_in) : bad(bad_in) {}
  Slippery(Slippery&& other) : bad(other.bad), moves(other.moves + 1) {
    if (bad && moves > kMovesOnTheWayIn) throw std::length_error("slipped");
  }
  static constexpr int kMovesOnTheWayIn = 1;
  bool bad;
  int moves = 0;
};

TEST(BatchPredict, AnInputWhoseMoveThrowsFailsAlone) {
  std::vector<std::size_t> sizes;
  BatchPolicy policy;
  policy.max_batch_size = 2;
  policy.max_queue_delay = std::chrono::hours(1);  // so both are in one batch
  BatchExecutor<Slippery, int> executor(
      [&](std::span<const Slippery> inputs) {
        sizes.push_back(inputs.size());
        return std::vector<int>(inputs.size(), 1);
      },
      policy);
  auto bad = executor.submit(Slippery(true));
  auto good = executor.submit(Slippery(false));
  EXPECT_THROW(bad.get(), std::length_error);
  EXPECT_EQ(good.get(), 1);
  EXPECT_THAT(sizes, ElementsAre(1u));
}

/// Throws when moved out of predict's results.
struct BadOutput {
  explicit BadOutput(int value_in) : value(value_in) {}
  BadOutput(const BadOutput& other) : value(other.value) {
    if (value == 13) throw std::length_error("thirteen");
  }
  int value;
};

TEST(BatchPredict, AnOutputWhoseMoveThrowsFailsAlone) {
  BatchExecutor<int, BadOutput> executor([](std::span<const int> inputs) {
    std::vector<BadOutput> outputs;
    outputs.reserve(inputs.size());
    for (const int input : inputs) outputs.emplace_back(input);
    return outputs;
  });
  auto bad = executor.submit(13);
  auto good = executor.submit(14);
  EXPECT_THROW(bad.get(), std::length_error);
  EXPECT_EQ(good.get().value, 14);
}

TEST(BatchPredict, MayNotUseItsOwnExecutor) {
  std::unique_ptr<Executor> executor;
  const auto send_again = [&](std::span<const int> inputs) {
    switch (inputs.front()) {
      case 1:
        executor->submit(9).get();
        break;
      case 2:
        executor->run(9);
        break;
      case 3:
        executor->run_all({9});
        break;
      default:
        executor->close();
    }
    return std::vector<int>(inputs.size());
  };
  executor = std::make_unique<Executor>(send_again);
  for (int way = 1; way <= 4; ++way)
    expect_batch_error(ErrorCode::reentrant_submit, "within its own predict",
                       [&] { executor->run(way); });
}

/// Sends to the own executor in both bodies of a parallel loop of predict; how often that is
/// refused.
int refusals_in_a_parallel_loop() {
  std::unique_ptr<Executor> executor;
  std::atomic<int> refused{0};
  const auto send_again = [&](std::span<const int> inputs) {
    // The loop bodies wait for each other, so that one of them runs on a TBB thread.
    test::Meeting both(2);
    tbb::parallel_for(
        0, 2,
        [&](int) {
          both.arrive_and_wait("the other loop body");
          try {
            executor->submit(9);
          } catch (const BatchError& error) {
            refused += error.code() == ErrorCode::reentrant_submit;
          }
        },
        tbb::simple_partitioner());
    return std::vector<int>(inputs.size());
  };
  executor = std::make_unique<Executor>(send_again, BatchPolicy{.concurrency = 2});
  executor->run(1);
  executor->close();
  return refused;
}

// Several executors: the TBB thread may still be in the arena of one when it is destroyed.
TEST(BatchPredict, MayNotUseItsOwnExecutorInParallelLoops) {
  // Ensures a second thread, also on a machine with one core.
  const tbb::global_control two_threads(tbb::global_control::max_allowed_parallelism, 2);
  for (int i = 0; i < 20; ++i) ASSERT_EQ(refusals_in_a_parallel_loop(), 2) << "of executor " << i;
}

TEST(BatchPredict, MaySendToAnotherExecutor) {
  Executor inner(throw_at_negatives);
  Executor outer([&](std::span<const int> inputs) {
    return inner.run_all(std::vector<int>(inputs.begin(), inputs.end()));
  });
  EXPECT_EQ(outer.run(2), 4);
}

class BatchArena : public testing::TestWithParam<int> {};

TEST_P(BatchArena, BoundsTheParallelLoopsOfPredict) {
  std::set<std::thread::id> threads;
  std::mutex mutex;
  int arena_size = 0;
  Executor executor(
      [&](std::span<const int> inputs) {
        arena_size = tbb::this_task_arena::max_concurrency();
        tbb::parallel_for(0, 1000, [&](int) {
          const std::lock_guard lock(mutex);
          threads.insert(std::this_thread::get_id());
        });
        return std::vector<int>(inputs.size());
      },
      {.concurrency = static_cast<std::size_t>(GetParam())});
  executor.run(1);
  EXPECT_EQ(arena_size, GetParam());
  EXPECT_LE(threads.size(), static_cast<std::size_t>(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Sizes, BatchArena, testing::Values(1, 2, 8));

TEST(BatchArenas, LoopsOfOneExecutorDoNotStarveThoseOfAnother) {
  std::atomic<bool> other_is_done{false};
  Executor greedy([&](std::span<const int> inputs) {
    // Endless iterations for every thread: no helper thread becomes free by itself.
    tbb::parallel_for(0, 64, [&](int) {
      test::yield_until("the other executor", [&] { return other_is_done.load(); });
    });
    return std::vector<int>(inputs.size());
  });
  Executor modest([](std::span<const int> inputs) {
    std::atomic<int> sum{0};
    tbb::parallel_for(0, 100, [&](int) { ++sum; });
    return std::vector<int>(inputs.size(), sum);
  });
  auto waiting = greedy.submit(1);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(modest.run(i), 100);
  other_is_done = true;
  waiting.get();
}

TEST(BatchWorkers, PredictSeveralBatchesAtOnce) {
  test::Meeting both(2);
  Executor executor(
      [&](std::span<const int> inputs) {
        both.arrive_and_wait("the batch of the other worker");
        return std::vector<int>(inputs.begin(), inputs.end());
      },
      {.max_batch_size = 1, .workers = 2});
  auto first = executor.submit(1);
  auto second = executor.submit(2);
  EXPECT_EQ(first.get() + second.get(), 3);
}

TEST(BatchWorkers, OneWorkerNeverPredictsTwoBatchesAtOnce) {
  std::atomic<int> inside{0};
  std::atomic<bool> overlapped{false};
  Executor executor(
      [&](std::span<const int> inputs) {
        if (++inside > 1) overlapped = true;
        std::this_thread::yield();
        --inside;
        return std::vector<int>(inputs.size());
      },
      {.max_batch_size = 2});
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 200; ++i) executor.run(i);
      });
  }
  EXPECT_FALSE(overlapped);
}

/// The names of this process's threads, by thread number.
std::map<std::string, std::string> threads() {
  std::map<std::string, std::string> names;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
    std::getline(std::ifstream(task.path() / "comm"), names[task.path().filename()]);
  return names;
}

TEST(BatchThreads, StartOnlyWhenTheyAreNeededAndEndWithClose) {
  const auto others = threads();
  const auto own = [&] {
    std::multiset<std::string> names;
    for (const auto& [number, name] : threads())
      if (!others.contains(number)) names.insert(name);
    return names;
  };
  test::Predictor predictor;
  Executor executor(std::ref(predictor), {.workers = 3});
  EXPECT_THAT(own(), testing::IsEmpty());
  executor.run(1);
  executor.run_all({1, 2});
  executor.run(1, {.deadline = std::chrono::steady_clock::now() + std::chrono::hours(1)});
  EXPECT_THAT(own(), testing::IsEmpty()) << "a caller alone predicts itself";
  const auto hour = std::chrono::steady_clock::now() + std::chrono::hours(1);
  executor.submit(1).get();
  EXPECT_THAT(own(), ElementsAre("vcap-batch"));
  executor.submit(1).get();
  EXPECT_THAT(own(), ElementsAre("vcap-batch")) << "one worker is enough for one caller";
  executor.submit(1, {.deadline = hour}).get();
  // The deadline thread sets its name when it first runs, and nothing waits for that.
  test::yield_until("the names of both threads", [&] {
    return own() == std::multiset<std::string>{"vcap-batch", "vcap-deadlines"};
  });
  executor.close();
  // The kernel lists them a moment longer.
  test::yield_until("the end of both threads", [&] { return own().empty(); });
}

}  // namespace
}  // namespace vcap
