// SPDX-License-Identifier: Apache-2.0
//
// The code in the documentation is compiled: a block below `<!-- snippet: path#tag -->` must equal
// the lines of that file between `[tag]` and `[/tag]`.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "support/paths.hpp"

namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

Lines read_lines(const fs::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  Lines lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// The lines without their common indentation.
Lines unindent(Lines lines) {
  std::size_t common = std::string::npos;
  for (const std::string& line : lines) common = std::min(common, line.find_first_not_of(' '));
  for (std::string& line : lines) line.erase(0, std::min(common, line.size()));
  return lines;
}

/// The lines between the two marks of the tag, or the whole file if the tag is empty. Marks of
/// other tags are left out. Returns nullopt if the file does not have the tag.
std::optional<Lines> region(const Lines& source, const std::string& tag) {
  static const std::regex mark(R"(^\s*(//|#)\s*\[/?[a-z0-9_-]+\]\s*$)");
  const auto is = [&](const std::string& line, const std::string& form) {
    return std::regex_match(line, mark) && line.find(form) != std::string::npos;
  };
  Lines found;
  bool inside = tag.empty();
  bool seen = inside;
  for (const std::string& line : source) {
    if (!tag.empty() && is(line, "[" + tag + "]")) {
      inside = seen = true;
    } else if (!tag.empty() && is(line, "[/" + tag + "]")) {
      inside = false;
    } else if (inside && !std::regex_match(line, mark)) {
      found.push_back(line);
    }
  }
  if (!seen) return std::nullopt;
  return unindent(std::move(found));
}

struct Snippet {
  std::string where;
  std::string path;
  std::string tag;
  Lines lines;
};

std::vector<Snippet> snippets(const std::string& name, const Lines& page) {
  static const std::regex marker(R"(^\s*<!-- snippet: ([^#\s]+)(?:#([a-z0-9_-]+))? -->\s*$)");
  std::vector<Snippet> found;
  for (std::size_t i = 0; i < page.size(); ++i) {
    std::smatch match;
    if (!std::regex_match(page[i], match, marker)) continue;
    Snippet snippet{name + ":" + std::to_string(i + 1), match[1], match[2], {}};
    std::size_t line = i + 1;
    if (line < page.size() && page[line].starts_with("```"))
      for (++line; line < page.size() && page[line] != "```"; ++line)
        snippet.lines.push_back(page[line]);
    found.push_back(std::move(snippet));
  }
  return found;
}

std::vector<fs::path> pages() {
  std::vector<fs::path> found{vcap::test::in_sources("README.md")};
  for (const auto& entry : fs::recursive_directory_iterator(vcap::test::in_sources("docs")))
    if (entry.path().extension() == ".md") found.push_back(entry.path());
  return found;
}

TEST(Snippets, EqualTheFilesThatAreCompiled) {
  std::size_t count = 0;
  for (const fs::path& page : pages()) {
    for (const Snippet& snippet : snippets(page.string(), read_lines(page))) {
      ++count;
      const auto expected =
          region(read_lines(fs::path(vcap::test::in_sources("")) / snippet.path), snippet.tag);
      ASSERT_TRUE(expected) << snippet.where << ": " << snippet.path << " has no [" << snippet.tag
                            << "]";
      EXPECT_EQ(snippet.lines, *expected)
          << snippet.where << " is not " << snippet.path << "#" << snippet.tag;
    }
  }
  EXPECT_GE(count, 3u) << "the pages have too few snippets";
}

TEST(Snippets, EveryBlockOfCppComesFromAFile) {
  for (const fs::path& page : pages()) {
    const Lines lines = read_lines(page);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i] != "```cpp") continue;
      EXPECT_TRUE(i > 0 && lines[i - 1].find("<!-- snippet: ") != std::string::npos)
          << page << ":" << i + 1 << ": take the block from a compiled file and say which";
    }
  }
}

TEST(Snippets, TakesTheTaggedRegionWithoutItsIndentation) {
  const Lines source{"int a;",         "  // [tag]", "  int b;",
                     "    // [other]", "    int c;", "  // [/tag]"};
  EXPECT_EQ(region(source, "tag"), (Lines{"int b;", "  int c;"}));
  EXPECT_EQ(region(source, "absent"), std::nullopt);
}

}  // namespace
