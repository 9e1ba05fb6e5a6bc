// SPDX-License-Identifier: Apache-2.0
#include "vcap/loading/manifest.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "capsule/capsule_info_json.hpp"
#include "files/entry_name.hpp"
#include "loading/capsule_layout.hpp"
#include "loading/manifest_reader.hpp"
#include "model/json_view.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

int positive_int(const JsonView& view) {
  const std::int64_t value = view.integer();
  if (value < 1 || value > std::numeric_limits<int>::max())
    view.fail("a whole number from 1 to " + std::to_string(std::numeric_limits<int>::max()));
  return static_cast<int>(value);
}

Manifest::Library read_library(const JsonView& view) {
  Manifest::Library library{.platform = view["platform"].text(),
                            .path = view["path"].text(),
                            .abi_tag = view["abi_tag"].text()};
  if (!is_platform_name(library.platform))
    view["platform"].fail("a platform such as \"linux-x86_64\"");
  if (library.path != library_path(library.platform))
    view["path"].fail(quote(library_path(library.platform)));
  if (library.abi_tag.empty()) view["abi_tag"].fail("a tag");
  return library;
}

Manifest::File read_file(const JsonView& view) {
  Manifest::File file{.path = view["path"].text(), .sha256 = view["sha256"].text()};
  if (const std::string fault = entry_name_fault(file.path); !fault.empty())
    view["path"].complain("the name " + quote(file.path) + " " + fault);
  if (file.path == kManifestName) view["path"].complain("the manifest cannot list itself");
  // The parser distinguishes signed and unsigned numbers.
  const JsonView size = view["size"];
  if (!size.value().is_number_unsigned()) size.fail("a whole number from 0");
  file.size = size.value().get<std::uint64_t>();
  const bool is_digest = file.sha256.size() == 64 &&
                         file.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_digest) view["sha256"].fail("a digest of 64 lower-case hexadecimal digits");
  return file;
}

/// Checks that names of resources and files differ, also on file systems that ignore case.
void check_resource_names(const JsonView& view, const Manifest& manifest,
                          std::vector<std::string_view> names) {
  if (manifest.info.resources.empty()) return;
  for (const Resource& resource : manifest.info.resources) names.emplace_back(resource.name);
  if (const std::string fault = entry_names_fault(names); !fault.empty())
    view["info"]["resources"].complain("names of files and resources: " + fault);
}

/// Checks that the two lists fit together; `view` is the whole manifest.
void check_lists(const JsonView& view, const Manifest& manifest) {
  std::vector<std::string_view> names;
  for (const Manifest::File& file : manifest.files) names.emplace_back(file.path);
  if (const std::string fault = entry_names_fault(names); !fault.empty())
    view["files"].complain(fault);
  check_resource_names(view, manifest, names);
  if (!std::is_sorted(names.begin(), names.end()))
    view["files"].complain("the files are not sorted by path");

  if (manifest.libraries.empty())
    view["libraries"].complain("a capsule needs at least one library");
  std::set<std::string_view> platforms;
  for (const Manifest::Library& library : manifest.libraries) {
    if (!platforms.insert(library.platform).second)
      view["libraries"].complain("the platform " + quote(library.platform) + " occurs twice");
    if (!std::binary_search(names.begin(), names.end(), library.path))
      view["files"].complain("the library " + quote(library.path) + " is missing");
  }
  for (const std::string_view name : names) {
    if (!is_below_library_folder(name)) continue;
    const bool is_library = std::any_of(manifest.libraries.begin(), manifest.libraries.end(),
                                        [&](const auto& library) { return library.path == name; });
    if (!is_library)
      view["files"].complain("the file " + quote(name) + " is below lib/ but is not a library");
  }
}

}  // namespace

std::string library_path(std::string_view platform) {
  return std::string(kLibraryFolder) + std::string(platform) + "/capsule.so";
}

bool is_platform_name(std::string_view name) {
  return !name.empty() &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == name.npos;
}

void to_json(nlohmann::json& out, const Manifest& manifest) {
  nlohmann::json libraries = nlohmann::json::array();
  for (const Manifest::Library& library : manifest.libraries)
    libraries.push_back(
        {{"platform", library.platform}, {"path", library.path}, {"abi_tag", library.abi_tag}});
  nlohmann::json files = nlohmann::json::array();
  for (const Manifest::File& file : manifest.files)
    files.push_back({{"path", file.path}, {"size", file.size}, {"sha256", file.sha256}});
  out = {{"format_version", manifest.format_version},
         {"api_version", manifest.api_version},
         {"info", manifest.info},
         {"libraries", std::move(libraries)},
         {"files", std::move(files)}};
  for (const auto& [pointer, value] : manifest.unknown)
    out[nlohmann::json::json_pointer(pointer)] = value;
}

void from_json(const nlohmann::json& in, Manifest& manifest) {
  const JsonView view(in);
  Manifest read;
  read.format_version = positive_int(view["format_version"]);
  read.api_version = positive_int(view["api_version"]);
  read.info = read_capsule_info(view["info"]);
  for (const JsonView& library : view["libraries"].elements())
    read.libraries.push_back(read_library(library));
  for (const JsonView& file : view["files"].elements()) read.files.push_back(read_file(file));
  check_lists(view, read);
  manifest = std::move(read);
}

}  // namespace vcap
