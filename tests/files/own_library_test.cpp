// SPDX-License-Identifier: Apache-2.0
#include "files/own_library.hpp"

#include <gmock/gmock.h>

namespace vcap {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(OwnLibrary, GivesAFunctionOfALibraryThatIsNotLinked) {
  const OwnFunction found = find_own_function("download", "vcap_download_1");
  EXPECT_NE(found.address, nullptr) << found.failure;
  EXPECT_EQ(found.failure, "");
  EXPECT_EQ(find_own_function("download", "vcap_download_1").address, found.address);
}

TEST(OwnLibrary, SaysWhyAFunctionIsMissing) {
  const std::string path = (own_folder() / own_library("absent")).string();
  EXPECT_THAT(find_own_function("absent", "any").failure,
              AllOf(HasSubstr("the library " + path + " cannot be loaded"),
                    HasSubstr("No such file"), HasSubstr("install vcap again")));
  const OwnFunction found = find_own_function("download", "absent_function");
  EXPECT_EQ(found.address, nullptr);
  EXPECT_THAT(found.failure, AllOf(HasSubstr("libvcap_download"), HasSubstr("absent_function")));
}

TEST(OwnLibrary, IsNamedByTheVersionOfItsAbi) {
  EXPECT_THAT(own_library("download"),
              testing::MatchesRegex("libvcap_download\\.so\\.[0-9]+\\.[0-9]+"));
  EXPECT_TRUE(std::filesystem::exists(own_folder() / own_library("core")));
}

}  // namespace
}  // namespace vcap
