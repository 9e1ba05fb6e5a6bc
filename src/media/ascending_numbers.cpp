// SPDX-License-Identifier: Apache-2.0
#include "media/ascending_numbers.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>
#include <utility>

#include "media/varint.hpp"

namespace vcap {
namespace {

/// Numbers in a block whose steps differ. The more, the less its head counts, and the longer
/// access takes: up to as many additions.
constexpr std::size_t kPacked = 128;
constexpr unsigned kWordBits = 64;

/// Of ascending numbers, whose distance may not fit into an int64_t.
std::uint64_t distance(std::int64_t from, std::int64_t to) {
  return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}

std::int64_t further(std::int64_t from, std::uint64_t distance) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(from) + distance);
}

/// `nullopt` if the sum does not fit.
std::optional<std::int64_t> checked_further(std::int64_t from, std::uint64_t by) {
  if (by > distance(from, std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return further(from, by);
}

std::size_t words_for(std::size_t numbers, unsigned width) {
  return ((numbers - 1) * width + kWordBits - 1) / kWordBits;
}

}  // namespace

std::int64_t AscendingNumbers::length(std::size_t block) const noexcept {
  return (block + 1 < blocks_.size() ? blocks_[block + 1].place : packed()) - blocks_[block].place;
}

/// What is added to the block's step from its number `number` to the next one.
std::uint64_t AscendingNumbers::extra(const Block& block, std::int64_t number) const {
  const std::uint64_t bit = static_cast<std::uint64_t>(number) * block.width;
  const std::size_t word = block.words + bit / kWordBits;
  const unsigned shift = bit % kWordBits;
  std::uint64_t value = words_[word] >> shift;
  if (shift + block.width > kWordBits) value |= words_[word + 1] << (kWordBits - shift);
  return block.width == kWordBits ? value : value & ((std::uint64_t{1} << block.width) - 1);
}

std::int64_t AscendingNumbers::at(std::int64_t place) const {
  assert(place >= 0 && place < size_);
  if (place >= packed()) return tail_[static_cast<std::size_t>(place - packed())];
  const Block& block = *(std::ranges::upper_bound(blocks_, place, {}, &Block::place) - 1);
  const std::int64_t number = place - block.place;
  std::uint64_t sum = block.step * static_cast<std::uint64_t>(number);
  if (block.width > 0)
    for (std::int64_t i = 0; i < number; ++i) sum += extra(block, i);
  return further(block.first, sum);
}

std::int64_t AscendingNumbers::count_to(std::int64_t limit) const {
  if (!tail_.empty() && tail_.front() <= limit)
    return packed() + (std::ranges::upper_bound(tail_, limit) - tail_.begin());
  const auto after = std::ranges::upper_bound(blocks_, limit, {}, &Block::first);
  if (after == blocks_.begin()) return 0;
  const Block& block = *(after - 1);
  const std::int64_t last = length(static_cast<std::size_t>(after - 1 - blocks_.begin())) - 1;
  const std::uint64_t most = distance(block.first, limit);
  std::int64_t number = 0;
  if (block.width == 0) {
    number =
        static_cast<std::int64_t>(std::min(most / block.step, static_cast<std::uint64_t>(last)));
  } else {
    for (std::uint64_t sum = 0; number < last; ++number) {
      sum += block.step + extra(block, number);
      if (sum > most) break;
    }
  }
  return block.place + number + 1;
}

std::size_t AscendingNumbers::bytes() const noexcept {
  return blocks_.capacity() * sizeof(Block) + words_.capacity() * sizeof(std::uint64_t) +
         tail_.capacity() * sizeof(std::int64_t);
}

void AscendingNumbers::push_back(std::int64_t number) {
  assert(empty() || number > last_);
  const bool goes_on = tail_.empty() && !blocks_.empty() && blocks_.back().width == 0 &&
                       distance(last_, number) == blocks_.back().step;
  if (!goes_on) tail_.push_back(number);
  ++size_;
  last_ = number;
  if (tail_.size() == kPacked) pack_tail();
}

void AscendingNumbers::pack_tail() {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most = 0;
  for (std::size_t i = 1; i < tail_.size(); ++i) {
    const std::uint64_t step = distance(tail_[i - 1], tail_[i]);
    least = std::min(least, step);
    most = std::max(most, step);
  }
  const Block block{.place = packed(),
                    .first = tail_.front(),
                    .step = least,
                    .words = static_cast<std::uint32_t>(words_.size()),
                    .width = static_cast<std::uint32_t>(std::bit_width(most - least))};
  words_.resize(words_.size() + words_for(tail_.size(), block.width));
  for (std::size_t i = 1; i < tail_.size() && block.width > 0; ++i) {
    const std::uint64_t value = distance(tail_[i - 1], tail_[i]) - least;
    const std::size_t bit = (i - 1) * block.width;
    const std::size_t word = block.words + bit / kWordBits;
    const unsigned shift = bit % kWordBits;
    words_[word] |= value << shift;
    if (shift + block.width > kWordBits) words_[word + 1] |= value >> (kWordBits - shift);
  }
  blocks_.push_back(block);
  tail_.clear();
}

void AscendingNumbers::shrink_to_fit() {
  blocks_.shrink_to_fit();
  words_.shrink_to_fit();
  tail_.shrink_to_fit();
}

void AscendingNumbers::save(std::string& to) const {
  put_varint(to, blocks_.size());
  std::int64_t before = 0;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    const auto count = static_cast<std::uint64_t>(length(i));
    put_varint(to, count);
    put_varint(to, distance(before, block.first));
    put_varint(to, block.step);
    put_varint(to, block.width);
    const std::size_t words = block.width > 0 ? words_for(count, block.width) : 0;
    for (std::size_t word = block.words; word < block.words + words; ++word)
      for (unsigned shift = 0; shift < kWordBits; shift += 8)
        to += static_cast<char>(words_[word] >> shift & 0xff);
    before = at(block.place + length(i) - 1);
  }
  put_varint(to, tail_.size());
  for (const std::int64_t number : tail_)
    put_varint(to, distance(std::exchange(before, number), number));
}

/// False if it is not valid.
bool AscendingNumbers::load_block(std::string_view& from) {
  const auto count = take_varint(from);
  const auto ahead = take_varint(from);
  const auto step = take_varint(from);
  const auto width = take_varint(from);
  if (!count || !ahead || !step || !width || *step < 1 || *width > kWordBits ||
      (*width > 0 ? *count != kPacked : *count < kPacked) ||
      *count > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() - size_) ||
      (size_ > 0 && *ahead == 0))
    return false;
  const auto first = checked_further(last_, *ahead);
  std::uint64_t sum = 0;
  if (!first || __builtin_mul_overflow(*step, *count - 1, &sum)) return false;
  const Block block{.place = size_,
                    .first = *first,
                    .step = *step,
                    .words = static_cast<std::uint32_t>(words_.size()),
                    .width = static_cast<std::uint32_t>(*width)};
  if (block.width > 0) {
    const std::size_t words = words_for(*count, block.width);
    if (from.size() / sizeof(std::uint64_t) < words) return false;
    for (std::size_t word = 0; word < words; ++word) {
      std::uint64_t value = 0;
      for (unsigned shift = 0; shift < kWordBits; shift += 8) {
        value |= std::uint64_t{static_cast<unsigned char>(from.front())} << shift;
        from.remove_prefix(1);
      }
      words_.push_back(value);
    }
    for (std::int64_t i = 0; i + 1 < static_cast<std::int64_t>(*count); ++i)
      if (__builtin_add_overflow(sum, extra(block, i), &sum)) return false;
  }
  const auto last = checked_further(*first, sum);
  if (!last) return false;
  blocks_.push_back(block);
  size_ += static_cast<std::int64_t>(*count);
  last_ = *last;
  return true;
}

std::optional<AscendingNumbers> AscendingNumbers::load(std::string_view& from) {
  AscendingNumbers numbers;
  const auto blocks = take_varint(from);
  if (!blocks) return std::nullopt;
  for (std::uint64_t i = 0; i < *blocks; ++i)
    if (!numbers.load_block(from)) return std::nullopt;
  const auto tail = take_varint(from);
  if (!tail || *tail >= kPacked) return std::nullopt;
  for (std::uint64_t i = 0; i < *tail; ++i) {
    const auto ahead = take_varint(from);
    if (!ahead || (*ahead == 0 && !numbers.empty())) return std::nullopt;
    const auto number = checked_further(numbers.last_, *ahead);
    if (!number || numbers.size_ == std::numeric_limits<std::int64_t>::max()) return std::nullopt;
    numbers.push_back(*number);
  }
  numbers.shrink_to_fit();
  return numbers;
}

}  // namespace vcap
