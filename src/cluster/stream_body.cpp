// SPDX-License-Identifier: Apache-2.0
#include "cluster/stream_body.hpp"

namespace vcap {

StreamBody::~StreamBody() = default;
StreamBody::Host::~Host() = default;

}  // namespace vcap
