// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

#include "vcap/batching/batch_sizes.hpp"

namespace vcap {

/// What the bound on calls in progress of a capsule follows from. Thread safety: value.
struct CallBound {
  std::optional<std::size_t> host{};    ///< Pipeline::Settings::max_concurrent_calls; 0: no bound
  std::optional<std::size_t> author{};  ///< CapsuleInfo::max_concurrent_calls
  std::optional<BatchSizes> batch{};    ///< CapsuleInfo::batch
  std::size_t backends = 1;
  bool alone = true;  ///< the pipeline has no other capsule
  std::size_t workers = 1;
  std::size_t cores = 1;

  /// The workers that one capsule may have at most, if there are others: all but one for each core,
  /// or, if there are few workers, but half of them. So capsules that compute keep their cores
  /// while another one waits for something else.
  std::size_t share_of_workers() const noexcept {
    return std::max<std::size_t>(workers - std::min(cores, workers / 2), 1);
  }
  /// The places; 0: no bound.
  ///
  /// The host's word counts as it is. The author's, and the number with which batches fill, leave
  /// workers to other capsules. Batches fill with a batch in progress and one that gathers for each
  /// backend, while as many calls as there are cores prepare their inputs.
  std::size_t places() const noexcept {
    if (host) return *host;
    if (alone) return author.value_or(0);
    std::size_t most = share_of_workers();
    if (author) return std::min(most, *author);
    if (!batch) return most;
    const std::size_t inputs = std::min(batch->maximum, kMostInputs);
    return std::min(most, 2 * inputs * std::max<std::size_t>(backends, 1) + cores);
  }

 private:
  /// More than any number of workers; bounds the product.
  static constexpr std::size_t kMostInputs = std::size_t{1} << 20;
};

}  // namespace vcap
