// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <vector>

namespace vcap::test {

/// The numbers of `count` random rounds, from 0. If the environment variable VCAP_TEST_TENTH has a
/// digit, only those that end with it: runs of all tests in turn with each digit play all rounds.
inline std::vector<unsigned> rounds_to_play(unsigned count) {
  const char* const digit = std::getenv("VCAP_TEST_TENTH");
  std::vector<unsigned> numbers;
  for (unsigned round = digit ? static_cast<unsigned>(std::atoi(digit)) : 0; round < count;
       round += digit ? 10 : 1)
    numbers.push_back(round);
  return numbers;
}

}  // namespace vcap::test
