// SPDX-License-Identifier: Apache-2.0
#include "vcap/capsule/stream_state.hpp"

#include <nlohmann/json.hpp>

namespace vcap {

// Defined here, so that the type information is in the library, shared by host and capsules.
BaseStreamState::~BaseStreamState() = default;
nlohmann::json BaseStreamState::save() const { return {}; }

}  // namespace vcap
