// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "vcap/base/export.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

/// The most levels of JSON in a line: 64 levels of nodes, in lists, within the record; and 64 of
/// extra data in the last. Capsules cannot give more (OutputPolicy).
inline constexpr std::size_t kMostRecordLevels = 1 + 2 * 64 + 64;

/// The record as one line of JSON with its newline. Keys are in schema order; text that is not
/// UTF-8 is replaced by U+FFFD; numbers that are not finite become null. Thread-safe.
VCAP_EXPORT std::string record_line(const FrameRecord& record);

}  // namespace vcap
