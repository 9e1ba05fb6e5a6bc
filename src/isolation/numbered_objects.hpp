// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "base/other_mutexes.hpp"
#include "base/thread_annotations.hpp"
#include "isolation/capsule_call.hpp"

namespace vcap {

/// Objects that the other side knows by numbers. Thread-safe.
template <class Object>
class NumberedObjects {
 public:
  /// The number, from 1; 0 for null.
  WireId add(std::shared_ptr<Object> object) {
    if (!object) return 0;
    const ExclusiveLock lock(mutex_);
    objects_.emplace(++last_, std::move(object));
    return last_;
  }
  /// Null if there is none of this number.
  std::shared_ptr<Object> find(WireId number) const {
    const SharedLock lock(mutex_);
    const auto found = objects_.find(number);
    return found == objects_.end() ? nullptr : found->second;
  }
  /// The same, and forgets it.
  std::shared_ptr<Object> take(WireId number) {
    const ExclusiveLock lock(mutex_);
    const auto node = objects_.extract(number);
    return node ? std::move(node.mapped()) : nullptr;
  }

 private:
  mutable SharedMutex mutex_;
  WireId last_ VCAP_GUARDED_BY(mutex_) = 0;
  std::map<WireId, std::shared_ptr<Object>> objects_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap
