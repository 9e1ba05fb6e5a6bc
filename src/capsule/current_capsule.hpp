// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "vcap/base/export.hpp"

namespace vcap {

/// What the calling thread does for a capsule, such as "capsule people"; empty if it runs no code
/// of one. A batch has the name of its leader's call here; in a thread of its executor it has none.
/// For messages about what a capsule's code did to the process, such as exit(). Thread-safe.
VCAP_EXPORT std::string_view current_capsule() noexcept;

/// Sets current_capsule() of this thread for its lifetime. Borrows the text. Thread safety:
/// thread-compatible.
class CurrentCapsule {
 public:
  explicit CurrentCapsule(std::string_view subject) noexcept;
  ~CurrentCapsule();
  CurrentCapsule(const CurrentCapsule&) = delete;
  CurrentCapsule& operator=(const CurrentCapsule&) = delete;

 private:
  const std::string_view before_;
};

}  // namespace vcap
