// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/eval_records.hpp"
#include "cli/eval_scene.hpp"
#include "vcap/records/record_reader.hpp"

namespace vcap::cli {

/// The ground truth of a file or folder of YOLO, CSV or VOC: objects and their children. Throws
/// what RecordReader throws, and InvalidArgument if there are several streams and none is chosen,
/// or a frame or a track of a frame is there twice.
EvalScene read_exported_truth(const std::string& path, RecordFormat format,
                              const EvalRecordsWanted& wanted);

/// The same as results.
EvalRecords read_exported_results(const std::string& path, RecordFormat format,
                                  const EvalRecordsWanted& wanted);

}  // namespace vcap::cli
