// SPDX-License-Identifier: Apache-2.0
#include "loading/resources/resource_scope.hpp"

#include <utility>

namespace vcap {
namespace {

thread_local const ResourceOptions* current_options = nullptr;

}  // namespace

ResourceScope::ResourceScope(const ResourceOptions& options) noexcept
    : before_(std::exchange(current_options, &options)) {}

ResourceScope::~ResourceScope() { current_options = before_; }

ResourceOptions ResourceScope::current() {
  return current_options != nullptr ? *current_options : ResourceOptions();
}

}  // namespace vcap
