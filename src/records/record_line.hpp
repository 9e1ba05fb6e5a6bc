// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "vcap/base/export.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

/// The record as one line of JSON with its newline: the keys in the order of the schema, text
/// that is not UTF-8 replaced by U+FFFD, numbers that are not finite as null. Thread-safe.
VCAP_EXPORT std::string record_line(const FrameRecord& record);

}  // namespace vcap
