// SPDX-License-Identifier: Apache-2.0
#include "loading/entry_name.hpp"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace vcap {
namespace {

constexpr std::size_t kComponentBytes = 255;  // NAME_MAX of the usual file systems
constexpr std::size_t kComponents = 8;

bool is_utf8(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; })) return true;
  try {
    // The JSON library checks strictly: no overlong form, no surrogate.
    static_cast<void>(nlohmann::json(text).dump());
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

std::string component_fault(std::string_view component) {
  if (component.empty()) return "has an empty component";
  if (component == "." || component == "..") return "has the component " + quote(component);
  if (component.size() > kComponentBytes)
    return "has a component of " + std::to_string(component.size()) + " bytes; " +
           std::to_string(kComponentBytes) + " are allowed";
  return {};
}

char fold(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string folded(std::string_view name) {
  std::string text(name);
  std::transform(text.begin(), text.end(), text.begin(), fold);
  return text;
}

}  // namespace

bool is_below_library_folder(std::string_view name) {
  const std::string text = folded(name);
  return text.starts_with(kLibraryFolder) || text + '/' == kLibraryFolder;
}

std::string entry_name_fault(std::string_view name) {
  if (name.empty()) return "is empty";
  for (const char c : name) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7f) return "has the control character " + std::to_string(code);
    if (c == '\\') return "has a backslash; folders are parted by '/'";
  }
  if (name.front() == '/') return "is an absolute path";
  if (name.size() >= 2 && name[1] == ':') return "begins with a drive";
  if (name.back() == '/') return "is a folder; a capsule holds files alone";
  if (!is_utf8(name)) return "is not UTF-8";

  std::size_t components = 0;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    if (std::string fault = component_fault(name.substr(begin, end - begin)); !fault.empty())
      return fault;
    if (++components > kComponents)
      return "has more than " + std::to_string(kComponents) + " components";
    begin = end + 1;
  }
  return {};
}

std::string entry_names_fault(const std::vector<std::string_view>& names) {
  std::map<std::string, std::string_view> seen;
  for (const std::string_view name : names) {
    const auto [place, is_new] = seen.emplace(folded(name), name);
    if (is_new) continue;
    if (place->second == name) return quote(name) + " is there twice";
    return quote(place->second) + " and " + quote(name) + " differ only in case";
  }
  for (const auto& [key, name] : seen) {
    for (std::size_t slash = key.find('/'); slash != key.npos; slash = key.find('/', slash + 1)) {
      const auto parent = seen.find(key.substr(0, slash));
      if (parent != seen.end())
        return quote(parent->second) + " is a file and the folder of " + quote(name);
    }
  }
  return {};
}

}  // namespace vcap
