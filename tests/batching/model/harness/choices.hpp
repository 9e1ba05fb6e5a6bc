// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace vcap::model {

/// The decisions of one schedule, in order, and the step to the next schedule. It visits all
/// schedules depth first, and keeps only one. Thread safety: thread-compatible.
class Choices {
 public:
  /// Begins with the schedule `text`, as text() gave it. After its end, every decision is 0. Throws
  /// std::invalid_argument.
  explicit Choices(std::string_view text = "");

  /// The next decision, from 0 to `count` - 1. After the same decisions, `count` must be the same
  /// each time; otherwise throws std::logic_error.
  std::size_t next(std::size_t count);
  /// Whether no schedule has yet made the next decision after the decisions of this one.
  bool is_new() const noexcept { return position_ == choices_.size(); }
  /// Goes to the next schedule; false if this was the last one. Throws std::logic_error if this
  /// schedule ended before all the decisions that it had to begin with.
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
  std::size_t given_ = 0;  // the number of decisions that the schedule has to begin with
};

}  // namespace vcap::model
