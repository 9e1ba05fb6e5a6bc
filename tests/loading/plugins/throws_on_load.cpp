// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "fixture.hpp"

namespace {
int fail() { throw std::runtime_error("no table"); }
const int kTable = fail();
}  // namespace

VCAP_CAPSULE(fixture::Capsule)
