// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "vcap/base/export.hpp"

namespace vcap {

/// The names of a YOLO folder's classes, by number. From data.yaml, another .yaml of the folder, or
/// classes.txt with a name in each line; empty if there is none of these.
///
/// Of YAML, the key "names" is read, as the tools write it: a list or a map of numbers to names, in
/// block or flow style, with plain or quoted scalars. Throws InvalidArgument that names file and
/// line if it has another form. Thread-safe.
VCAP_EXPORT std::map<std::int64_t, std::string> read_yolo_names(
    const std::filesystem::path& folder);

}  // namespace vcap
