// SPDX-License-Identifier: Apache-2.0
//
// docs/coming-from-python.md says what each name of Python's vcap is here. Each C++ name in the
// right column of its tables is one of the public headers.
#include <gmock/gmock.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/paths.hpp"

namespace {

/// Words in the code of that column that are no names of C++: Python's own, and a file's ending.
const std::set<std::string> kOtherWords = {"class_name",     "center",  "ValueError", "NONE",
                                           "CropPadType",    "min_val", "max_val",    "label_map",
                                           "min_confidence", "cap"};

/// The words of a text that may be names of C++.
std::set<std::string> identifiers(const std::string& text) {
  std::set<std::string> found;
  std::string word;
  for (const char c : text + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
      continue;
    }
    if (!word.empty() && std::isdigit(static_cast<unsigned char>(word.front())) == 0) {
      found.insert(word);
    }
    word.clear();
  }
  return found;
}

/// Those of the public headers, without their comments.
std::set<std::string> public_names() {
  std::set<std::string> found;
  const auto root = vcap::test::in_sources("include");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    std::ifstream header(entry.path());
    for (std::string line; std::getline(header, line);)
      found.merge(identifiers(line.substr(0, line.find("//"))));
  }
  return found;
}

/// The texts between backticks in the last column of a table's row.
std::vector<std::string> code_of_last_column(const std::string& row) {
  const std::size_t end = row.rfind(" |");
  const std::size_t begin = end == std::string::npos ? end : row.rfind(" | ", end - 1);
  if (!row.starts_with("| ") || begin == std::string::npos) return {};
  std::vector<std::string> found;
  std::istringstream cell(row.substr(begin, end - begin));
  std::string text;
  for (bool is_code = false; std::getline(cell, text, '`'); is_code = !is_code)
    if (is_code) found.push_back(text);
  return found;
}

/// What is wrong with code of the page; "" if nothing is. Commands are not checked.
std::string unknown_in(const std::string& code, const std::set<std::string>& names) {
  if (code.starts_with("vcap ")) return "";
  if (code.starts_with("vcap/")) {
    const auto path = std::filesystem::path(vcap::test::in_sources("include")) / code;
    return std::filesystem::exists(path) ? "" : code;
  }
  for (const std::string& name : identifiers(code))
    if (!names.contains(name) && !kOtherWords.contains(name)) return name;
  return "";
}

TEST(ComingFromPython, HasOnlyNamesOfThePublicHeaders) {
  const std::set<std::string> names = public_names();
  std::ifstream page(vcap::test::in_sources("docs/coming-from-python.md"));
  std::size_t checked = 0;
  bool is_inside = false;
  for (std::string line; std::getline(page, line);) {
    is_inside = is_inside || line == "## Every name";
    if (!is_inside) continue;
    for (const std::string& code : code_of_last_column(line)) {
      ++checked;
      EXPECT_EQ(unknown_in(code, names), "") << "is in no public header; the row is\n" << line;
    }
  }
  EXPECT_GT(checked, 100u) << "the page or its tables were not read";
}

TEST(ComingFromPython, HasItsUnknownNamesFound) {
  EXPECT_THAT(code_of_last_column("| `a` | `Crop::from_node`, or `b` twice |"),
              testing::ElementsAre("Crop::from_node", "b"));
  EXPECT_THAT(code_of_last_column("Text with `code` | and no table"), testing::IsEmpty());
  const std::set<std::string> names{"Crop", "from_node"};
  EXPECT_EQ(unknown_in("Crop::from_node(2)", names), "");
  EXPECT_EQ(unknown_in("Crop::from_detection", names), "from_detection");
  EXPECT_EQ(unknown_in("vcap/absent.hpp", names), "vcap/absent.hpp");
  EXPECT_EQ(unknown_in("vcap pack --key-file", names), "");
}

}  // namespace
