// SPDX-License-Identifier: Apache-2.0
#include "cli/run_recording.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "cli/exit_code.hpp"
#include "vcap/base/error.hpp"
#include "vcap/pipeline/replay.hpp"

namespace vcap::cli {

RunRecording::RunRecording(const RunArguments& arguments, const CapsuleSettings& settings,
                           const LoadedCapsules& capsules, const Pipeline::Settings& pipeline)
    : arguments_(arguments) {
  if (arguments.outputs.record.empty()) return;
  RecordingManifest manifest = recorded_settings(pipeline);
  for (std::size_t i = 0; i < capsules.all().size(); ++i) {
    const Capsule& capsule = *capsules.all()[i];
    LoadOptions loaded;
    settings.apply_to(loaded, capsule.name());
    RecordedCapsule recorded = recorded_capsule(capsule, arguments.capsules[i], loaded);
    if (arguments.outputs.record_copies) recorded.copy = capsule.name() + ".cap";
    manifest.capsules.push_back(std::move(recorded));
  }
  recorder_.emplace(arguments.outputs.record, std::move(manifest));
}

void RunRecording::add(StreamConfig& config, const std::string& source, RunOutputs& outputs) {
  if (!recorder_) return;
  std::shared_ptr<Sink> sink;
  try {
    sink = recorder_->add_stream(recorded_stream(config, source, arguments_.range.options(),
                                                 arguments_.outputs.record_copies));
  } catch (const InvalidArgument& error) {
    throw UsageError("--record " + arguments_.outputs.record + ": " + error.what());
  }
  outputs.add_recording(arguments_.outputs.record + ", stream " + config.id, sink);
  config.sinks.push_back(std::move(sink));
}

}  // namespace vcap::cli
