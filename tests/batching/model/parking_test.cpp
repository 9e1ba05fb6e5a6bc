// SPDX-License-Identifier: Apache-2.0
// Every caller that was answered must wake up, whatever way wake-ups take from spot to spot. A
// caller that does not wake up causes a deadlock, which the search reports.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "batching/parking_lot.hpp"
#include "harness/explore.hpp"

namespace vcap::model {
namespace {

using detail::ParkingLot;

using Open = std::atomic<std::uint32_t>;

ParkingLot& first_spot() { return ParkingLot::spot(1, 0); }

ParkingLot& second_spot() {
  std::uint64_t group = 1;
  while (&ParkingLot::spot(1, group) == &first_spot()) ++group;
  return ParkingLot::spot(1, group);
}

std::thread sleeper(ParkingLot& spot, const Open& open) {
  return std::thread([&] { spot.wait(open); });
}

TEST(BatchParkingModel, AllWaitersAtOneSpotWake) {
  expect_holds({.preemptions = 2, .spurious = 1}, [] {
    Open one{0}, two{0}, three{0};
    std::thread a = sleeper(first_spot(), one);
    std::thread b = sleeper(first_spot(), two);
    std::thread c = sleeper(first_spot(), three);
    {
      ParkingLot::Chain chain;
      one.store(1);
      two.store(1);
      three.store(1);
      chain.add(first_spot());
    }
    a.join();
    b.join();
    c.join();
  });
}

TEST(BatchParkingModel, AllWaitersAtTheNextSpotsWakeToo) {
  expect_holds({.preemptions = 2, .spurious = 1}, [] {
    Open one{0}, two{0}, three{0};
    std::thread a = sleeper(first_spot(), one);
    std::thread b = sleeper(second_spot(), two);
    std::thread c = sleeper(second_spot(), three);
    {
      ParkingLot::Chain chain;
      one.store(1);
      chain.add(first_spot());
      two.store(1);
      three.store(1);
      chain.add(second_spot());
    }
    a.join();
    b.join();
    c.join();
  });
}

TEST(BatchParkingModel, AWaiterWokenInVainSleepsAgainAndLosesNoWakeUp) {
  expect_holds({.preemptions = 2}, [] {
    Open one{0}, two{0};
    std::thread late = sleeper(first_spot(), two);
    std::thread a = sleeper(second_spot(), one);
    {
      ParkingLot::Chain chain;
      one.store(1);
      chain.add(second_spot());
      chain.add(first_spot());  // for example, of another executor
    }
    a.join();
    two.store(1);
    first_spot().wake_all();
    late.join();
  });
}

TEST(BatchParkingModel, ALateWaiterDoesNotTakeTheWakeUpOfAnother) {
  expect_holds({.preemptions = 2}, [] {
    Open one{0}, two{0};
    std::thread a = sleeper(first_spot(), one);
    std::thread late = sleeper(first_spot(), two);
    {
      ParkingLot::Chain chain;
      one.store(1);
      chain.add(first_spot());
    }
    a.join();
    two.store(1);
    first_spot().wake_all();
    late.join();
  });
}

TEST(BatchParkingModel, TwoThreadsThatAnswerAtTheSameSpotsWakeAllWaiters) {
  expect_holds({.preemptions = 1}, [] {
    Open one{0}, two{0}, three{0};
    std::thread a = sleeper(first_spot(), one);
    std::thread b = sleeper(second_spot(), two);
    std::thread c = sleeper(first_spot(), three);
    std::thread other([&] {
      ParkingLot::Chain chain;
      three.store(1);
      chain.add(first_spot());
      chain.add(second_spot());
    });
    {
      ParkingLot::Chain chain;
      two.store(1);
      chain.add(second_spot());
      one.store(1);
      chain.add(first_spot());
      chain.add(second_spot());  // once more
    }
    other.join();
    a.join();
    b.join();
    c.join();
  });
}

}  // namespace
}  // namespace vcap::model
