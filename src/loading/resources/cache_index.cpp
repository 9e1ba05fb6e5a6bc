// SPDX-License-Identifier: Apache-2.0
#include "loading/resources/cache_index.hpp"

#include <algorithm>
#include <string_view>

#include <nlohmann/json.hpp>

#include "capsule/resource_check.hpp"
#include "files/strict_json.hpp"
#include "model/json_view.hpp"

namespace vcap {
namespace {

constexpr int kIndexVersion = 1;

CacheIndex::Entry read_index_entry(const JsonView& json) {
  const JsonView size = json["size"];
  if (!size.value().is_number_unsigned() || size.value().get<std::uint64_t>() > kLargestResource)
    size.fail("a whole number from 0 to " + std::to_string(kLargestResource));
  const JsonView last_use = json["last_use"];
  // Later uses need room above it.
  constexpr std::int64_t kLatest = std::int64_t{1} << 53;
  if (last_use.integer() < 0 || last_use.integer() > kLatest)
    last_use.fail("a time from 0 to " + std::to_string(kLatest));
  return {.size = size.value().get<std::uint64_t>(), .last_use = last_use.integer()};
}

}  // namespace

std::uint64_t CacheIndex::total_size() const {
  std::uint64_t sum = 0;
  for (const auto& [sha256, entry] : entries) sum += entry.size;
  return sum;
}

void CacheIndex::use(const std::string& sha256, std::uint64_t size, std::int64_t now) {
  std::int64_t latest = 0;
  for (const auto& [other, entry] : entries)
    if (other != sha256) latest = std::max(latest, entry.last_use);
  entries[sha256] = {.size = size, .last_use = std::max(now, latest + 1)};
}

std::vector<std::string> CacheIndex::oldest_first() const {
  std::vector<std::string> names;
  for (const auto& [sha256, entry] : entries) names.push_back(sha256);
  std::ranges::stable_sort(names, {},
                           [this](const std::string& name) { return entries.at(name).last_use; });
  return names;
}

CacheIndex read_cache_index(std::span<const std::byte> bytes) {
  const nlohmann::json json =
      parse_strictly({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const JsonView view(json);
  if (view["version"].integer() != kIndexVersion) view["version"].fail("1");
  CacheIndex index;
  for (const auto& [sha256, entry] : view["entries"].fields()) {
    if (!is_sha256(sha256)) entry.complain("its name is not a SHA-256");
    index.entries.emplace(sha256, read_index_entry(entry));
  }
  return index;
}

std::string cache_index_text(const CacheIndex& index) {
  nlohmann::json entries = nlohmann::json::object();
  for (const auto& [sha256, entry] : index.entries)
    entries[sha256] = {{"size", entry.size}, {"last_use", entry.last_use}};
  return nlohmann::json{{"version", kIndexVersion}, {"entries", std::move(entries)}}.dump(1) + "\n";
}

CacheIndex reconciled(const CacheIndex& index, const std::vector<CachedFile>& folder) {
  CacheIndex result;
  for (const CachedFile& file : folder) {
    const auto known = index.entries.find(file.sha256);
    const bool is_known = known != index.entries.end();
    CacheIndex::Entry& entry = result.entries[file.sha256];
    const std::uint64_t size =
        file.is_part && is_known ? std::max(file.size, known->second.size) : file.size;
    entry.size += size;
    entry.last_use = std::max(entry.last_use, is_known ? known->second.last_use
                                                       : std::max<std::int64_t>(file.modified, 0));
  }
  return result;
}

}  // namespace vcap
