// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

/// The fault of an entry's name, such as `has the component ".."`; empty if there is none.
///
/// A valid name is UTF-8 in Unicode normal form NFC, with components separated by '/'. It has the
/// same meaning and look on every system: it has no absolute path, drive, backslash, control
/// character or mark that changes the direction of text. No component is empty, "." or "..", or
/// over 255 bytes. There are at most 8 components. Thread-safe.
VCAP_EXPORT std::string entry_name_fault(std::string_view name);

/// The fault of valid names together: two that some file system considers equal, or a file that is
/// also a folder of another name. Empty if there is none. Case is folded by Unicode's rules.
/// Thread-safe.
std::string entry_names_fault(const std::vector<std::string_view>& names);

/// The same text for all names that some file system considers equal: case-folded, in NFC. Requires
/// a valid name. Thread-safe.
std::string folded_name(std::string_view name);

}  // namespace vcap
