// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vcap {

/// libav's text for one of its error codes, such as "Connection reset by peer".
std::string av_error_text(int error);

}  // namespace vcap
