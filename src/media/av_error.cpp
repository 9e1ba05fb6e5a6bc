// SPDX-License-Identifier: Apache-2.0
#include "media/av_error.hpp"

extern "C" {
#include <libavutil/error.h>
}

namespace vcap {

std::string av_error_text(int error) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  return av_strerror(error, text, sizeof text) == 0 ? text : "error " + std::to_string(error);
}

}  // namespace vcap
