// SPDX-License-Identifier: Apache-2.0
#include "view/live_errors.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace vcap {

void LiveErrors::add(const FrameRecord& record) {
  const MutexLock lock(mutex_);
  std::deque<Entry>& entries = streams_[record.stream_id];
  for (const FrameRecord::CapsuleError& error : record.errors) {
    const auto found = std::ranges::find_if(entries, [&](const Entry& entry) {
      return entry.error.capsule == error.capsule && entry.error.code == error.code &&
             entry.error.message == error.message;
    });
    Entry entry{.error = error};
    if (found != entries.end()) {
      entry = *found;
      entries.erase(found);
    }
    entry.frame = record.frame.index;
    ++entry.count;
    entries.push_front(std::move(entry));
    if (entries.size() > kMostOfAStream) entries.pop_back();
  }
}

void LiveErrors::keep(const std::set<std::string>& streams) {
  const MutexLock lock(mutex_);
  std::erase_if(streams_, [&](const auto& stream) { return !streams.contains(stream.first); });
}

nlohmann::json LiveErrors::json() const {
  const MutexLock lock(mutex_);
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [stream, entries] : streams_)
    for (const Entry& entry : entries)
      json[stream].push_back({{"frame", entry.frame},
                              {"capsule", entry.error.capsule},
                              {"code", entry.error.code},
                              {"message", entry.error.message},
                              {"count", entry.count}});
  return json;
}

}  // namespace vcap
