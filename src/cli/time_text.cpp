// SPDX-License-Identifier: Apache-2.0
#include "cli/time_text.hpp"

#include <cmath>
#include <cstdio>

namespace vcap::cli {

std::string time_text(double seconds) {
  const auto whole = std::llround(seconds);
  char text[32];
  if (whole < 3600)
    std::snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
  else
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60,
                  whole % 60);
  return text;
}

}  // namespace vcap::cli
