// SPDX-License-Identifier: Apache-2.0
#include "jobs/lease_renewer.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/manual_clock.hpp"

namespace vcap::test {
namespace {

using namespace std::chrono_literals;

class LeaseRenewerTest : public testing::Test {
 protected:
  LeaseRenewerTest() { queue_->put("task", nullptr); }

  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  const std::unique_ptr<TaskQueue> queue_ =
      make_in_process_queue({.max_attempts = 1, .clock = clock_});
};

TEST_F(LeaseRenewerTest, RenewsALeaseAsLongAsItIsHeld) {
  LeaseRenewer renewer(*queue_, *clock_, 30s);
  const auto lease = queue_->try_lease(30s);
  {
    const LeaseRenewer::Hold hold(renewer, *lease);
    for (int i = 0; i < 10; ++i) {
      clock_->await_sleeper(clock_->now() + 10s);
      clock_->advance(10s);
    }
    clock_->await_sleeper(clock_->now() + 10s);
    EXPECT_EQ(queue_->counts().leased, 1u);
  }
  clock_->advance(30s);
  EXPECT_EQ(queue_->counts().given_up, 1u);
}

TEST_F(LeaseRenewerTest, StopsRenewingALeaseThatIsNotValidAnyMore) {
  LeaseRenewer renewer(*queue_, *clock_, 30s);
  const auto lease = queue_->try_lease(30s);
  const LeaseRenewer::Hold hold(renewer, *lease);
  clock_->await_sleeper(clock_->now() + 10s);
  EXPECT_TRUE(queue_->complete(*lease, "result"));
  clock_->advance(10s);
  clock_->await_sleeper(clock_->now() + 10s);
  EXPECT_EQ(queue_->counts().done, 1u);
}

}  // namespace
}  // namespace vcap::test
