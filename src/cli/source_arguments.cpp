// SPDX-License-Identifier: Apache-2.0
#include "cli/source_arguments.hpp"

#include <chrono>
#include <cmath>
#include <string>

#include "base/text.hpp"
#include "cli/exit_code.hpp"

namespace vcap::cli {
namespace {

std::chrono::nanoseconds to_time(double seconds, const char* option) {
  // A greater time is beyond any clip, and beyond the range of nanoseconds.
  if (!(std::abs(seconds) <= 1e9))
    throw UsageError(std::string(option) + " " + number_text(seconds) +
                     " is no time within a clip, in seconds");
  return std::chrono::nanoseconds(std::llround(seconds * 1e9));
}

}  // namespace

void SourceArguments::add_to(CLI::App& command) {
  command
      .add_option(
          "--start", start,
          "Begins with the first frame at or after that time; of stored sources, as are the "
          "next three")
      ->type_name("SECONDS");
  command.add_option("--end", end, "Ends before the first frame at or after that time")
      ->type_name("SECONDS");
  command.add_option("--stride", stride, "Takes every N-th frame only")->type_name("N");
  command.add_option("--loop", loop, "Goes through it N times; 0: until stopped")->type_name("N");
  command
      .add_option("--reconnect", reconnect,
                  "Connects to a lost camera again up to N times in a row without a frame; "
                  "without limit where it is not given")
      ->type_name("N");
  command
      .add_option("--silence-limit", silence_limit,
                  "So long without data from the network is the end of a connection")
      ->type_name("SECONDS")
      ->capture_default_str();
  command.add_flag("--connect-later", connect_later,
                   "Starts without the cameras at URLs and connects to each as after a loss, so "
                   "that one which is off holds up and ends nothing");
  add_hwaccel_to(command, hwaccel);
  command
      .add_option("--decoder-threads", decoder_threads,
                  "Decodes each video by at most N threads, 1 being the one that reads it; by as "
                  "many as cores and other videos leave where it is not given")
      ->type_name("N");
}

void SourceArguments::add_hwaccel_to(CLI::App& command, bool& hwaccel) {
  command.add_flag("--hwaccel", hwaccel,
                   "Decodes videos by hardware where this machine has some for them; pixels may "
                   "differ slightly from software's");
}

SourceOptions SourceArguments::options() const {
  SourceOptions options{
      .start = to_time(start, "--start"), .end = {}, .stride = stride, .loop = loop};
  options.reconnect.max_attempts = reconnect;
  options.silence_limit = std::chrono::duration_cast<std::chrono::milliseconds>(
      to_time(silence_limit, "--silence-limit"));
  options.connect_later = connect_later;
  options.decoder_threads = decoder_threads;
  if (hwaccel) options.hardware = HardwareDecoding::automatic;
  if (end) options.end = to_time(*end, "--end");
  return options;
}

}  // namespace vcap::cli
