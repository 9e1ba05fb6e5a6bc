// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "vcap/base/export.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

class StagedFolder;

/// The text as one component of a path: at most `most` bytes, never empty, "." or "..", without
/// slashes and control characters, and not hidden. A text that is such a name already, in UTF-8,
/// stays as it is; of others, all bytes but ASCII letters, digits, '.', '-' and '_' become '_'.
/// Thread-safe.
VCAP_EXPORT std::string safe_name(std::string_view text, std::size_t most = 100);

/// A number as plain decimal text that reads back as the same number: "12", "0.5", "1e+30".
/// Thread-safe.
VCAP_EXPORT std::string plain_number(double value);

/// Names of files for frames, without extension. Thread safety: thread-compatible.
class VCAP_EXPORT FrameNames {
 public:
  /// The path of source_file without its extension, each component made safe and at most the last
  /// four; else the stream, the group and the index: "entrance-000000042".
  std::string name(const FrameRecord& record);
  /// A safe name that no other stream has.
  const std::string& stream(const std::string& stream_id);

 private:
  std::map<std::string, std::string> streams_;
  std::set<std::string> taken_;
};

/// `prefix` + `name` + `extension`, or with "-2", "-3" … before the extension, whichever the folder
/// does not have yet.
std::string free_name(const StagedFolder& folder, const std::string& prefix,
                      const std::string& name, const std::string& extension);

}  // namespace vcap
