// SPDX-License-Identifier: Apache-2.0
#include "vcap/capsule/capsule_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capsule/fake_capsule.hpp"

namespace vcap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

CapsuleFiles files_of(const std::map<std::string, std::string>& texts) {
  auto storage = std::make_shared<const std::map<std::string, std::string>>(texts);
  std::map<std::string, CapsuleFiles::Bytes, std::less<>> views;
  for (const auto& [name, text] : *storage) views.emplace(name, std::as_bytes(std::span(text)));
  return {std::move(views), storage};
}

TEST(CapsuleFiles, GivesAFileAsBytesAndAsText) {
  const CapsuleFiles files = files_of({{"model.bin", "abc"}});

  EXPECT_EQ(files["model.bin"].size(), 3u);
  EXPECT_EQ(files["model.bin"][0], std::byte{'a'});
  EXPECT_EQ(files.text("model.bin"), "abc");
}

TEST(CapsuleFiles, ListsItsNamesInOrder) {
  EXPECT_THAT(files_of({{"b", ""}, {"a/c", ""}}).names(), ElementsAre("a/c", "b"));
}

TEST(CapsuleFiles, KnowsWhatItContains) {
  const CapsuleFiles files = files_of({{"a", ""}});

  EXPECT_TRUE(files.contains("a"));
  EXPECT_FALSE(files.contains("b"));
}

TEST(CapsuleFiles, ListsItsFilesWhenOneIsMissing) {
  const CapsuleFiles files = files_of({{"a", ""}, {"b", ""}});

  const auto error = test::error_of<InvalidArgument>([&] { (void)files["c"]; });

  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_STREQ(error.what(), "the capsule has no file \"c\"; it has: \"a\", \"b\"");
}

TEST(CapsuleFiles, ListsNoFilesWhenItIsEmpty) {
  const CapsuleFiles none;
  const auto error = test::error_of<InvalidArgument>([&] { (void)none.text("c"); });

  EXPECT_THAT(error.what(), HasSubstr("it has: (none)"));
}

TEST(CapsuleFiles, KeepsItsStorageAliveInEveryCopy) {
  std::weak_ptr<const std::string> watched;
  CapsuleFiles copy;
  {
    auto storage = std::make_shared<const std::string>("kept");
    watched = storage;
    copy = CapsuleFiles({{"a", std::as_bytes(std::span(*storage))}}, storage);
  }

  EXPECT_EQ(copy.text("a"), "kept");
  copy = {};
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace vcap
