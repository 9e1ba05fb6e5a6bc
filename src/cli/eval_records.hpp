// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/eval_scene.hpp"

namespace vcap::cli {

struct EvalRecord {
  std::int64_t frame_index = 0;
  std::size_t line = 0;
  std::vector<EvalFound> objects{};  ///< including children
};

/// The records of one stream.
struct EvalRecords {
  std::string stream{};
  std::vector<EvalRecord> records{};  ///< by rising frame index
  std::size_t without_box = 0;        ///< objects, left out
  std::size_t without_confidence = 0;
};

/// Which of a file's records are read, and which of their objects.
struct EvalRecordsWanted {
  std::optional<std::string> stream{};
  std::optional<std::int64_t> group{};
  bool boxes = true;  ///< whether objects without a box are left out
};

/// Reads the JSON lines of `vcap run --jsonl`. Throws SourceError if the file cannot be read.
/// Throws InvalidArgument with file and line if it has no records, if it has several streams or
/// groups and one is not chosen, if a frame or a track id occurs twice, or if a value is wrong.
EvalRecords read_records(const std::string& path, const EvalRecordsWanted& wanted);

}  // namespace vcap::cli
