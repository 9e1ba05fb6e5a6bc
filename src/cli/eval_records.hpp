// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/eval_scene.hpp"

namespace vcap::cli {

/// What one record says.
struct EvalRecord {
  std::int64_t frame_index = 0;
  std::size_t line = 0;
  std::vector<EvalFound> objects{};  ///< children among them
};

/// The records of one stream.
struct EvalRecords {
  std::string stream{};
  std::vector<EvalRecord> records{};  ///< by rising frame index
  std::size_t without_box = 0;        ///< objects, left out
  std::size_t without_confidence = 0;
};

/// Which of a file's records are meant, and what of them.
struct EvalRecordsWanted {
  std::optional<std::string> stream{};
  std::optional<std::int64_t> group{};
  bool boxes = true;  ///< whether objects without a box are left out
};

/// Reads the JSON lines of `vcap run --jsonl`. Throws SourceError where the file cannot be read;
/// InvalidArgument with file and line where it is not right: no records, several streams or groups
/// of which none was chosen, a frame or a track id twice, a value that cannot be.
EvalRecords read_records(const std::string& path, const EvalRecordsWanted& wanted);

}  // namespace vcap::cli
