// SPDX-License-Identifier: Apache-2.0
#include "cli/source_arguments.hpp"

#include <chrono>
#include <cmath>
#include <limits>
#include <string>

#include <CLI/CLI.hpp>

#include "base/text.hpp"
#include "cli/exit_code.hpp"

namespace vcap::cli {
namespace {

std::chrono::nanoseconds to_time(double seconds, const char* option) {
  // A greater time is beyond any clip, and beyond the range of nanoseconds.
  if (!(std::abs(seconds) <= 1e9))
    throw UsageError(std::string(option) + " " + number_text(seconds) +
                     " is not a time; give seconds from 0 to the length of the clip");
  return std::chrono::nanoseconds(std::llround(seconds * 1e9));
}

}  // namespace

void SourceArguments::add_to(CLI::App& command) {
  command
      .add_option(
          "--start", start,
          "Begins with the first frame at or after that time; only for stored sources, like the "
          "next three options")
      ->type_name("SECONDS");
  command.add_option("--end", end, "Ends before the first frame at or after that time")
      ->type_name("SECONDS");
  command.add_option("--stride", stride, "Takes only every N-th frame")->type_name("N");
  command.add_option("--loop", loop, "Plays the source N times; 0: until stopped")->type_name("N");
  command
      .add_option("--reconnect", reconnect,
                  "The number of attempts to reconnect to a lost camera, in a row without a frame "
                  "(default: no limit)")
      ->type_name("N");
  command
      .add_option("--silence-limit", silence_limit,
                  "A network connection without data for this long counts as lost")
      ->type_name("SECONDS")
      ->capture_default_str();
  command.add_flag("--connect-later", connect_later,
                   "Does not wait for cameras at URLs; connects to each as after a loss, so that a "
                   "camera that is off does not delay or end the run");
  add_hwaccel_to(command, hwaccel);
  command
      .add_option("--decoder-threads", decoder_threads,
                  "The maximum number of threads that decode one video; 1: only the reading thread "
                  "(default: as many as the cores and the other videos leave)")
      ->type_name("N");
  command
      .add_option("--max-pixels", max_pixels,
                  "Refuses videos and images with more pixels in a picture, before there is memory "
                  "for it")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()).description(""))
      ->capture_default_str();
}

void SourceArguments::add_hwaccel_to(CLI::App& command, bool& hwaccel) {
  command.add_flag("--hwaccel", hwaccel,
                   "Decodes videos in hardware if this machine supports it; pixels may differ "
                   "slightly from those of software");
}

SourceOptions SourceArguments::options() const {
  SourceOptions options{
      .start = to_time(start, "--start"), .end = {}, .stride = stride, .loop = loop};
  options.reconnect.max_attempts = reconnect;
  options.silence_limit = std::chrono::duration_cast<std::chrono::milliseconds>(
      to_time(silence_limit, "--silence-limit"));
  options.connect_later = connect_later;
  options.decoder_threads = decoder_threads;
  options.max_pixels = max_pixels;
  if (hwaccel) options.hardware = HardwareDecoding::automatic;
  if (end) options.end = to_time(*end, "--end");
  return options;
}

}  // namespace vcap::cli
