// SPDX-License-Identifier: Apache-2.0
#include "files/entry_name.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>

#include <utf8proc.h>

#include "base/text.hpp"

namespace vcap {
namespace {

constexpr std::size_t kComponentBytes = 255;  // NAME_MAX of common file systems
constexpr std::size_t kComponents = 8;

/// In Unicode normal form NFC, in which equal texts have equal bytes; `how` may add case folding.
std::string mapped(std::string_view text, utf8proc_option_t how) {
  utf8proc_uint8_t* bytes = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &bytes,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | how));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(bytes, &std::free);
  if (size < 0) throw std::bad_alloc();  // the text was checked to be UTF-8
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

/// Whether a name with this character could look like another name.
bool misleads(utf8proc_int32_t code) {
  switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return true;
    default:
      break;
  }
  // Marks that change the direction of the text around them.
  return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
         code == 0x200e || code == 0x200f || code == 0x061c;
}

std::string text_fault(std::string_view name) {
  const auto* const bytes = reinterpret_cast<const utf8proc_uint8_t*>(name.data());
  const auto size = static_cast<utf8proc_ssize_t>(name.size());
  for (utf8proc_ssize_t at = 0; at < size;) {
    utf8proc_int32_t code = 0;
    const utf8proc_ssize_t length = utf8proc_iterate(bytes + at, size - at, &code);
    if (length < 0) return "is not UTF-8";
    if (misleads(code)) return "has the control character " + std::to_string(code);
    at += length;
  }
  if (mapped(name, {}) != name) return "is not in Unicode's normal form NFC";
  return {};
}

std::string component_fault(std::string_view component) {
  if (component.empty()) return "has an empty component";
  if (component == "." || component == "..") return "has the component " + quote(component);
  if (component.size() > kComponentBytes)
    return "has a component of " + std::to_string(component.size()) + " bytes; " +
           std::to_string(kComponentBytes) + " are allowed";
  return {};
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
}

}  // namespace

std::string folded_name(std::string_view name) {
  if (!is_ascii(name)) return mapped(name, UTF8PROC_CASEFOLD);
  std::string text(name);
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string entry_name_fault(std::string_view name) {
  if (name.empty()) return "is empty";
  if (std::string fault = text_fault(name); !fault.empty()) return fault;
  if (name.find('\\') != name.npos) return "has a backslash; separate folders by '/'";
  if (name.front() == '/') return "is an absolute path";
  if (name.size() >= 2 && name[1] == ':') return "begins with a drive";
  if (name.back() == '/') return "is a folder; a capsule may only contain files";

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
    const auto [place, is_new] = seen.emplace(folded_name(name), name);
    if (is_new) continue;
    if (place->second == name) return quote(name) + " occurs twice";
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
