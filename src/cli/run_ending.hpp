// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/loaded_capsules.hpp"
#include "cli/run_outputs.hpp"
#include "cli/run_streams.hpp"
#include "cli/stop_signal.hpp"
#include "vcap/pipeline/pipeline.hpp"

namespace vcap::cli {

/// Tells a third signal which files are unfinished now.
void name_unfinished(const RunOutputs& outputs, StopSignal& stop);

/// Leaves the process without streams that do not end. Finishes the outputs with the records so
/// far, in a thread of its own, since an output may be what hangs.
[[noreturn]] void leave_streams(const Pipeline& pipeline, const LoadedCapsules& capsules,
                                const RunStreams& streams, RunOutputs& outputs);

/// Writes one message for each failed stream; returns the exit code of the first.
int report_failures(const RunStreams& streams);

/// Whether calls that were given up still run a capsule's code, which must not be unloaded.
bool has_lost_calls(const Pipeline& pipeline);

/// Returns the exit code, or, if calls are lost, leaves the process without waiting for them.
int end_with(int exit_code, bool lost_calls);

/// The exit code of a run whose streams have ended. `exit_code`: by their reports.
int code_of_end(int exit_code, const RunStreams& streams);

/// Prints the summary and completes the outputs. If no stream has a record and a stream failed, no
/// output file is kept. Throws OutputError if `exit_code` is kDone.
void finish_outputs(RunOutputs& outputs, const RunStreams& streams, int exit_code);

}  // namespace vcap::cli
