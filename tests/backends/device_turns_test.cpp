// SPDX-License-Identifier: Apache-2.0
#include "backends/device_turns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

namespace vcap::test {
namespace {

using namespace std::chrono_literals;
using TimePoint = DeviceTurns::TimePoint;

constexpr auto kTurn = DeviceTurns::kTurn;

/// Models on one device, whose requests are started and ended by hand.
class DeviceTurnsTest : public testing::Test {
 protected:
  struct Request {
    DeviceTurns::Place place{};
    bool started = false;
    TimePoint asked{};
  };
  struct OneModel {
    DeviceTurns::ModelHandle handle{};
    std::vector<std::unique_ptr<Request>> requests{};
  };

  OneModel model(std::size_t parallel_requests = 2, std::size_t requests = 4,
                 const void* owner = nullptr) {
    OneModel made{turns.add_model(parallel_requests, owner)};
    for (std::size_t i = 0; i < requests; ++i) {
      made.requests.push_back(std::make_unique<Request>());
      made.requests.back()->place.model = made.handle.get();
    }
    return made;
  }
  bool ask(Request& request) {
    request.asked = now;
    request.started = turns.ask(request.place, now, [&request] { request.started = true; });
    return request.started;
  }
  void done(Request& request) {
    request.started = false;
    turns.done(request.place, now);
  }
  /// Makes the model's typical run last 10 ms.
  void run_often(OneModel& model) {
    for (int run = 0; run < 100; ++run) {
      ask(*model.requests[0]);
      now += 10ms;
      done(*model.requests[0]);
    }
    now += kTurn;
  }

  DeviceTurns turns;
  TimePoint now{1s};
};

TEST_F(DeviceTurnsTest, LetsALoneModelStartAllItsRequests) {
  OneModel alone = model();
  for (int round = 0; round < 3; ++round, now += 2 * kTurn) {
    for (auto& request : alone.requests) EXPECT_TRUE(ask(*request));
    for (auto& request : alone.requests) done(*request);
  }
}

TEST_F(DeviceTurnsTest, KeepsTheTurnForItsTimeWhileTheDeviceIsBusy) {
  OneModel first = model(), second = model();
  for (int i : {0, 1, 2}) EXPECT_TRUE(ask(*first.requests[i]));
  EXPECT_FALSE(ask(*second.requests[0]));
  now += kTurn - 1ms;
  EXPECT_TRUE(ask(*first.requests[3]));
  done(*first.requests[0]);
  EXPECT_TRUE(ask(*first.requests[0]));  // again
  EXPECT_FALSE(second.requests[0]->started);

  now += 1ms;  // the turn ends
  done(*first.requests[0]);
  EXPECT_TRUE(second.requests[0]->started) << "requests that started a turn ago no longer count";
  EXPECT_FALSE(ask(*first.requests[0])) << "the turn is the second's, and the device is busy";
  EXPECT_TRUE(ask(*second.requests[1]));
  for (int i : {1, 2, 3}) done(*first.requests[i]);
  EXPECT_FALSE(first.requests[0]->started);
  for (int i : {0, 1}) done(*second.requests[i]);
  EXPECT_TRUE(first.requests[0]->started);
  done(*first.requests[0]);
}

TEST_F(DeviceTurnsTest, LetsAnotherModelStartWhileTheHolderLeavesAPartOfTheDeviceIdle) {
  OneModel holder = model(), other = model(), whole = model(1);
  EXPECT_TRUE(ask(*holder.requests[0]));
  EXPECT_TRUE(ask(*other.requests[0]));
  EXPECT_FALSE(ask(*other.requests[1])) << "both halves of the device are busy";
  EXPECT_FALSE(ask(*whole.requests[0]));
  EXPECT_TRUE(ask(*holder.requests[1])) << "the model with the turn does not wait";
  done(*holder.requests[1]);
  EXPECT_FALSE(other.requests[1]->started);
  done(*holder.requests[0]);
  EXPECT_TRUE(other.requests[1]->started);
  done(*other.requests[0]);
  EXPECT_TRUE(whole.requests[0]->started);
  done(*other.requests[1]);
  EXPECT_FALSE(ask(*other.requests[0])) << "one request takes the whole device";
  done(*whole.requests[0]);
  EXPECT_TRUE(other.requests[0]->started);
  done(*other.requests[0]);
}

TEST_F(DeviceTurnsTest, GivesTheTurnToAllModelsThatWaitInARound) {
  std::vector<OneModel> models;
  for (int i = 0; i < 4; ++i) models.push_back(model(1, 2));
  for (OneModel& one : models)
    for (auto& request : one.requests) ask(*request);
  for (std::size_t turn = 0; turn < 12; ++turn) {
    for (std::size_t i = 0; i < 4; ++i)
      for (auto& request : models[i].requests) EXPECT_EQ(request->started, i == turn % 4) << turn;
    auto& running = models[turn % 4].requests;
    for (int run = 0; run < 10; ++run) {
      now += kTurn / 10;
      done(*running[0]);
      EXPECT_EQ(ask(*running[0]), run < 9) << turn;
      std::swap(running[0], running[1]);
    }
    done(*running[0]);  // the last one of the turn
    EXPECT_FALSE(ask(*running[0])) << turn;
  }
  for (bool any = true; any;) {
    any = false;
    for (OneModel& one : models)
      for (auto& request : one.requests)
        if (request->started) {
          done(*request);
          any = true;
        }
  }
}

TEST_F(DeviceTurnsTest, NoLongerCountsARequestThatHasRunForATurn) {
  OneModel hanging = model(), other = model();
  for (auto& request : hanging.requests) ask(*request);
  const TimePoint start = now;
  EXPECT_EQ(turns.grant_due(now), std::nullopt) << "nobody waits";
  now += 10ms;
  EXPECT_FALSE(ask(*other.requests[0]));
  EXPECT_EQ(turns.grant_due(now), start + kTurn);
  now = start + kTurn;
  EXPECT_EQ(turns.grant_due(now), std::nullopt);
  EXPECT_TRUE(other.requests[0]->started);
  for (int i : {1, 2, 3}) EXPECT_TRUE(ask(*other.requests[i]));
  for (auto& request : other.requests) done(*request);
  for (auto& request : hanging.requests) done(*request);
}

TEST_F(DeviceTurnsTest, GivesNoTurnsToAModelWithLongRuns) {
  OneModel slow = model(), fast = model();
  for (int i = 0; i < 30; ++i) {
    ask(*slow.requests[0]);
    now += 2 * DeviceTurns::kLongestRun;
    done(*slow.requests[0]);
  }
  for (auto& request : fast.requests) EXPECT_TRUE(ask(*request));
  for (auto& request : slow.requests) EXPECT_TRUE(ask(*request)) << "it starts at once";
  for (auto& request : fast.requests) {
    done(*request);
    EXPECT_TRUE(ask(*request)) << "this request does not count";
  }
  for (auto& request : slow.requests) done(*request);
  for (auto& request : fast.requests) done(*request);
}

TEST_F(DeviceTurnsTest, CountsARequestThatStartedOutOfTurn) {
  OneModel latency = model(1, 1), first = model(), second = model();
  EXPECT_TRUE(ask(*first.requests[0]));
  turns.start_at_once(latency.requests[0]->place, now);
  EXPECT_FALSE(ask(*second.requests[0]));
  turns.done(latency.requests[0]->place, now);
  EXPECT_TRUE(second.requests[0]->started);
  done(*first.requests[0]);
  done(*second.requests[0]);
}

TEST_F(DeviceTurnsTest, KeepsAPlaceOfTheHolderWhileAnotherOfItsRequestsRuns) {
  OneModel holder = model(), other = model();
  run_often(holder);
  for (int i : {0, 1}) ask(*holder.requests[i]);
  EXPECT_FALSE(ask(*other.requests[0]));
  const TimePoint start = now;
  for (int run = 0; run < 5; ++run) {
    now += 1ms;
    done(*holder.requests[0]);
    EXPECT_FALSE(other.requests[0]->started);
    EXPECT_TRUE(ask(*holder.requests[0]));
    EXPECT_EQ(turns.grant_due(now), start + kTurn) << "the time of the request that still runs";
  }
  done(*holder.requests[0]);
  EXPECT_FALSE(other.requests[0]->started);
  done(*holder.requests[1]);
  EXPECT_TRUE(other.requests[0]->started)
      << "at once, because no request of the holder runs any more";
  EXPECT_TRUE(ask(*other.requests[1])) << "both places are free";
  done(*other.requests[0]);
  done(*other.requests[1]);
}

TEST_F(DeviceTurnsTest, KeepsAPlaceForAPartOfTheTypicalRun) {
  OneModel holder = model(), other = model();
  run_often(holder);
  for (int i : {0, 1}) ask(*holder.requests[i]);
  now += 10ms;
  done(*holder.requests[0]);
  EXPECT_FALSE(ask(*other.requests[0]));
  const auto until = turns.grant_due(now);
  ASSERT_TRUE(until);
  EXPECT_LE(std::chrono::abs(*until - now - 10000us / DeviceTurns::kPartKept), 1us);
  now = *until;
  EXPECT_EQ(turns.grant_due(now), std::nullopt);
  EXPECT_TRUE(other.requests[0]->started);
  done(*other.requests[0]);
  done(*holder.requests[1]);
}

TEST_F(DeviceTurnsTest, KeepsNoPlaceForAModelWithoutTheTurn) {
  OneModel holder = model(4), other = model(4), third = model(4);
  run_often(other);
  for (int i : {0, 1}) ask(*holder.requests[i]);
  for (int i : {0, 1}) EXPECT_TRUE(ask(*other.requests[i])) << "half of the device is idle";
  EXPECT_FALSE(ask(*third.requests[0]));
  done(*other.requests[0]);
  EXPECT_TRUE(third.requests[0]->started);
  done(*third.requests[0]);
  done(*other.requests[1]);
  for (int i : {0, 1}) done(*holder.requests[i]);
}

TEST_F(DeviceTurnsTest, KeepsNoPlaceFromModelsOfTheSameOwner) {
  const int owner = 0;
  OneModel holder = model(2, 4, &owner), sibling = model(2, 4, &owner), stranger = model();
  run_often(holder);
  for (int i : {0, 1}) ask(*holder.requests[i]);
  now += 10ms;
  done(*holder.requests[0]);
  EXPECT_FALSE(ask(*stranger.requests[0]));
  EXPECT_TRUE(turns.grant_due(now));
  done(*holder.requests[1]);
  EXPECT_TRUE(stranger.requests[0]->started);
  done(*stranger.requests[0]);

  for (int i : {0, 1}) ask(*holder.requests[i]);
  now += 10ms;
  done(*holder.requests[0]);
  EXPECT_TRUE(ask(*sibling.requests[0]));
  done(*sibling.requests[0]);
  done(*holder.requests[1]);
}

TEST_F(DeviceTurnsTest, ContinuesAfterAModelIsDestroyed) {
  OneModel first = model(), second = model();
  {
    OneModel holder = model();
    EXPECT_TRUE(ask(*holder.requests[0]));
    EXPECT_TRUE(ask(*first.requests[0]));
    EXPECT_FALSE(ask(*second.requests[0]));
    done(*holder.requests[0]);
  }
  EXPECT_TRUE(second.requests[0]->started);
  done(*first.requests[0]);
  done(*second.requests[0]);
}

TEST_F(DeviceTurnsTest, StartsEachRequestOnceWithoutIdlingInThousandsOfRandomRounds) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    struct Running {
      Request* request;
      TimePoint end;
    };
    const std::size_t count = random() % 5 + 1;
    std::vector<OneModel> models;
    std::vector<std::chrono::microseconds> longest;
    for (std::size_t i = 0; i < count; ++i) {
      models.push_back(model(random() % 3 + 1, random() % 4 + 1));
      longest.emplace_back(random() % 20000 + 1);
    }
    std::vector<Running> running;
    std::size_t asked = 0, started = 0;
    const auto run = [&](Request& request, std::size_t of) {
      ++started;
      running.push_back(
          {&request, now + std::chrono::microseconds(
                               random() % static_cast<unsigned>(longest[of].count()) + 1)});
    };
    std::vector<std::pair<Request*, std::size_t>> waiting, idle;
    for (std::size_t of = 0; of < count; ++of)
      for (auto& request : models[of].requests) idle.emplace_back(request.get(), of);
    for (int step = 0; step < 200 || !running.empty() || !waiting.empty(); ++step) {
      if (step < 200 && !idle.empty() && random() % 2 == 0) {
        std::swap(idle[random() % idle.size()], idle.back());
        const auto [request, of] = idle.back();
        idle.pop_back();
        ++asked;
        if (ask(*request))
          run(*request, of);
        else
          waiting.emplace_back(request, of);
      } else if (!running.empty()) {
        const auto next = std::ranges::min_element(running, {}, &Running::end);
        now = std::max(now, next->end);
        Request* const request = next->request;
        running.erase(next);
        for (std::size_t of = 0; of < count; ++of)
          if (request->place.model == models[of].handle.get()) idle.emplace_back(request, of);
        done(*request);
      } else if (!waiting.empty()) {  // for a place that is kept
        const auto due = turns.grant_due(now);
        if (due) now = *due;
        turns.grant_due(now);
      }
      std::erase_if(waiting, [&](const auto& one) {
        if (!one.first->started) return false;
        EXPECT_LE(now - one.first->asked, 2 * static_cast<int>(count) * kTurn);
        run(*one.first, one.second);
        return true;
      });
      ASSERT_TRUE(waiting.empty() || !running.empty()) << "the device idles";
    }
    EXPECT_EQ(started, asked);
    EXPECT_EQ(turns.grant_due(now), std::nullopt);
  }
}

TEST(DeviceTurns, AreSharedByTheNamesOfOneDevice) {
  const auto cpu = DeviceTurns::of_device("CPU");
  EXPECT_EQ(cpu, DeviceTurns::of_device("CPU:0"));
  EXPECT_EQ(DeviceTurns::of_device("GPU.0"), DeviceTurns::of_device("GPU:0"));
  EXPECT_NE(cpu, DeviceTurns::of_device("GPU"));
  EXPECT_NE(DeviceTurns::of_device("GPU.1"), DeviceTurns::of_device("GPU"));
}

}  // namespace
}  // namespace vcap::test
