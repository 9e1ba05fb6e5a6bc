// SPDX-License-Identifier: Apache-2.0
#include "records/export_names.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <vector>

#include "files/entry_name.hpp"
#include "files/staged_folder.hpp"

namespace vcap {
namespace {

bool is_plain_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

std::string made_name(const std::string& stream, const FrameRecord& record) {
  char number[64];
  std::snprintf(number, sizeof number, "-%09lld", static_cast<long long>(record.frame.index));
  return stream + (record.group ? "-g" + std::to_string(*record.group) : "") + number;
}

}  // namespace

std::string safe_name(std::string_view text, std::size_t most) {
  std::string name(text.substr(0, std::min(text.size(), most)));
  const bool is_safe = text.size() <= most && !name.starts_with('.') &&
                       name.find('/') == std::string::npos && entry_name_fault(name).empty();
  if (is_safe) return name;
  std::ranges::replace_if(
      name, [](char c) { return !is_plain_byte(c); }, '_');
  if (name.starts_with('.')) name.front() = '_';
  return name.empty() ? "_" : name;
}

std::string plain_number(double value) {
  std::array<char, 32> buffer{};
  const auto [end, failed] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end};
}

std::string FrameNames::name(const FrameRecord& record) {
  const std::string& file = record.frame.source_file;
  if (file.empty()) return made_name(stream(record.stream_id), record);
  constexpr std::size_t kMostComponents = 4;
  std::vector<std::string> components;
  for (std::size_t begin = 0; begin <= file.size();) {
    const std::size_t end = std::min(file.find('/', begin), file.size());
    if (end > begin) components.push_back(file.substr(begin, end - begin));
    begin = end + 1;
  }
  if (components.empty()) return made_name(stream(record.stream_id), record);
  std::string& last = components.back();
  if (const std::size_t dot = last.rfind('.'); dot != std::string::npos && dot > 0)
    last.resize(dot);
  std::string path;
  for (std::size_t i = components.size() - std::min(components.size(), kMostComponents);
       i < components.size(); ++i) {
    if (!path.empty()) path += '/';
    path += safe_name(components[i]);
  }
  return path;
}

const std::string& FrameNames::stream(const std::string& stream_id) {
  const auto [place, is_new] = streams_.try_emplace(stream_id);
  if (!is_new) return place->second;
  const std::string base = safe_name(stream_id);
  std::string name = base;
  for (int number = 2; !taken_.insert(name).second; ++number)
    name = base + "-" + std::to_string(number);
  return place->second = name;
}

std::string free_name(const StagedFolder& folder, const std::string& prefix,
                      const std::string& name, const std::string& extension) {
  std::string path = prefix + name + extension;
  for (int number = 2; folder.contains(path); ++number)
    path = prefix + name + "-" + std::to_string(number) + extension;
  return path;
}

}  // namespace vcap
