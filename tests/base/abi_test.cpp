// SPDX-License-Identifier: Apache-2.0
#include "vcap/base/abi.hpp"

#include <gmock/gmock.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "vcap/base/version.hpp"

namespace vcap {
namespace {

TEST(Version, MatchesTheNumbersOfTheHeader) {
  EXPECT_EQ(version(), std::to_string(VCAP_VERSION_MAJOR) + "." +
                           std::to_string(VCAP_VERSION_MINOR) + "." +
                           std::to_string(VCAP_VERSION_PATCH));
}

TEST(AbiTag, IsTheSameInLibraryAndProgram) { EXPECT_EQ(abi_tag(), VCAP_ABI_TAG); }

TEST(AbiTag, GivesEveryPartAsNumbers) {
  // An undefined macro would appear in the tag by its own name.
  EXPECT_THAT(std::string(abi_tag()),
              testing::MatchesRegex("vcap[0-9]+\\.[0-9]+-gxxabi[0-9]+-cxx11abi[01]-opencv[0-9]+\\."
                                    "[0-9]+-json[0-9]+\\.[0-9]+\\.[0-9]+"));
}

TEST(Platform, NamesTheRunningMachine) {
  utsname machine{};
  ASSERT_EQ(uname(&machine), 0);
  std::string system = machine.sysname;
  std::transform(system.begin(), system.end(), system.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  EXPECT_EQ(platform(), system + "-" + machine.machine);
}

}  // namespace
}  // namespace vcap
