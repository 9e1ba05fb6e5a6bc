// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>

#include "vcap/base/histogram.hpp"
#include "vcap/media/broken_pictures.hpp"

namespace vcap {

/// How a stream went. The number of frames that the source gave is `frames` plus the drops, plus
/// the frames in flight until the stream has ended. Thread safety: value.
struct StreamReport {
  std::string id;
  std::int64_t frames = 0;                    ///< records written to every sink
  std::map<std::string, std::int64_t> drops;  ///< by reason (docs/records.md)
  BrokenPictures broken_pictures;             ///< of the source: skipped, so not among its frames
  std::int64_t errors = 0;                    ///< frames on which a capsule failed or was left out
  /// Frames that went on without a capsule past its deadline, also those of a slice's warm-up.
  std::int64_t overdue = 0;
  std::map<std::string, std::int64_t> quarantined;  ///< frames left out, by capsule
  std::chrono::nanoseconds elapsed{0};              ///< since the stream was opened
  Histogram latency_ns;     ///< of each record, from reading its frame to its last sink
  std::int64_t slices = 0;  ///< 0: not cut into slices
  /// Why the stream was not cut, if slices were to be chosen automatically.
  std::string not_sliced;
  bool ended = false;                  ///< no more frames will follow
  std::optional<std::string> failure;  ///< why it ended before its source did
  std::exception_ptr failure_cause;    ///< the same, to rethrow
};

}  // namespace vcap
