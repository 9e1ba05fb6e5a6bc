// SPDX-License-Identifier: Apache-2.0
#include "vcap/sources/reconnect_policy.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(ReconnectPolicy, DoublesItsDelayUpToTheMaximum) {
  const ReconnectPolicy policy;
  EXPECT_EQ(policy.delay(1, 0), milliseconds(500));
  EXPECT_EQ(policy.delay(2, 0), milliseconds(1000));
  EXPECT_EQ(policy.delay(6, 0), milliseconds(16'000));
  EXPECT_EQ(policy.delay(7, 0), milliseconds(30'000));
  EXPECT_EQ(policy.delay(std::numeric_limits<int>::max(), 0), milliseconds(30'000));
}

TEST(ReconnectPolicy, ReducesTheDelayByUpToTheJitter) {
  const ReconnectPolicy policy{.jitter = 0.5};
  EXPECT_EQ(policy.delay(1, 1), milliseconds(250));
  EXPECT_EQ(policy.delay(1, 0.5), milliseconds(375));
  EXPECT_EQ(policy.delay(9, 1), milliseconds(15'000));
}

TEST(ReconnectPolicy, AllowsNoDelay) {
  const ReconnectPolicy policy{.first_delay = milliseconds(0)};
  EXPECT_EQ(policy.delay(1, 0.3), milliseconds(0));
  EXPECT_EQ(policy.delay(100'000, 0.3), milliseconds(0));
}

TEST(ReconnectPolicy, NamesAnInvalidValue) {
  const auto expect_refused = [](const ReconnectPolicy& policy, const char* named) {
    EXPECT_THAT([&] { policy.check(); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(named)));
  };
  ReconnectPolicy().check();
  expect_refused({.first_delay = milliseconds(-1)}, "first_delay -1 ms");
  expect_refused({.max_delay = milliseconds(499)}, "max_delay 499 ms");
  expect_refused({.factor = 0.5}, "factor 0.5");
  expect_refused({.factor = std::numeric_limits<double>::quiet_NaN()}, "factor NaN");
  expect_refused({.jitter = 1.5}, "jitter 1.5");
  expect_refused({.max_attempts = -1}, "max_attempts -1");
}

}  // namespace
}  // namespace vcap
