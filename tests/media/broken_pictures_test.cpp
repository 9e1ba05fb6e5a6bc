// SPDX-License-Identifier: Apache-2.0
#include "vcap/media/broken_pictures.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace vcap::test {
namespace {

BrokenPictures broken(int begin, int end) {
  BrokenPictures some;
  for (int i = begin; i < end; ++i) some.add(std::to_string(i) + ".png");
  return some;
}

TEST(BrokenPictures, NameTheFirstOnes) {
  EXPECT_EQ(to_string(BrokenPictures()), "0");
  EXPECT_EQ(to_string(broken(0, 2)), "2 (0.png, 1.png)");
  EXPECT_EQ(to_string(broken(0, 9)), "9 (0.png, 1.png, 2.png, 3.png, 4.png, and 4 more)");
  EXPECT_EQ(to_string(BrokenPictures{.count = 7}), "7");
}

TEST(BrokenPictures, NameEachPictureOnce) {
  BrokenPictures twice = broken(0, 2);
  EXPECT_FALSE(twice.add("1.png"));
  EXPECT_TRUE(twice.add("2.png"));
  EXPECT_EQ(to_string(twice), "4 (0.png, 1.png, 2.png, and 1 more)");
}

TEST(BrokenPictures, AddUp) {
  BrokenPictures sum = broken(0, 3);
  sum.add(broken(3, 20));
  EXPECT_EQ(sum, broken(0, 20));
}

TEST(BrokenPictures, AreTheSameAfterJsonAndBack) {
  EXPECT_EQ(nlohmann::json(broken(0, 9)).get<BrokenPictures>(), broken(0, 9));
}

}  // namespace
}  // namespace vcap::test
