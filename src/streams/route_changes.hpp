// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "streams/route.hpp"
#include "vcap/model/option_values.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

/// The route of a stream's next frame, the changes that records do not list yet, and the lanes that
/// may still have an open state. A passive machine. Thread safety: thread-compatible.
class RouteChanges {
 public:
  /// What is new in a route, beginning with its first frame.
  struct Change {
    std::string capsule;
    std::string option{};  ///< empty: the capsule itself was replaced
    OptionValue value{};
    int from_version = 0;
    int to_version = 0;
  };

  const std::shared_ptr<const Route>& route() const noexcept { return route_; }
  /// Sets the route of later frames. Returns the old one, which is better released without a lock.
  std::shared_ptr<const Route> set(std::shared_ptr<const Route> route);
  /// The record of the first frame from `index` on will list the change.
  void add(std::int64_t index, Change change);
  /// Whether some record must list a change.
  bool has_unlisted() const noexcept { return !unlisted_.empty(); }
  /// Adds to the record the changes that have taken effect by its frame and are not listed yet.
  void list(FrameRecord& record);
  /// The lanes of the route, and of earlier routes while frames still use them.
  std::vector<std::shared_ptr<CapsuleLane>> lanes() const;

 private:
  std::shared_ptr<const Route> route_{};
  std::vector<std::weak_ptr<CapsuleLane>> retired_{};  ///< lanes that no new frame passes
  /// By the index of the first frame. A vector, because most streams have none, and an empty deque
  /// takes half a KiB.
  std::vector<std::pair<std::int64_t, Change>> unlisted_{};
};

}  // namespace vcap
