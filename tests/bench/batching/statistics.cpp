// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "batching/parts.hpp"
#include "batching/workload.hpp"

namespace vcap::bench::batching {
namespace {

BatchPolicy counting(bool on) {
  BatchPolicy policy = large_batches();
  policy.statistics = on;
  return policy;
}

}  // namespace

std::vector<Figure> statistics() {
  return {{.id = "batching.8",
           .what = "with statistics, time without them",
           .target = 1.03,
           .sample = [] {
             return ratio([] { return through_run_all(1, counting(true)); },
                          [] { return through_run_all(1, counting(false)); }, kFineRounds);
           }}};
}

}  // namespace vcap::bench::batching
