// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <type_traits>
#include <utility>

#include "vcap/base/error.hpp"

namespace vcap::detail {

/// The errors of requests that got no output. Each says what to do.
BatchError closed_error();
BatchError cancelled_error();
BatchError deadline_error(std::size_t waiting, std::size_t running);
BatchError queue_full_error(std::size_t bound, std::size_t wanted);
BatchError dropped_error(std::size_t bound);
BatchError reentrant_error();

/// One of these errors as the answer of a request; std::bad_alloc if there is no memory for it.
template <class... Values>
std::exception_ptr answer_of(BatchError (*error)(Values...),
                             std::type_identity_t<Values>... values) noexcept {
  try {
    return std::make_exception_ptr(error(values...));
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace vcap::detail
