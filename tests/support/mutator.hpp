// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>

namespace vcap::test {

/// Damages bytes at random: changes, cuts, inserts or repeats them, or writes a special number at a
/// place that may be the field of a record.
class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::string operator()(std::string bytes) {
    for (std::size_t changes = below(4) + 1; changes > 0 && !bytes.empty(); --changes) {
      const std::size_t at = below(bytes.size());
      switch (below(9)) {
        case 0:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
          break;
        case 1:
          bytes[at] = static_cast<char>(below(256));
          break;
        case 2:
          bytes.resize(at);
          break;
        case 3:
          bytes.erase(at, below(64));
          break;
        case 4:
          bytes.insert(at, bytes.substr(below(bytes.size()), below(64)));
          break;
        case 5:
          for (std::size_t i = at; i < std::min(at + 4, bytes.size()); ++i) bytes[i] = '\xff';
          break;
        case 6:
          write(bytes, at, number(), 2);
          break;
        case 7:
          write(bytes, at, number(), 4);
          break;
        default:
          bytes.append(bytes.substr(at));
          break;
      }
    }
    return bytes;
  }

  std::size_t below(std::size_t bound) { return random_() % bound; }

 private:
  /// A number with a meaning in some format, or any small number.
  std::uint32_t number() {
    constexpr std::uint32_t kNumbers[] = {
        0,      1,       8,          20,     45,     63,         0x800,      0x7fff,
        0xffff, 0x10000, 0x7fffffff, 0xffff, 0x7075, 0x80000000, 0xfffffffe, 0xffffffff};
    return below(2) == 0 ? kNumbers[below(std::size(kNumbers))]
                         : static_cast<std::uint32_t>(below(300));
  }
  static void write(std::string& bytes, std::size_t at, std::uint32_t value, std::size_t size) {
    for (std::size_t i = 0; i < size && at + i < bytes.size(); ++i)
      bytes[at + i] = static_cast<char>(value >> (8 * i));
  }

  std::mt19937 random_;
};

}  // namespace vcap::test
