// SPDX-License-Identifier: Apache-2.0
#include "harness/choices.hpp"

#include <charconv>
#include <stdexcept>

namespace vcap::model {
namespace {

constexpr const char* kDependsOnMore =
    "a schedule is not what it was: what is searched must depend on nothing but its schedule";

}  // namespace

Choices::Choices(std::string_view text) {
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

std::size_t Choices::next(std::size_t count) {
  if (position_ == choices_.size()) choices_.push_back({0, count});
  Choice& choice = choices_[position_++];
  if (choice.count == 0) choice.count = count;
  if (choice.count != count || choice.taken >= count) throw std::logic_error(kDependsOnMore);
  return choice.taken;
}

bool Choices::advance() {
  if (position_ < given_) throw std::logic_error(kDependsOnMore);
  position_ = 0;
  while (!choices_.empty() && choices_.back().taken + 1 == choices_.back().count)
    choices_.pop_back();
  if (choices_.empty()) return false;
  ++choices_.back().taken;
  given_ = choices_.size();
  return true;
}

std::string Choices::text() const {
  std::string text;
  for (std::size_t i = 0; i < position_; ++i)
    text += (i == 0 ? "" : ",") + std::to_string(choices_[i].taken);
  return text;
}

}  // namespace vcap::model
