// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "batching/parts.hpp"
#include "batching/workload.hpp"

namespace vcap::bench::batching {
namespace {

// Templates, so that there is a figure as soon as BatchPolicy has `statistics`.
template <class Policy>
Policy counting(Policy policy, bool on) {
  policy.statistics = on;
  return policy;
}

template <class Policy>
std::vector<Figure> statistics_of(const Policy& policy) {
  if constexpr (requires { policy.statistics; })
    return {{.id = "batching.8",
             .what = "with statistics, time without them",
             .target = 1.02,
             .sample = [=] {
               return ratio([&] { return through_run_all(1, counting(policy, true)); },
                            [&] { return through_run_all(1, counting(policy, false)); },
                            kFineRounds);
             }}};
  else
    return {};
}

}  // namespace

std::vector<Figure> statistics() { return statistics_of(large_batches()); }

}  // namespace vcap::bench::batching
