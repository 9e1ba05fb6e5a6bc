// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "vcap/runtime/source.hpp"

namespace vcap {

/// A camera of this machine, live. Throws SourceError naming those that there are, InvalidArgument.
std::unique_ptr<Source> open_webcam(int index, const SourceOptions& options);

}  // namespace vcap
