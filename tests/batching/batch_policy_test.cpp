// SPDX-License-Identifier: Apache-2.0
#include "vcap/batching/batch_policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "vcap/base/error.hpp"
#include "vcap/batching/batch_executor.hpp"

namespace vcap {
namespace {

using namespace std::chrono_literals;

TEST(BatchPolicy, IsValidByDefault) { EXPECT_NO_THROW(validate(BatchPolicy{})); }

struct BadPolicy {
  std::string name;
  BatchPolicy policy;
  std::string message;
};

class BatchPolicyField : public testing::TestWithParam<BadPolicy> {};

TEST_P(BatchPolicyField, IsNamedWithItsValueWhenOutOfBounds) {
  try {
    validate(GetParam().policy);
    FAIL() << "was accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.what(), testing::StartsWith(GetParam().message));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Fields, BatchPolicyField,
    testing::Values(
        BadPolicy{
            "size", {.max_batch_size = 0}, "BatchPolicy::max_batch_size: 0 is not at least 1"},
        BadPolicy{"preferredAboveMaximum",
                  {.max_batch_size = 8, .preferred_sizes = {4, 9}},
                  "BatchPolicy::preferred_sizes: 9 is not within 1 to max_batch_size (8)"},
        BadPolicy{"preferredZero",
                  {.preferred_sizes = {0}},
                  "BatchPolicy::preferred_sizes: 0 is not within 1 to max_batch_size (40)"},
        BadPolicy{"negativeDelay",
                  {.max_queue_delay = -1ns},
                  "BatchPolicy::max_queue_delay: -1 ns is not within 0 to 1 hour"},
        BadPolicy{"hugeDelay",
                  {.max_queue_delay = 2h},
                  "BatchPolicy::max_queue_delay: 7200000000000 ns is not within 0 to 1 hour"},
        BadPolicy{"share",
                  {.linger_share = 1.5},
                  "BatchPolicy::linger_share: 1.5 is not above 0 and at most 1"},
        BadPolicy{"noShare", {.linger_share = 0}, "BatchPolicy::linger_share: 0 is not above 0"},
        BadPolicy{"overflow",
                  {.overflow = static_cast<QueueOverflowPolicy>(7)},
                  "BatchPolicy::overflow: 7 is not wait, reject or drop_oldest"},
        BadPolicy{
            "aging", {.priority_aging = 0ns}, "BatchPolicy::priority_aging: 0 ns is not above 0"},
        BadPolicy{"workers", {.workers = 0}, "BatchPolicy::workers: 0 is not within 1 to 1024"},
        BadPolicy{"concurrency",
                  {.workers = 4, .concurrency = 2},
                  "BatchPolicy::concurrency: 2 is not within workers (4) to 1024"}),
    [](const auto& param) { return param.param.name; });

TEST(BatchPolicy, IsCheckedWhenAnExecutorIsMade) {
  const auto predict = [](std::span<const int>) { return std::vector<int>(); };
  EXPECT_THROW((BatchExecutor<int, int>(predict, {.max_batch_size = 0})), InvalidArgument);
}

TEST(BatchPolicy, NeedsAPredictFunction) {
  EXPECT_THROW((BatchExecutor<int, int>(BatchExecutor<int, int>::Predict())), InvalidArgument);
  EXPECT_THROW((BatchExecutor<int, int>(BatchExecutor<int, int>::PredictEach())), InvalidArgument);
}

}  // namespace
}  // namespace vcap
