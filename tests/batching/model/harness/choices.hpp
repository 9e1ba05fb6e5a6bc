// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace vcap::model {

/// The decisions of one schedule, in order, and the way from it to the next: all schedules, depth
/// first, without keeping more than one. Thread safety: thread-compatible.
class Choices {
 public:
  /// A schedule to begin with, as text() gave it; beyond its end everything is the first of its
  /// kind. Throws std::invalid_argument.
  explicit Choices(std::string_view text = "");

  /// The decision that comes next, one of 0 to `count` - 1. `count` is the same each time that the
  /// same decisions went before; throws std::logic_error where it is not.
  std::size_t next(std::size_t count);
  /// Whether no schedule has made the decision that comes next, after those of this one.
  bool is_new() const noexcept { return position_ == choices_.size(); }
  /// Goes to the next schedule; false: that was the last. Throws std::logic_error where the one of
  /// now has ended before the decisions that it was to begin with.
  bool advance();
  /// The decisions so far, such as "0,2,1".
  std::string text() const;

 private:
  struct Choice {
    std::size_t taken;
    std::size_t count;  // 0: not known yet
  };

  std::vector<Choice> choices_{};
  std::size_t position_ = 0;
  std::size_t given_ = 0;  // so many decisions the schedule was to begin with
};

}  // namespace vcap::model
