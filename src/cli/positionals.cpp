// SPDX-License-Identifier: Apache-2.0
#include "cli/positionals.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace vcap::cli {

bool names_capsule(const std::string& name) {
  constexpr std::string_view ending = ".cap";
  if (name.size() < ending.size()) return false;
  return std::equal(ending.begin(), ending.end(), name.end() - ending.size(), [](char a, char b) {
    return a == std::tolower(static_cast<unsigned char>(b));
  });
}

void sort_positionals(const std::vector<std::string>& names, std::vector<std::string>& capsules,
                      std::vector<std::string>& sources) {
  for (const std::string& name : names) (names_capsule(name) ? capsules : sources).push_back(name);
}

}  // namespace vcap::cli
