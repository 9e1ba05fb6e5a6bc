// SPDX-License-Identifier: Apache-2.0
#include "vcap/capsule/output_policy.hpp"

#include <string>

#include "vcap/base/error.hpp"

namespace vcap {

std::string_view to_string(InvalidOutput choice) noexcept {
  switch (choice) {
    case InvalidOutput::error:
      return "error";
    case InvalidOutput::warn:
      return "warn";
    case InvalidOutput::off:
      return "off";
  }
  return "unknown";
}

void check(const OutputPolicy& policy) {
  const auto refuse = [](const char* bound, const char* remedy) {
    throw InvalidArgument(ErrorCode::invalid_argument, std::string("output policy: ") + bound +
                                                           " is 0; give " + remedy +
                                                           ", or set invalid to off for no bounds");
  };
  if (policy.max_nodes == 0) refuse("max_nodes", "1 node or more, such as 10000");
  if (policy.max_bytes == 0) refuse("max_bytes", "1 byte or more, such as 16777216");
  if (policy.max_picture_bytes == 0)
    refuse("max_picture_bytes", "1 byte or more, such as 536870912");
}

}  // namespace vcap
