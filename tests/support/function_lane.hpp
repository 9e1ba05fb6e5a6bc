// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "workers/work_pool.hpp"

namespace vcap::test {

/// A lane each of whose pieces of work calls a function. Thread safety: as the function.
class FunctionLane final : public Lane {
 public:
  explicit FunctionLane(std::function<void()> work) : work_(std::move(work)) {}
  void run_one() override { work_(); }

 private:
  const std::function<void()> work_;
};

inline std::shared_ptr<Lane> function_lane(std::function<void()> work) {
  return std::make_shared<FunctionLane>(std::move(work));
}

}  // namespace vcap::test
