// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>

namespace vcap {

/// How a stream went. The frames that its source gave are `frames` and the drops, and, until it
/// has ended, those in flight. Thread safety: value.
struct StreamReport {
  std::string id{};
  std::int64_t frames = 0;                      ///< records written to every sink
  std::map<std::string, std::int64_t> drops{};  ///< by reason (docs/records.md)
  std::int64_t errors = 0;  ///< frames on which a capsule failed or was left out
  std::map<std::string, std::int64_t> quarantined{};  ///< frames left out, by capsule
  std::chrono::nanoseconds elapsed{0};                ///< since the stream was opened
  std::int64_t slices = 0;                            ///< 0: it was not cut
  std::string not_sliced{};              ///< why, where it was to be cut if that was possible
  bool ended = false;                    ///< no frame will follow
  std::optional<std::string> failure{};  ///< why it ended before its source did
  std::exception_ptr failure_cause{};    ///< the same, to be rethrown
};

}  // namespace vcap
