// SPDX-License-Identifier: Apache-2.0
#include "cli/policy_arguments.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <vector>

#include "cli/exit_code.hpp"

namespace vcap::cli {
namespace {

constexpr const char* kQuarantineForm = "N[:WITHIN[:PAUSE]]";
constexpr std::size_t kMostFailures = 1'000'000;
constexpr double kLongest = 86400;  // seconds

std::chrono::nanoseconds to_time(double seconds) {
  return std::chrono::nanoseconds(std::llround(seconds * 1e9));
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t end; (end = text.find(':')) != std::string_view::npos;
       text.remove_prefix(end + 1))
    parts.push_back(text.substr(0, end));
  parts.push_back(text);
  return parts;
}

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

QuarantinePolicy parse_quarantine(const std::string& text, const std::string& option) {
  QuarantinePolicy policy;
  const std::vector<std::string_view> parts = split(text);
  bool right = parts.size() <= 3 && read_number(parts[0], policy.failures) &&
               policy.failures >= 1 && policy.failures <= kMostFailures;
  std::chrono::nanoseconds* const times[] = {&policy.window, &policy.pause};
  for (std::size_t i = 1; right && i < parts.size(); ++i) {
    double seconds = 0;
    right = read_number(parts[i], seconds) && seconds >= 0.001 && seconds <= kLongest;
    if (right) *times[i - 1] = to_time(seconds);
  }
  if (!right)
    throw UsageError(option + " " + text + " does not have the form " + kQuarantineForm +
                     " with N from 1 to 1000000 and times from 0.001 to 86400 seconds, such as "
                     "3:10:30");
  return policy;
}

std::chrono::nanoseconds parse_deadline(const std::string& text, const std::string& option) {
  if (text == "none") return {};
  double seconds = 0;
  if (!read_number(text, seconds) || !(seconds >= 0.001 && seconds <= kLongest))
    throw UsageError(option + " " + text +
                     " is not a time from 0.001 to 86400 seconds; give none for no deadline");
  return to_time(seconds);
}

void PolicyArguments::add_to(CLI::App& command) {
  command
      .add_option_function<std::string>(
          "--deadline",
          [this](const std::string& text) { deadline = parse_deadline(text, "--deadline"); },
          "A frame continues without a capsule that takes longer than this (default 30); the first "
          "call on each device, which may compile a network, may take ten times as long. In a job, "
          "the attempt at the slice fails instead")
      ->type_name("SECONDS|none");
  command
      .add_option("--grace", grace,
                  "After a stop, and while capsules are closed: what has not returned after this "
                  "time is given up and named, and the exit code is 9 (default 10)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, kLongest));
  const auto add_quarantine = [&command](const char* option, QuarantinePolicy& policy,
                                         const char* help) {
    command
        .add_option_function<std::string>(
            option,
            [&policy, option](const std::string& text) { policy = parse_quarantine(text, option); },
            help)
        ->type_name(kQuarantineForm);
  };
  add_quarantine(
      "--quarantine", quarantine,
      "Leaves a capsule out of a stream for PAUSE (default 30) seconds after it has failed on "
      "N of its frames within WITHIN (default 10) seconds");
  add_quarantine(
      "--quarantine-all", quarantine_of_all,
      "Leaves a capsule out of all streams after it has failed on N frames, counted over "
      "all streams");
  command
      .add_option("--frames-in-flight", frames_in_flight,
                  "The maximum number of frames in flight over all streams; one frame of each "
                  "stream is not counted")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1000000}));
  command
      .add_option(
          "--overflow", overflow,
          "If a source is faster than the capsules: it waits (default for stored sources), or "
          "the stream drops its oldest frames (default for live sources) or its newest; "
          "drops are counted and reported")
      ->type_name("wait|drop-oldest|drop-newest")
      ->transform(CLI::CheckedTransformer(std::map<std::string, OverflowPolicy>{
                                              {"wait", OverflowPolicy::wait},
                                              {"drop-oldest", OverflowPolicy::drop_oldest},
                                              {"drop-newest", OverflowPolicy::drop_newest}})
                      .description(""));
  command
      .add_option_function<std::string>(
          "--invalid-output",
          [this](const std::string& choice) {
            for (const auto one : {InvalidOutput::error, InvalidOutput::warn, InvalidOutput::off})
              if (choice == to_string(one)) outputs.invalid = one;
          },
          "If a capsule gives what it does not declare: error (the default) discards what it gave "
          "for that frame and counts it as a failure; warn keeps it and notes it in the record; "
          "off checks nothing")
      ->type_name("error|warn|off")
      ->check(CLI::IsMember({"error", "warn", "off"}).description(""));
  const auto add_bound = [&command](const char* option, std::size_t& bound, const char* help) {
    command.add_option(option, bound, help)
        ->type_name("N")
        ->check(CLI::Range(std::size_t{1}, std::numeric_limits<std::size_t>::max()).description(""))
        ->capture_default_str();
  };
  add_bound("--max-nodes", outputs.max_nodes,
            "The most nodes of a frame's record, children included; what a capsule gives beyond "
            "this is invalid output");
  add_bound("--max-node-bytes", outputs.max_bytes,
            "The most bytes of those nodes; what a capsule gives beyond this is invalid output");
  command
      .add_option("--keep-every", keep_every,
                  "Analyses only every N-th frame, also of live sources, and reports the others "
                  "as drops")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000}));
}

std::chrono::nanoseconds PolicyArguments::grace_time() const { return to_time(grace); }

void PolicyArguments::apply_to(StreamConfig& config) const {
  config.overflow = overflow;
  config.keep_every = keep_every;
  config.quarantine = quarantine;
  config.capsule_deadline = deadline;
  config.first_call_deadline = first_call_deadline();
}

}  // namespace vcap::cli
