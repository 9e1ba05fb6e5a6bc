// SPDX-License-Identifier: Apache-2.0
#include "files/entry_name.hpp"

#include <gmock/gmock.h>

namespace vcap {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(EntryName, MayBeAnyPlainRelativePath) {
  for (const char* const name : {"model.onnx", "lib/linux-x86_64/capsule.so", "a/b/c/d/e/f/g/h",
                                 "...", "..a", ".hidden", "with space", "caf\xc3\xa9"})
    EXPECT_THAT(entry_name_fault(name), IsEmpty()) << name;
}

TEST(EntryName, HasAFaultIfAnotherSystemCouldReadItDifferently) {
  const std::string long_component(256, 'a');
  const std::pair<std::string, const char*> cases[] = {
      {"", "is empty"},
      {"/a", "absolute"},
      {"c:/a", "drive"},
      {"a\\b", "backslash"},
      {"a\nb", "control character 10"},
      {"a\x7f", "control character 127"},
      {"..", "\"..\""},
      {"a/../b", "\"..\""},
      {"./a", "\".\""},
      {"a//b", "empty component"},
      {"a/", "is a folder"},
      {"a/b/c/d/e/f/g/h/i", "more than 8 components"},
      {long_component, "256 bytes; 255 are allowed"},
      {"\xc0\xaf", "not UTF-8"},
      {"\xff", "not UTF-8"},
      {"\xed\xa0\x80", "not UTF-8"},        // a surrogate
      {"cafe\xcc\x81", "normal form NFC"},  // e with a separate accent
      {"a\xc2\x85"
       "b",
       "control character 133"},  // the control character "next line"
      {"a\xe2\x80\xa8"
       "b",
       "control character 8232"},
      {"exe.\xe2\x80\xae"
       "gpj",
       "control character 8238"}};
  for (const auto& [name, fault] : cases)
    EXPECT_THAT(entry_name_fault(name), HasSubstr(fault)) << name;
}

TEST(EntryNames, HaveNoFaultIfEachNamesADifferentFile) {
  EXPECT_THAT(entry_names_fault({"a", "ab", "b/a", "b/c"}), IsEmpty());
}

TEST(EntryNames, HaveAFaultIfAFileSystemCouldNotHoldThemAll) {
  EXPECT_THAT(entry_names_fault({"a", "b", "a"}), HasSubstr("\"a\" occurs twice"));
  EXPECT_THAT(entry_names_fault({"a/B", "A/b"}), HasSubstr("differ only in case"));
  EXPECT_THAT(entry_names_fault({"\xc3\xa9", "\xc3\x89"}), HasSubstr("differ only in case"));
  EXPECT_THAT(entry_names_fault({"stra\xc3\x9f"
                                 "e",
                                 "STRASSE"}),
              HasSubstr("differ only in case"));
  EXPECT_THAT(entry_names_fault({"x/y/z", "X"}), HasSubstr("is a file and the folder"));
  EXPECT_THAT(entry_names_fault({"x/y", "x-y", "x"}), HasSubstr("is a file and the folder"));
}

}  // namespace
}  // namespace vcap
