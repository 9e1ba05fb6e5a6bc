// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>

#include "files/digest.hpp"
#include "loading/plugins/fixture.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"
#include "support/zip_writer.hpp"
#include "vcap/base/abi.hpp"
#include "vcap/base/version.hpp"

namespace vcap::test {

inline std::string plugin_path(const std::string& plugin) {
  return test::built("tests/loading/plugins/") + plugin + ".so";
}
/// A frame of one black pixel.
inline Frame small_frame() { return {.image = cv::Mat(1, 1, CV_8UC3, cv::Scalar::all(0))}; }
inline std::string library_entry() { return "lib/" + std::string(platform()) + "/capsule.so"; }

/// Makes capsules without the packager, so that they can have any fault. Without changes, the
/// capsule is sound.
class CapsuleBuilder {
 public:
  /// A capsule with a fixture's library, described by fixture::info("fixture").
  explicit CapsuleBuilder(const std::string& plugin = "good")
      : CapsuleBuilder(read_file(plugin_path(plugin)), fixture::info("fixture")) {}

  CapsuleBuilder(const std::string& library, const CapsuleInfo& info) {
    manifest = {{"format_version", 1},
                {"api_version", kApiVersion},
                {"info", info},
                {"libraries",
                 {{{"platform", platform()}, {"path", library_entry()}, {"abi_tag", abi_tag()}}}}};
    files[library_entry()] = library;
  }

  CapsuleBuilder& file(const std::string& name, const std::string& content) {
    files[name] = content;
    return *this;
  }
  CapsuleBuilder& set(const std::string& pointer, nlohmann::json value) {
    manifest[nlohmann::json::json_pointer(pointer)] = std::move(value);
    return *this;
  }

  /// The manifest with a correct list of the current files.
  nlohmann::json listed() const {
    nlohmann::json complete = manifest;
    complete["files"] = nlohmann::json::array();
    for (const auto& [name, content] : files)
      complete["files"].push_back({{"path", name},
                                   {"size", content.size()},
                                   {"sha256", sha256(std::as_bytes(std::span(content)))}});
    return complete;
  }

  /// The capsule with the given text as its manifest.
  std::string bytes_with(const std::string& manifest_text) const {
    std::vector<ZipEntry> entries{stored_entry("capsule.json", manifest_text)};
    for (const auto& [name, content] : files) entries.push_back(stored_entry(name, content));
    return zip_bytes(entries);
  }
  std::string bytes() const { return bytes_with(listed().dump(2)); }

  nlohmann::json manifest;
  std::map<std::string, std::string> files;
};

}  // namespace vcap::test
