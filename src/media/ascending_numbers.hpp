// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vcap {

/// Numbers that ascend strictly, in little memory: a constant step takes some bytes in all, however
/// many numbers it has. Otherwise 128 numbers take 32 bytes, and the bits in which their steps
/// differ: 2 bits a number for the times of 30 frames a second in milliseconds, 33, 67, 100, ….
/// Access by place or by value takes the time of a binary search. Thread safety: value.
class AscendingNumbers {
 public:
  bool empty() const noexcept { return size_ == 0; }
  std::int64_t size() const noexcept { return size_; }
  /// Requires that it is not empty.
  std::int64_t back() const noexcept { return last_; }
  /// The number at a place from 0 to size() - 1.
  std::int64_t at(std::int64_t place) const;
  /// How many numbers are at most `limit`.
  std::int64_t count_to(std::int64_t limit) const;
  /// Bytes of memory beside this object.
  std::size_t bytes() const noexcept;

  /// `number` must be above back().
  void push_back(std::int64_t number);
  /// Frees the memory that is reserved for further numbers.
  void shrink_to_fit();

  /// Appends these numbers, which must not be negative, to a text of bytes.
  void save(std::string& to) const;
  /// Takes what save() has appended from the beginning of untrusted bytes; `nullopt` if it is not
  /// strictly ascending, or not complete.
  static std::optional<AscendingNumbers> load(std::string_view& from);

  bool operator==(const AscendingNumbers&) const = default;

 private:
  struct Block {
    std::int64_t place = 0;   ///< of its first number
    std::int64_t first = 0;   ///< that number
    std::uint64_t step = 0;   ///< the smallest one in it
    std::uint32_t words = 0;  ///< where its other steps begin
    std::uint32_t width = 0;  ///< bits of each step, less the smallest; 0: all steps are the same

    bool operator==(const Block&) const = default;
  };

  std::int64_t packed() const noexcept { return size_ - static_cast<std::int64_t>(tail_.size()); }
  std::int64_t length(std::size_t block) const noexcept;
  std::uint64_t extra(const Block& block, std::int64_t number) const;
  void pack_tail();
  bool load_block(std::string_view& from);

  std::vector<Block> blocks_{};
  std::vector<std::uint64_t> words_{};
  std::vector<std::int64_t> tail_{};  ///< the last ones, too few for a block
  std::int64_t size_ = 0;
  std::int64_t last_ = 0;
};

}  // namespace vcap
