// SPDX-License-Identifier: Apache-2.0
#include "capsule/current_capsule.hpp"

#include <utility>

namespace vcap {
namespace {

thread_local std::string_view current_subject{};

}  // namespace

std::string_view current_capsule() noexcept { return current_subject; }

CurrentCapsule::CurrentCapsule(std::string_view subject) noexcept
    : before_(std::exchange(current_subject, subject)) {}

CurrentCapsule::~CurrentCapsule() { current_subject = before_; }

}  // namespace vcap
