// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace vcap::test {

/// The inputs that fuzzing starts with, by the kind of their reader and by name: sound inputs, and
/// those of the corpus that are not longer than fuzzing reads.
std::map<std::string, std::map<std::string, std::string>> fuzz_seeds();

}  // namespace vcap::test
