// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/thread_annotations.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

/// The different errors of each stream's frames, the newest ones. Thread safety: thread-safe.
class LiveErrors {
 public:
  static constexpr std::size_t kMostOfAStream = 16;

  /// Only for records with errors. [delivery]
  void add(const FrameRecord& record) VCAP_EXCLUDES(mutex_);
  /// Forgets streams that are not among them.
  void keep(const std::set<std::string>& streams) VCAP_EXCLUDES(mutex_);
  /// A list for each stream that has some.
  nlohmann::json json() const VCAP_EXCLUDES(mutex_);

 private:
  struct Entry {
    FrameRecord::CapsuleError error{};
    std::int64_t frame = 0;  ///< the last one
    std::int64_t count = 0;
  };

  mutable Mutex mutex_;
  std::map<std::string, std::deque<Entry>> streams_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap
