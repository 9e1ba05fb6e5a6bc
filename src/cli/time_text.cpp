// SPDX-License-Identifier: Apache-2.0
#include "cli/time_text.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>

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

std::string now_text() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  char text[64];
  if (::localtime_r(&now, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &parts) == 0)
    return "(unknown)";
  return text;
}

}  // namespace vcap::cli
