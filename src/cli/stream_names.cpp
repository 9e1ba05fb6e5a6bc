// SPDX-License-Identifier: Apache-2.0
#include "cli/stream_names.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <system_error>

namespace vcap::cli {
namespace {

namespace fs = std::filesystem;

/// Characters that are safe and readable in a file name: letters, digits and "_.-"; bytes of other
/// alphabets stay as they are.
bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || std::isalnum(byte) || c == '_' || c == '.' || c == '-';
}

std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (is_plain(c))
      result += c;
    else if (!result.empty() && result.back() != '-')
      result += '-';
  }
  while (!result.empty() && result.back() == '-') result.pop_back();
  // A name of only dots would mean a folder.
  return result.find_first_not_of('.') == std::string::npos ? "stream" : result;
}

/// Host and path of a URL, without user and password, which would otherwise be written into
/// records.
std::string_view address_of(std::string_view url) {
  url.remove_prefix(url.find("://") + 3);
  url = url.substr(0, url.find_first_of("?#"));
  const auto at = url.substr(0, url.find('/')).rfind('@');
  if (at != std::string_view::npos) url.remove_prefix(at + 1);
  return url;
}

std::string base_id(const std::string& source) {
  std::error_code unknown;
  if (!fs::exists(source, unknown)) {
    if (std::all_of(source.begin(), source.end(), [](unsigned char c) { return std::isdigit(c); }))
      return "webcam-" + source;
    if (source.find("://") != std::string::npos) return plain(address_of(source));
  }
  fs::path path(source);
  if (!path.has_filename()) path = path.parent_path();  // "shots/"
  if (path.filename().string().find_first_of("*?[") != std::string::npos &&
      path.parent_path().has_filename())
    path = path.parent_path();  // "shots/*.png"
  return plain(path.stem().string());
}

}  // namespace

std::vector<std::string> stream_ids(const std::vector<std::string>& sources) {
  std::vector<std::string> ids;
  std::set<std::string> taken;
  for (const std::string& source : sources) {
    const std::string base = base_id(source);
    std::string id = base;
    for (int number = 2; !taken.insert(id).second; ++number)
      id = base + "-" + std::to_string(number);
    ids.push_back(id);
  }
  return ids;
}

bool is_stream_name(const std::string& text) { return !text.empty() && plain(text) == text; }

fs::path output_of_stream(const fs::path& path, const std::string& stream_id) {
  return path.parent_path() / (path.stem().string() + "-" + stream_id + path.extension().string());
}

}  // namespace vcap::cli
