// SPDX-License-Identifier: Apache-2.0
#include "vcap/capsule/stream_state.hpp"

namespace vcap {

// Here, so that the type information is the library's and one for host and capsules.
BaseStreamState::~BaseStreamState() = default;
nlohmann::json BaseStreamState::save() const { return {}; }

}  // namespace vcap
