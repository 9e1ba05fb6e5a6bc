// SPDX-License-Identifier: Apache-2.0
#include "hostile/seeds.hpp"

#include <cstddef>

#include "hostile/hostile_case.hpp"
#include "hostile/sound_capsule.hpp"
#include "loading/archive_directory.hpp"

namespace vcap::test {
namespace {

constexpr std::size_t kLongest = 4096;

/// The first entry's bytes, which is capsule.json; it is stored in all cases of manifests.
std::string manifest_in(const std::string& capsule) {
  const auto entries = read_directory(std::as_bytes(std::span(capsule)), Limits{}, "seed");
  return capsule.substr(entries.front().data_offset, entries.front().packed_size);
}

}  // namespace

std::map<std::string, std::map<std::string, std::string>> fuzz_seeds() {
  std::map<std::string, std::map<std::string, std::string>> seeds;
  const auto add = [&](const std::string& kind, const std::string& name, std::string bytes) {
    if (bytes.size() <= kLongest) seeds[kind].emplace(name, std::move(bytes));
  };
  add("archive", "sound", zip_bytes(sound_entries()));
  add("manifest", "sound", sound_manifest());
  for (const HostileCase& one : archive_cases()) add("archive", one.name, one.bytes());
  for (const HostileCase& one : manifest_cases())
    add("manifest", one.name, manifest_in(one.bytes()));
  return seeds;
}

}  // namespace vcap::test
