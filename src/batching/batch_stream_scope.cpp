// SPDX-License-Identifier: Apache-2.0
#include "vcap/batching/batch_stream_scope.hpp"

#include <functional>
#include <utility>

#include "batching/batch_stream_hash.hpp"

namespace vcap {
namespace {

thread_local std::uint64_t current_stream = 0;

}  // namespace

BatchStreamScope::BatchStreamScope(std::string_view stream_id) noexcept : outer_(current_stream) {
  const std::uint64_t hash = std::hash<std::string_view>{}(stream_id);
  current_stream = hash == 0 ? 1 : hash;  // 0 means no stream
}

BatchStreamScope::~BatchStreamScope() { current_stream = outer_; }

std::uint64_t BatchStreamScope::current() noexcept { return current_stream; }

namespace detail {

BatchStreamHashScope::BatchStreamHashScope(std::uint64_t hash) noexcept
    : outer_(std::exchange(current_stream, hash)) {}

BatchStreamHashScope::~BatchStreamHashScope() { current_stream = outer_; }

}  // namespace detail

}  // namespace vcap
