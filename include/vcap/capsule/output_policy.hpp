// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "vcap/base/export.hpp"

namespace vcap {

/// What happens to output of a capsule that its description does not allow.
enum class InvalidOutput {
  /// The call throws Error (invalid_output). In a pipeline the output is discarded, the nodes that
  /// the capsule was given pass on, the record has the error, and it counts towards quarantine.
  error,
  /// The output is kept and reported: by a pipeline in FrameRecord::warnings, otherwise by the
  /// first fault in the log. Output that a record cannot hold is still an error: more nodes or
  /// bytes than the policy allows, more than 64 levels, numbers that are not finite, extra data
  /// that is no JSON object, keys that are not UTF-8. So is a picture that is empty, too large, or
  /// does not own its pixels.
  warn,
  /// Only the bound of 64 levels holds. Such output can make records that no reader accepts, or
  /// exhaust the host's memory; only for capsules that a host knows to be right.
  off
};

/// "error", "warn" or "off". Thread-safe.
VCAP_EXPORT std::string_view to_string(InvalidOutput choice) noexcept;

/// How a capsule's output is held against its description (NodeDescription), and how much of it is
/// accepted. docs/running.md lists what is checked. Thread safety: value.
struct OutputPolicy {
  InvalidOutput invalid = InvalidOutput::error;
  /// The most nodes, children included, of one record; also of what one call returns. At least 1.
  std::size_t max_nodes = 10'000;
  /// The most bytes of one record's nodes; also of what one call returns. An estimate of their size
  /// as JSON: texts count their bytes, a number 16, and each node, point, attribute and key some
  /// more. At least 1.
  std::size_t max_bytes = std::size_t{16} << 20;
  /// The most bytes of pixels in the pictures that one call gives for a frame. At least 1. Pixels
  /// do not count for max_bytes: records have only the pictures' names, types and sizes.
  std::size_t max_picture_bytes = std::size_t{512} << 20;

  bool operator==(const OutputPolicy&) const = default;
};

/// Throws InvalidArgument that names the bound, its value and what is allowed. Thread-safe.
VCAP_EXPORT void check(const OutputPolicy& policy);

}  // namespace vcap
