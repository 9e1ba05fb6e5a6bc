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

struct FrameJob;

/// The route of a stream's next frame, changes of options for frames that were read and have not
/// begun their first step, the changes that records do not list yet, and the lanes that may still
/// have an open state.
///
/// A frame gets its capsules when it is read, and its options when it begins its first step. A
/// changed option holds from one frame on, in the order of their indexes: from the one after the
/// last that has begun. A passive machine. Thread safety: thread-compatible.
class RouteChanges {
 public:
  /// What is new in a route, beginning with its first frame.
  struct Change {
    std::string capsule;
    std::string option{};  ///< empty: the capsule itself was replaced, or has another config
    OptionValue value{};
    int from_version = 0;
    int to_version = 0;
    std::shared_ptr<const JsonValue> config{};  ///< null: it has the same config
    bool keep_state = true;
  };

  const std::shared_ptr<const Route>& route() const noexcept { return route_; }
  /// Sets the route of later frames. Returns the old one, which is better released without a lock.
  std::shared_ptr<const Route> set(std::shared_ptr<const Route> route);
  /// The record of the first frame from `index` on will list the change.
  void add(std::int64_t index, Change change);
  /// Numbers a change of an option that `next`, the route of later frames, already has; set() must
  /// follow. Frames that were read and have not begun get the option, too, unless their version of
  /// the capsule does not accept the value. `unread`: the lowest index of a frame that is not read
  /// yet. Returns the lowest index of a frame with the option; its record will list the change.
  std::int64_t change_option(Route& next, Change change, std::int64_t unread);
  /// The same for a frame that is not read yet, from which on the change holds: it was recorded.
  void repeat_change(Route& next, std::int64_t index, Change change);
  /// The route that the frame will have if it begins now.
  std::shared_ptr<const Route> route_of(const FrameJob& job);
  /// The frame begins its first step, and gets its options. Later calls for it have no effect.
  void begin(FrameJob& job);
  /// All frames up to that index have begun or were dropped. Frees what was kept for them.
  void forget_up_to(std::int64_t index) noexcept {
    if (!option_changes_.empty()) forget_changes(index);
  }
  /// Whether some record must list a change.
  bool has_unlisted() const noexcept { return !unlisted_.empty(); }
  /// Adds to the record the changes that have taken effect by its frame and are not listed yet.
  void list(FrameRecord& record);
  /// The lanes of the route, and of earlier routes while frames still use them.
  std::vector<std::shared_ptr<CapsuleLane>> lanes() const;

 private:
  /// A changed option that frames may lack which were read before.
  struct OptionChange {
    std::int64_t from;    ///< the lowest index of a frame that has it
    std::int64_t unread;  ///< frames from this index on are read with it
    std::uint64_t number;
    std::string capsule;
    std::string option;
    OptionValue value;
  };
  /// A route that frames were read with, and the same with changed options. Their frames keep them.
  struct Changed {
    std::weak_ptr<const Route> from;
    std::weak_ptr<const Route> to;
  };
  std::shared_ptr<const Route> with_changes(const Route& route, std::uint64_t number) const;
  void forget_changes(std::int64_t index) noexcept;

  std::shared_ptr<const Route> route_{};
  std::int64_t last_begun_ = -1;                ///< the highest index of a frame that has begun
  std::uint64_t changes_made_ = 0;              ///< changes of options
  std::vector<OptionChange> option_changes_{};  ///< in their order, and so by `from`
  std::vector<Changed> changed_{};  ///< so that frames with the same options share a route
  std::vector<std::weak_ptr<CapsuleLane>> retired_{};  ///< lanes that no new frame passes
  /// By the index of the first frame. A vector, because most streams have none, and an empty deque
  /// takes half a KiB.
  std::vector<std::pair<std::int64_t, Change>> unlisted_{};
};

}  // namespace vcap
