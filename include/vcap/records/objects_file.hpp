// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "vcap/records/record_reader.hpp"

namespace vcap {

/// Objects in a file or folder of any RecordFormat, by frame, as another program or an earlier run
/// has written them. Thread safety: value.
struct ObjectsFile {
  std::string path{};
  RecordReadOptions read{};
  /// The names that are taken, and what objects with them are called in the records. Objects with
  /// other names are left out, with their children. Empty: all are taken, as they are called.
  std::map<std::string, std::string> names{};
};

}  // namespace vcap
