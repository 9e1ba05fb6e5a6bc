// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

#include "vcap/base/error.hpp"

namespace vcap {

/// Why a resource is not available, and the remedy, without the capsule's name: each of several
/// capsules that wait for one file gets its own error. Thread safety: value.
class ResourceFailure : public std::runtime_error {
 public:
  ResourceFailure(ErrorCode code, const std::string& reason)
      : std::runtime_error(reason), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// The source does not have what the capsule names.
inline ResourceFailure mismatch(const std::string& difference) {
  return {ErrorCode::resource_mismatch, difference + "; use a capsule and a file that match"};
}

}  // namespace vcap
