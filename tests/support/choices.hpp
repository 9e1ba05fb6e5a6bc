// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace vcap::test {

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
  [[noreturn]] static void refuse_other_schedule() {
    throw std::logic_error(
        "a schedule is not what it was: what is searched must depend on nothing but its schedule");
  }

  std::vector<Choice> choices_{};
  std::size_t position_ = 0;
  std::size_t given_ = 0;  // the number of decisions that the schedule has to begin with
};

inline Choices::Choices(std::string_view text) {
  for (const char* at = text.data(); at != text.data() + text.size();) {
    const char* const end = text.data() + text.size();
    Choice choice{0, 0};
    const auto [after, error] = std::from_chars(at, end, choice.taken);
    if (error != std::errc() || (after != end && *after != ','))
      throw std::invalid_argument("schedule \"" + std::string(text) +
                                  "\": not numbers with commas between them");
    choices_.push_back(choice);
    at = after == end ? end : after + 1;
  }
  given_ = choices_.size();
}

inline std::size_t Choices::next(std::size_t count) {
  if (position_ == choices_.size()) choices_.push_back({0, count});
  Choice& choice = choices_[position_++];
  if (choice.count == 0) choice.count = count;
  if (choice.count != count || choice.taken >= count) refuse_other_schedule();
  return choice.taken;
}

inline bool Choices::advance() {
  if (position_ < given_) refuse_other_schedule();
  position_ = 0;
  while (!choices_.empty() && choices_.back().taken + 1 == choices_.back().count)
    choices_.pop_back();
  if (choices_.empty()) return false;
  ++choices_.back().taken;
  given_ = choices_.size();
  return true;
}

inline std::string Choices::text() const {
  std::string text;
  for (std::size_t i = 0; i < position_; ++i)
    text += (i == 0 ? "" : ",") + std::to_string(choices_[i].taken);
  return text;
}

}  // namespace vcap::test
