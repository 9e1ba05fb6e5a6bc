// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "cli/capsule_settings.hpp"
#include "cli/loaded_capsules.hpp"
#include "cli/run_arguments.hpp"
#include "cli/run_outputs.hpp"
#include "vcap/pipeline/pipeline.hpp"
#include "vcap/records/recording.hpp"

namespace vcap::cli {

/// The recording of a run (--record). Thread safety: thread-compatible.
class RunRecording {
 public:
  /// Makes the folder; does nothing without --record. `capsules`: loaded from the paths in
  /// `arguments`. Throws OutputError.
  RunRecording(const RunArguments& arguments, const CapsuleSettings& settings,
               const LoadedCapsules& capsules, const Pipeline::Settings& pipeline);

  /// Records a stream that is complete but for this. `source`: its name, as given. Throws
  /// OutputError; UsageError if it cannot be recorded.
  void add(StreamConfig& config, const std::string& source, RunOutputs& outputs);

 private:
  const RunArguments& arguments_;
  std::optional<Recorder> recorder_;
};

}  // namespace vcap::cli
