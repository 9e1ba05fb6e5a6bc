// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace vcap::test {

/// What fuzzing begins with, by the kind of what reads it and by name: sound inputs, and those of
/// the corpus that are no longer than fuzzing looks at.
std::map<std::string, std::map<std::string, std::string>> fuzz_seeds();

}  // namespace vcap::test
