// SPDX-License-Identifier: Apache-2.0
#include "fixture.hpp"

VCAP_CAPSULE(fixture::Capsule)
