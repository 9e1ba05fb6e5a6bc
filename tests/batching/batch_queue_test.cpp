// SPDX-License-Identifier: Apache-2.0
#include "batching/batch_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace vcap::detail {
namespace {

using namespace std::chrono_literals;
using time_point = Clock::time_point;

constexpr time_point kEpoch{1h};
constexpr std::uint8_t kLow = 0, kNormal = 1, kHigh = 2;

struct How {
  std::uint8_t level = kNormal;
  Clock::duration at = 0ms;
  time_point deadline = time_point::max();
  std::size_t count = 1;
  std::uint64_t key = 0;
};

/// A queue of items that are named by letters. Items of one chunk have consecutive letters.
class Queue {
 public:
  BatchChunk& push(char name, std::uint64_t stream, const How& how = {}) {
    BatchChunk& chunk = items_.emplace_back(name).chunk;
    items_.back().call.add(chunk, how.count, how.key);
    chunk.stream = stream;
    chunk.level = how.level;
    chunk.deadline = how.deadline;
    queue_.push(chunk, how.count, kEpoch + how.at);
    return chunk;
  }

  /// Takes up to `most` items of the group with the highest rank.
  std::string take(Clock::duration at = 0ms, std::size_t most = 1) {
    const auto groups = queue_.groups();
    BatchGroup* best = nullptr;
    for (BatchGroup* group : groups)
      if (!best || queue_.rank(*group, kEpoch + at) > queue_.rank(*best, kEpoch + at)) best = group;
    if (!best) return {};
    const BatchQueue::Taken taken = queue_.take(*best, kEpoch + at, most);
    const char first = static_cast<const Call*>(taken.call)->name;
    std::string names;
    for (std::size_t i = taken.begin; i < taken.end; ++i) names += static_cast<char>(first + i);
    return names;
  }

  std::string take_all(Clock::duration at = 0ms) {
    std::string names;
    while (!queue_.empty()) names += take(at);
    return names;
  }

  static char name_of(const BatchChunk* chunk) {
    return static_cast<char>(static_cast<const Call*>(chunk->call)->name + chunk->next);
  }

  BatchQueue* operator->() { return &queue_; }

 private:
  struct Call final : BatchCall {
    explicit Call(char letter) : name(letter) {}
    void answered() noexcept override {}
    const char name;
  };
  struct Item {
    explicit Item(char letter) : call(letter) {}
    Call call;
    BatchChunk chunk{};
  };
  std::list<Item> items_;
  BatchQueue queue_{100ms};
};

TEST(BatchQueue, KeepsTheOrderWithinAStream) {
  Queue queue;
  for (const char name : std::string("abcd")) queue.push(name, 1);
  EXPECT_EQ(queue.take_all(), "abcd");
  EXPECT_TRUE(queue->empty());
}

TEST(BatchQueue, TakesFromTheStreamsInTurn) {
  Queue queue;
  for (const char name : std::string("aaaa")) queue.push(name, 1);
  for (const char name : std::string("bb")) queue.push(name, 2);
  queue.push('c', 3);
  EXPECT_EQ(queue.take_all(), "abcabaa");
}

TEST(BatchQueue, ContinuesTheTurnsOfTheBatchBefore) {
  Queue queue;
  for (const char name : std::string("aaa")) queue.push(name, 1);
  for (const char name : std::string("bb")) queue.push(name, 2);
  EXPECT_EQ(queue.take(), "a");
  queue.push('c', 3);
  EXPECT_EQ(queue.take_all(), "bacba") << "a new stream queues up behind the others";
}

TEST(BatchQueue, TakesHigherPrioritiesFirst) {
  Queue queue;
  queue.push('l', 1, {.level = kLow});
  queue.push('n', 1, {.level = kNormal});
  queue.push('h', 1, {.level = kHigh});
  EXPECT_EQ(queue.take_all(), "hnl");
}

TEST(BatchQueue, RaisesAPriorityAfterALongWait) {
  Queue queue;
  queue.push('l', 1, {.level = kLow, .at = 0ms});
  queue.push('h', 2, {.level = kHigh, .at = 199ms});
  queue.push('H', 2, {.level = kHigh, .at = 199ms});
  EXPECT_EQ(queue.take(199ms), "h") << "raised by one level only";
  EXPECT_EQ(queue.take_all(200ms), "lH") << "raised by two levels, and waiting longer";
}

TEST(BatchQueue, StillTakesStreamsInTurnWhenAllWaitLong) {
  Queue queue;
  for (const char name : std::string("aaaa")) queue.push(name, 1);
  queue.push('b', 2);
  EXPECT_EQ(queue.take_all(10s), "abaaa");
}

TEST(BatchQueue, RemovesChunksAnywhere) {
  Queue queue;
  queue.push('a', 1);
  BatchChunk& middle = queue.push('b', 1);
  queue.push('c', 1);
  BatchChunk& alone = queue.push('d', 2);
  queue->remove(middle);
  queue->remove(alone);
  EXPECT_EQ(queue->size(), 2u);
  EXPECT_EQ(queue.take_all(), "ac");
}

TEST(BatchQueue, KnowsTheOldestArrivalOfAllPriorities) {
  Queue queue;
  queue.push('a', 1, {.level = kHigh, .at = 1ms});
  BatchChunk& oldest = queue.push('b', 1, {.level = kLow});
  EXPECT_EQ(queue->groups()[0]->oldest_arrival(), kEpoch);
  queue->remove(oldest);
  EXPECT_EQ(queue->groups()[0]->oldest_arrival(), kEpoch + 1ms);
}

TEST(BatchQueue, DropsTheOldestOfTheLowestPriorityFirst) {
  Queue queue;
  queue.push('a', 1, {.level = kHigh});
  queue.push('b', 1, {.at = 1ms, .key = 7});
  queue.push('c', 2, {.at = 2ms});
  EXPECT_EQ(queue.name_of(queue->first_to_drop()), 'b');
}

TEST(BatchQueue, TakesManyItemsAtOnceOfASingleStream) {
  Queue queue;
  queue.push('a', 1, {.count = 5});
  queue.push('A', 1, {.count = 2});
  EXPECT_EQ(queue.take(0ms, 3), "abc");
  EXPECT_EQ(queue.take(0ms, 3), "de") << "items of only one call at a time";
  EXPECT_EQ(queue.take(0ms, 3), "AB");
  EXPECT_TRUE(queue->empty());
}

TEST(BatchQueue, TakesOneItemAtATimeWhenOtherStreamsWait) {
  Queue queue;
  queue.push('a', 1, {.count = 4});
  queue.push('A', 2, {.count = 2});
  std::string names;
  while (!queue->empty()) names += queue.take(0ms, 10);
  EXPECT_EQ(names, "aAbBcd");
}

TEST(BatchQueue, DoesNotLetManyItemsPassAHigherPriority) {
  Queue queue;
  queue.push('a', 1, {.count = 3});
  EXPECT_EQ(queue.take(), "a");
  queue.push('h', 1, {.level = kHigh});
  EXPECT_EQ(queue.take(0ms, 10), "h");
  EXPECT_EQ(queue.take(0ms, 10), "bc");
}

TEST(BatchQueue, KeepsKeysApart) {
  Queue queue;
  queue.push('a', 1, {.at = 1ms, .key = 1});
  queue.push('A', 1, {.at = 2ms, .count = 2, .key = 2});
  queue.push('b', 1, {.at = 3ms, .key = 1});
  ASSERT_EQ(queue->groups().size(), 2u);
  EXPECT_EQ(queue->size(), 4u);
  EXPECT_EQ(queue.take(), "a");
  EXPECT_EQ(queue.take(0ms, 9), "AB");
  EXPECT_EQ(queue->groups().size(), 1u);
  EXPECT_EQ(queue.take(), "b");
}

TEST(BatchQueue, RanksKeysByPriorityBeforeAge) {
  Queue queue;
  queue.push('a', 1, {.key = 1});
  queue.push('h', 1, {.level = kHigh, .at = 1ms, .key = 2});
  EXPECT_EQ(queue.take(2ms), "h");
}

TEST(BatchQueue, RemovesTheFrontItemOfAChunk) {
  Queue queue;
  BatchChunk& chunk = queue.push('a', 1, {.count = 2});
  EXPECT_EQ(queue->remove_front(chunk), 0u);
  EXPECT_EQ(queue->size(), 1u);
  EXPECT_EQ(queue->remove_front(chunk), 1u);
  EXPECT_TRUE(queue->empty());
  EXPECT_TRUE(queue->groups().empty());
}

/// Runs every operation in random order, and compares the queue with a model that searches a list.
class QueueAgainstModel {
 public:
  QueueAgainstModel(unsigned seed, std::uint64_t streams, std::uint64_t keys)
      : random_(seed), streams_(streams), keys_(keys) {}

  void step(int number) {
    now_ = kEpoch + std::chrono::microseconds(number);
    switch (random_() % 8) {
      case 0:
      case 1:
      case 2:
        push();
        break;
      case 3:
        push_more();
        break;
      case 4:
        remove();
        break;
      case 5:
        remove_front();
        break;
      default:
        take();
    }
    check();
  }

 private:
  struct Call final : BatchCall {
    void answered() noexcept override {}
    BatchChunk chunk{};
  };

  void push() {
    Call& call = calls_.emplace_back();
    call.add(call.chunk, 1 + random_() % 5, random_() % keys_);
    call.chunk.stream = random_() % streams_;
    call.chunk.level = static_cast<std::uint8_t>(random_() % 3);
    if (random_() % 2) call.chunk.deadline = kEpoch + std::chrono::microseconds(random_() % 90000);
    queue_.push(call.chunk, 1 + random_() % call.chunk.limit, now_);
    waiting_.push_back(&call.chunk);
  }
  // Adds the next item of a blocked sender.
  void push_more() {
    if (calls_.empty()) return;
    BatchChunk& chunk = calls_.back().chunk;
    if (chunk.end == chunk.limit) return;
    if (!chunk.queued()) waiting_.push_back(&chunk);
    queue_.push(chunk, 1, now_);
  }
  void remove() {
    if (waiting_.empty()) return;
    queue_.remove(**any());
    forget_taken();
  }
  void remove_front() {
    if (waiting_.empty()) return;
    queue_.remove_front(**any());
    forget_taken();
  }
  void take() {
    if (waiting_.empty()) return;
    const auto groups = queue_.groups();
    BatchGroup& group = *groups[random_() % groups.size()];
    const std::size_t most = 1 + random_() % 4;
    const std::size_t size = group.size;
    const BatchQueue::Taken taken = queue_.take(group, now_, most);
    ASSERT_LE(taken.end - taken.begin, std::min(most, size));
    const BatchChunk& chunk = static_cast<const Call*>(taken.call)->chunk;
    // It must be the first chunk of its stream, key and priority.
    const auto first = std::find_if(waiting_.begin(), waiting_.end(), [&](const BatchChunk* c) {
      return c->stream == chunk.stream && c->level == chunk.level && c->key == chunk.key;
    });
    ASSERT_EQ(*first, &chunk);
    ASSERT_EQ(taken.end, chunk.next);
    forget_taken();
  }

  std::vector<BatchChunk*>::iterator any() {
    return waiting_.begin() + static_cast<std::ptrdiff_t>(random_() % waiting_.size());
  }
  void forget_taken() {
    std::erase_if(waiting_, [](const BatchChunk* chunk) { return !chunk->queued(); });
  }

  void check() {
    std::size_t size = 0;
    std::set<std::uint64_t> keys;
    const BatchChunk* soonest = nullptr;
    for (const BatchChunk* chunk : waiting_) {
      size += chunk->end - chunk->next;
      keys.insert(chunk->key);
      if (!soonest || chunk->deadline < soonest->deadline) soonest = chunk;
    }
    ASSERT_EQ(queue_.size(), size);
    ASSERT_EQ(queue_.groups().size(), keys.size());
    for (const BatchGroup* group : queue_.groups()) ASSERT_TRUE(keys.contains(group->key));
    const BatchChunk* next = queue_.first_to_expire();
    if (!soonest || soonest->deadline == time_point::max())
      ASSERT_EQ(next, nullptr);
    else
      ASSERT_EQ(next->deadline, soonest->deadline);
  }

  std::mt19937 random_;
  const std::uint64_t streams_, keys_;
  time_point now_{};
  BatchQueue queue_{100ms};
  std::list<Call> calls_;
  std::vector<BatchChunk*> waiting_;  // in order of arrival
};

TEST(BatchQueue, AgreesWithAModelThatSearches) {
  for (const std::uint64_t streams : {1u, 3u, 500u})
    for (const std::uint64_t keys : {1u, 2u, 40u}) {
      QueueAgainstModel both(7, streams, keys);
      for (int i = 0; i < 10000 && !testing::Test::HasFatalFailure(); ++i) both.step(i);
    }
}

}  // namespace
}  // namespace vcap::detail
