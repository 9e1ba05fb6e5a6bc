// SPDX-License-Identifier: Apache-2.0
#include "cli/run_ending.hpp"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>

#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/exit_code.hpp"
#include "cli/foreign_exit.hpp"
#include "vcap/base/error.hpp"

namespace vcap::cli {

void leave_streams(const Pipeline& pipeline, const LoadedCapsules& capsules,
                   const RunStreams& streams, RunOutputs& outputs) {
  constexpr std::chrono::seconds kLongestFinish{3};
  const int exit_code = has_foreign_exit() ? kForeignExit : kHung;
  const auto finish = [&, exit_code] {
    try {
      std::string names;
      for (const StreamReport& report : pipeline.reports())
        if (!report.ended) names += (names.empty() ? "" : ", ") + report.id;
      const std::string running = capsules.running();
      Console::shared().line(
          "vcap: the run is left, because " +
          (names.empty() ? "its streams do not start" : "these streams do not end: " + names) +
          (running.empty()
               ? "; no call is in progress, so a state of a capsule, a source or an output hangs"
               : "; their calls have not returned: " + running) +
          ". The outputs have the records so far");
      outputs.finish("left before its streams had ended, after " +
                     counted(streams.frames(), "record") + "\n");
    } catch (const std::exception& error) {
      Console::shared().line(std::string("vcap: ") + error.what());
    }
    leave_now(exit_code);
  };
  try {
    std::thread(finish).detach();
    std::this_thread::sleep_for(kLongestFinish);
  } catch (const std::system_error&) {  // the system gives no thread
    finish();
  }
  leave_now(exit_code);
}

int report_failures(const RunStreams& streams) {
  int exit_code = kDone;
  for (const StreamReport& report : streams.reports()) {
    if (!report.failure) continue;
    Console::shared().line("vcap: stream " + report.id + ": " + *report.failure);
    if (exit_code == kDone) exit_code = exit_code_of_stream(report.failure_cause);
  }
  if (exit_code == kDone && streams.every_frame_failed()) {
    Console::shared().line("vcap: a capsule failed on every frame; the first: " +
                           streams.first_error());
    exit_code = kFailed;
  }
  return exit_code;
}

bool has_lost_calls(const Pipeline& pipeline) {
  for (const CapsuleStats& capsule : pipeline.stats().capsules)
    for (const BackendStatistics& backend : capsule.backends)
      if (backend.running > 0) return true;
  return false;
}

int end_with(int exit_code, bool lost_calls) {
  if (lost_calls) {
    Console::shared().line("vcap: ends without waiting for calls that do not return");
    std::cout << std::flush;
    end_watching_exits();
    std::quick_exit(exit_code);
  }
  return exit_code;
}

int code_of_end(int exit_code, const RunStreams& streams) {
  if (has_foreign_exit()) return kForeignExit;
  return streams.given_up() > 0 ? int{kHung} : exit_code;
}

void finish_outputs(RunOutputs& outputs, const RunStreams& streams, int exit_code) {
  if (exit_code != kDone && streams.frames() == 0) return outputs.drop_empty();
  std::ostringstream summary;
  streams.print_summary(summary);
  try {
    outputs.finish(summary.str());
  } catch (const OutputError& error) {
    // If writing failed, the stream has reported it already.
    if (exit_code == kDone) throw;
    if (exit_code == kHung || exit_code == kForeignExit)
      Console::shared().line(std::string("vcap: ") + error.what());
  }
}

void name_unfinished(const RunOutputs& outputs, StopSignal& stop) {
  const std::string parts = outputs.unfinished();
  stop.set_farewell(parts.empty() ? "vcap: ended at once\n"
                                  : "vcap: ended at once; these outputs are unfinished, and have "
                                    "what was written: " +
                                        parts + "\n");
}

}  // namespace vcap::cli
