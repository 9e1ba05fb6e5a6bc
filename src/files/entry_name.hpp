// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

/// What is wrong with an entry's name, such as `has the component ".."`; empty where nothing is.
///
/// A name is UTF-8 in Unicode's normal form NFC, its components are parted by '/', and it means and
/// shows the same on every system: no absolute path, drive, backslash, control character or mark
/// that turns the direction of writing, no empty, "." or ".." component, no component over 255
/// bytes, no more than 8 components. Thread-safe.
VCAP_EXPORT std::string entry_name_fault(std::string_view name);

/// What is wrong with names together: two that some file system takes for one, or a file that is
/// another one's folder; empty where nothing is. Letters are folded as
/// Unicode says; names are sound ones. Thread-safe.
VCAP_EXPORT std::string entry_names_fault(const std::vector<std::string_view>& names);

/// The name in a form that is the same for all names that some file system takes for one: of folded
/// case, in NFC. Of a sound name. Thread-safe.
VCAP_EXPORT std::string folded_name(std::string_view name);

}  // namespace vcap
