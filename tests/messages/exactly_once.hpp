// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace vcap::test {

/// What a reader has that takes each message once, as docs/messages.md says. Gives the field `n` of
/// the messages, in order.
class ExactlyOnce {
 public:
  void take(const std::string& body) {
    const auto record = nlohmann::json::parse(body);
    const std::uint64_t sequence = record.at("message").at("sequence");
    if (sequence <= last_) return;
    if (sequence != last_ + 1) throw std::runtime_error("a message is missing before " + body);
    last_ = sequence;
    numbers_.push_back(record.at("n"));
  }
  const std::vector<int>& numbers() const { return numbers_; }

 private:
  std::uint64_t last_ = 0;
  std::vector<int> numbers_;
};

inline std::string numbered_object(int number) { return "{\"n\":" + std::to_string(number) + "}"; }

/// 1 to `last`.
inline std::vector<int> numbers_up_to(int last) {
  std::vector<int> numbers;
  for (int n = 1; n <= last; ++n) numbers.push_back(n);
  return numbers;
}

}  // namespace vcap::test
