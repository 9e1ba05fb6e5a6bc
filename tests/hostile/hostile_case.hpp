// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "vcap/base/error.hpp"

namespace vcap::test {

/// A capsule file that is wrong in one way.
struct HostileCase {
  std::string name{};   ///< unique, such as "name.parent"
  std::string fault{};  ///< the fault in words
  ErrorCode code{};     ///< the code of the error that loading it must give
  std::function<std::string()> bytes{};

  friend void PrintTo(const HostileCase& one, std::ostream* out) {
    *out << one.name << ": " << one.fault;
  }
};
using HostileCases = std::vector<HostileCase>;

/// Archives that break the format's rules, or that two readers could interpret differently.
HostileCases archive_cases();
/// Sound archives with a wrong capsule.json.
HostileCases manifest_cases();
/// Sound capsules with a library that must not be loaded.
HostileCases library_cases();

}  // namespace vcap::test
