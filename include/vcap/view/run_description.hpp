// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/base/histogram.hpp"
#include "vcap/streams/stream_report.hpp"

namespace vcap {

class Pipeline;

/// What ran, for a report: capsules with their options, the plan, how streams went. Thread safety:
/// value.
struct RunDescription {
  /// A capsule of the run.
  struct RunCapsule {
    std::string name{};
    int version = 0;
    std::vector<std::string> devices{};
    std::map<std::string, std::string> options{};  ///< values as text, by name
    std::uint64_t calls = 0;
    std::uint64_t failures = 0;  ///< calls that threw
    Histogram call_ns{};         ///< of each call, waiting for batches included
  };
  /// A stream of the run.
  struct RunStream {
    std::string source{};
    StreamReport report{};
    std::map<std::string, std::string> options{};  ///< of this stream only, by CAPSULE.NAME
  };

  /// Further lines, as name and value: the version of vcap, when it began, how it ended.
  std::vector<std::pair<std::string, std::string>> facts{};
  std::vector<RunCapsule> capsules{};  ///< in the plan's order
  std::string plan{};                  ///< Plan::explain()
  std::vector<RunStream> streams{};
  std::vector<std::string> notes{};  ///< such as records that an output lost
};

/// The capsules, their calls so far and the plan. Streams, options and facts are the host's to add.
/// Thread-safe.
VCAP_EXPORT RunDescription describe_run(const Pipeline& pipeline);

}  // namespace vcap
