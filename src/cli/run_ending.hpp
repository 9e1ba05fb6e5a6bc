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

/// The exit code of a run whose streams have ended. `exit_code`: by their reports.
int code_of_end(int exit_code, const RunStreams& streams);

/// Prints the summary and completes the outputs. If no stream has a record and a stream failed, no
/// output file is kept. Throws OutputError if `exit_code` is kDone.
void finish_outputs(RunOutputs& outputs, const RunStreams& streams, int exit_code);

}  // namespace vcap::cli
