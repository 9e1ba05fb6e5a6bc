// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "vcap/base/export.hpp"
#include "vcap/model/uuid.hpp"

namespace vcap {

/// The UUID that a reader gives to a track that has only a number. Numbers from 0 to 2^56 - 1 can
/// be told from it again. Thread-safe.
VCAP_EXPORT Uuid uuid_of_track(std::int64_t number);

/// Numbers for tracks, from 1 in the order of their first appearance; a track that was read with a
/// number above 0 keeps it, unless another one has it already. Thread safety: thread-compatible.
class VCAP_EXPORT TrackNumbers {
 public:
  std::int64_t number(const std::string& stream_id, const Uuid& track);

 private:
  std::map<std::string, std::unordered_map<Uuid, std::int64_t>> numbers_;
  std::unordered_set<std::int64_t> taken_;
  std::int64_t last_ = 0;
};

}  // namespace vcap
