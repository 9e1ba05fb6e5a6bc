// SPDX-License-Identifier: Apache-2.0
#include "cli/part_arguments.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_code.hpp"
#include "vcap/base/error.hpp"

namespace vcap::cli {
namespace {

std::int64_t to_frame(const std::string& text, const std::string& argument) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, number);
  if (failed != std::errc() || stop != end || number < 0)
    throw UsageError(argument + ": \"" + text + "\" is not the number of a frame, counted from 0");
  return number;
}

std::vector<std::string> at_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t comma; (comma = text.find(',', begin)) != std::string::npos; begin = comma + 1)
    parts.push_back(text.substr(begin, comma - begin));
  parts.push_back(text.substr(begin));
  return parts;
}

/// Calls `make` and reports the sampler's error as this argument's.
Sampler sampled(const std::string& argument, const std::function<Sampler()>& make) {
  try {
    return make();
  } catch (const InvalidArgument& error) {
    throw UsageError(argument + ": " + error.what());
  }
}

}  // namespace

Sampler parse_ranges(const std::string& text) {
  const std::string argument = "--ranges " + text;
  std::vector<RowRange> ranges;
  for (const std::string& part : at_commas(text)) {
    const auto dash = part.find('-');
    if (dash == std::string::npos)
      throw UsageError(argument + ": \"" + part +
                       "\" is not a range; write FIRST-END, such as 0-100");
    ranges.push_back(
        {to_frame(part.substr(0, dash), argument), to_frame(part.substr(dash + 1), argument)});
  }
  return sampled(argument, [&] { return Sampler::ranges(ranges); });
}

Sampler parse_frames(const std::string& text) {
  const std::string argument = "--frames " + text;
  std::vector<std::int64_t> frames;
  for (const std::string& part : at_commas(text)) frames.push_back(to_frame(part, argument));
  // In the words of the command; the sampler's own message is about rows.
  if (const auto pair = std::ranges::adjacent_find(frames, std::greater_equal<>());
      pair != frames.end())
    throw UsageError(argument + ": frame " + std::to_string(pair[1]) + " follows frame " +
                     std::to_string(pair[0]) + "; give each frame once, in ascending order");
  return sampled(argument, [&] { return Sampler::gather(frames); });
}

std::size_t parse_slices(const std::string& text) {
  if (text == "auto") return 0;
  if (text == "off") return 1;
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, number);
  if (failed != std::errc() || stop != end || number < 1)
    throw UsageError("--slices " + text + ": give auto, off, or the number of slices");
  return number;
}

void PartArguments::add_to(CLI::App& command) {
  CLI::Option* ranges = command.add_option_function<std::string>(
      "--ranges", [this](const std::string& text) { select = parse_ranges(text); },
      "Gives only the records of these frames of stored sources; they are the same as in a run "
      "over "
      "all frames: 0-100,500-600 (without frames 100 and 600)");
  ranges->type_name("FIRST-END,…");
  command
      .add_option_function<std::string>(
          "--frames", [this](const std::string& text) { select = parse_frames(text); },
          "The same for single frames: 0,10,25")
      ->type_name("N,…")
      ->excludes(ranges);
  command
      .add_option_function<std::string>(
          "--slices", [this](const std::string& text) { slices = parse_slices(text); },
          "Cuts stored sources into slices that run in parallel, if the capsules' states allow it; "
          "the records are the same")
      ->type_name("auto|N|off");
}

void PartArguments::apply_to(StreamConfig& config) const {
  config.select = select;
  config.slices = slices;
}

}  // namespace vcap::cli
