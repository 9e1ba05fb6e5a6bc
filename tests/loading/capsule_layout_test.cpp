// SPDX-License-Identifier: Apache-2.0
#include "loading/capsule_layout.hpp"

#include <gtest/gtest.h>

namespace vcap {
namespace {

TEST(EntryName, IsReservedBelowTheLibraryFolderInUpperAndLowerCase) {
  EXPECT_TRUE(is_below_library_folder("lib/linux-x86_64/capsule.so"));
  EXPECT_TRUE(is_below_library_folder("LIB/a"));
  EXPECT_TRUE(is_below_library_folder("Lib"));
  EXPECT_FALSE(is_below_library_folder("library/a"));
  EXPECT_FALSE(is_below_library_folder("data/lib/a"));
}

}  // namespace
}  // namespace vcap
