// SPDX-License-Identifier: Apache-2.0
#include "batching/batch_errors.hpp"

#include <string>

#include "base/text.hpp"
#include "vcap/batching/detail/batch_core.hpp"

namespace vcap::detail {

BatchError closed_error() {
  return {ErrorCode::closed,
          "batch executor: it is closed and accepts no requests; send them before close()"};
}

BatchError cancelled_error() {
  return {ErrorCode::cancelled, "batch request: cancelled by its stop token before predict began"};
}

BatchError deadline_error(std::size_t waiting, std::size_t running) {
  return {ErrorCode::deadline_exceeded,
          "batch request: its deadline passed before predict began, with " +
              std::to_string(waiting) + " others waiting and " + std::to_string(running) +
              " running; allow more time, send less, or raise its priority"};
}

BatchError queue_full_error(std::size_t bound, std::size_t wanted) {
  return {ErrorCode::queue_full, "batch executor: no room for " + std::to_string(wanted) +
                                     (wanted == 1 ? " request" : " requests") +
                                     ", BatchPolicy::max_queue_size is " + std::to_string(bound) +
                                     "; send less at once, or raise it"};
}

BatchError dropped_error(std::size_t bound) {
  return {ErrorCode::queue_full,
          "batch request: dropped for a newer one, since BatchPolicy::max_queue_size is " +
              std::to_string(bound) + "; send less, or raise it"};
}

BatchError reentrant_error() {
  return {ErrorCode::reentrant_submit,
          "batch executor: called from within its own predict, which would be a deadlock; send and "
          "close from outside batch_predict"};
}

std::exception_ptr wrong_result_count(std::size_t results, std::size_t inputs) {
  return std::make_exception_ptr(BatchError(
      ErrorCode::batch_result_count, "batch_predict: gave " + counted(results, "output") + " for " +
                                         counted(inputs, "input") +
                                         "; it must give one for each, in order"));
}

}  // namespace vcap::detail
