// SPDX-License-Identifier: Apache-2.0
#include "files/file_list.hpp"

#include <glob.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <system_error>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 15> kVideoExtensions{
    ".3gp",  ".avi", ".flv", ".m2ts", ".m4v", ".mkv",  ".mov", ".mp4",
    ".mpeg", ".mpg", ".mts", ".ogv",  ".ts",  ".webm", ".wmv"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_number(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  std::string_view number = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(number.size());
  // Without leading zeros, the number with more digits is the greater one.
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

/// Below, equal to or above 0; digits compare as numbers.
int natural_compare(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view x = take_number(a);
      const std::string_view y = take_number(b);
      if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
      if (const int order = x.compare(y); order != 0) return order;
    } else {
      if (a.front() != b.front())
        return static_cast<unsigned char>(a.front()) < static_cast<unsigned char>(b.front()) ? -1
                                                                                             : 1;
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return static_cast<int>(!a.empty()) - static_cast<int>(!b.empty());
}

void sort_naturally(std::vector<fs::path>& files) {
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    return natural_less(a.native(), b.native());
  });
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  const int order = natural_compare(a, b);
  return order != 0 ? order < 0 : a < b;
}

std::span<const std::string_view> video_extensions() noexcept { return kVideoExtensions; }

bool is_video_file(const fs::path& file) {
  std::string extension = file.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(kVideoExtensions, extension) != kVideoExtensions.end();
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    const bool hidden = at->path().filename().native().front() == '.';
    std::error_code unknown;
    if (!hidden && at->is_regular_file(unknown)) files.push_back(at->path());
  }
  if (failed)
    throw SourceError(ErrorCode::source_open, "folder " + folder.string() + " cannot be read: " +
                                                  failed.message() + "; check its permissions");
  sort_naturally(files);
  return files;
}

bool is_glob(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

std::vector<fs::path> files_matching(const std::string& pattern) {
  glob_t found{};
  const int result = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<fs::path> files;
  for (std::size_t i = 0; result == 0 && i < found.gl_pathc; ++i) {
    std::error_code unknown;
    if (fs::is_regular_file(found.gl_pathv[i], unknown)) files.emplace_back(found.gl_pathv[i]);
  }
  ::globfree(&found);
  sort_naturally(files);
  return files;
}

}  // namespace vcap
