// SPDX-License-Identifier: Apache-2.0
#include "batching/batch_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <random>
#include <string>
#include <vector>

namespace vcap::detail {
namespace {

using namespace std::chrono_literals;
using time_point = BatchClock::time_point;

constexpr time_point kEpoch{1h};
constexpr std::uint8_t kLow = 0, kNormal = 1, kHigh = 2;

/// A queue, and requests named by a letter.
class Queue {
 public:
  BatchRequest& push(char name, std::uint64_t stream, std::uint8_t level = kNormal,
                     BatchClock::duration at = 0ms, time_point deadline = time_point::max()) {
    BatchRequest& request = requests_.emplace_back().request;
    requests_.back().name = name;
    request.stream = stream;
    request.level = level;
    request.arrival = kEpoch + at;
    request.deadline = deadline;
    queue_.push(request);
    return request;
  }

  std::string take_all(BatchClock::duration at = 0ms) {
    std::string names;
    while (const BatchRequest* request = queue_.take(kEpoch + at)) names += name_of(request);
    return names;
  }

  char name_of(const BatchRequest* request) const {
    return std::find_if(requests_.begin(), requests_.end(),
                        [&](const Named& named) { return &named.request == request; })
        ->name;
  }

  BatchQueue& operator*() { return queue_; }
  BatchQueue* operator->() { return &queue_; }

 private:
  struct Named {
    BatchRequest request;
    char name;
  };
  std::list<Named> requests_;
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

TEST(BatchQueue, GoesOnWithTheTurnOfTheBatchBefore) {
  Queue queue;
  for (const char name : std::string("aaa")) queue.push(name, 1);
  for (const char name : std::string("bb")) queue.push(name, 2);
  EXPECT_EQ(queue.name_of(queue->take(kEpoch)), 'a');
  queue.push('c', 3);
  EXPECT_EQ(queue.take_all(), "bacba") << "a new stream queues up behind the others";
}

TEST(BatchQueue, TakesHigherPrioritiesFirst) {
  Queue queue;
  queue.push('l', 1, kLow);
  queue.push('n', 1, kNormal);
  queue.push('h', 1, kHigh);
  EXPECT_EQ(queue.take_all(), "hnl");
}

TEST(BatchQueue, LetsALongWaitRaiseAPriority) {
  Queue queue;
  queue.push('l', 1, kLow, 0ms);
  queue.push('h', 2, kHigh, 199ms);
  queue.push('H', 2, kHigh, 199ms);
  EXPECT_EQ(queue.name_of(queue->take(kEpoch + 199ms)), 'h') << "raised by one level only";
  EXPECT_EQ(queue.take_all(200ms), "lH") << "raised by two levels, and waiting longer";
}

TEST(BatchQueue, StillTakesStreamsInTurnWhereAllWaitLong) {
  Queue queue;
  for (const char name : std::string("aaaa")) queue.push(name, 1);
  queue.push('b', 2);
  EXPECT_EQ(queue.take_all(10s), "abaaa");
}

TEST(BatchQueue, RemovesFromAnywhere) {
  Queue queue;
  queue.push('a', 1);
  BatchRequest& middle = queue.push('b', 1);
  queue.push('c', 1);
  BatchRequest& alone = queue.push('d', 2);
  queue->remove(middle);
  queue->remove(alone);
  EXPECT_EQ(queue->size(), 2u);
  EXPECT_EQ(queue.take_all(), "ac");
}

TEST(BatchQueue, KnowsTheOldestArrivalOfAllPriorities) {
  Queue queue;
  queue.push('a', 1, kHigh, 1ms);
  BatchRequest& oldest = queue.push('b', 1, kLow, 0ms);
  EXPECT_EQ(queue->oldest_arrival(), kEpoch);
  queue->remove(oldest);
  EXPECT_EQ(queue->oldest_arrival(), kEpoch + 1ms);
}

TEST(BatchQueue, DropsTheOldestOfTheLowestPriorityFirst) {
  Queue queue;
  queue.push('a', 1, kHigh);
  queue.push('b', 1, kNormal);
  queue.push('c', 2, kNormal);
  EXPECT_EQ(queue.name_of(queue->first_to_drop()), 'b');
}

// Against a model that searches: every operation, in random order, over few and many streams.
TEST(BatchQueue, AgreesWithAModelThatSearches) {
  for (const std::uint64_t streams : {1u, 3u, 500u}) {
    std::mt19937 random(7);
    BatchQueue queue(100ms);
    std::list<BatchRequest> all;
    std::vector<BatchRequest*> waiting;  // by arrival
    for (int step = 0; step < 20000; ++step) {
      const unsigned act = random() % 8;
      if (act < 4) {
        BatchRequest& request = all.emplace_back();
        request.stream = random() % streams;
        request.level = static_cast<std::uint8_t>(random() % 3);
        request.arrival = kEpoch + std::chrono::microseconds(step);
        if (random() % 2) request.deadline = kEpoch + std::chrono::microseconds(random() % 90000);
        queue.push(request);
        waiting.push_back(&request);
      } else if (act < 5 && !waiting.empty()) {
        const auto at = waiting.begin() + static_cast<std::ptrdiff_t>(random() % waiting.size());
        queue.remove(**at);
        waiting.erase(at);
      } else if (BatchRequest* taken = queue.take(kEpoch + std::chrono::microseconds(step))) {
        // The first of its stream and priority.
        const auto first = std::find_if(waiting.begin(), waiting.end(), [&](BatchRequest* r) {
          return r->stream == taken->stream && r->level == taken->level;
        });
        ASSERT_EQ(*first, taken);
        waiting.erase(first);
      }
      ASSERT_EQ(queue.size(), waiting.size());
      const auto soonest = std::min_element(
          waiting.begin(), waiting.end(),
          [](BatchRequest* a, BatchRequest* b) { return a->deadline < b->deadline; });
      const BatchRequest* next = queue.first_to_expire();
      if (soonest == waiting.end() || (*soonest)->deadline == time_point::max())
        ASSERT_EQ(next, nullptr);
      else
        ASSERT_EQ(next->deadline, (*soonest)->deadline);
    }
  }
}

}  // namespace
}  // namespace vcap::detail
