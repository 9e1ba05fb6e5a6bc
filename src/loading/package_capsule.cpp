// SPDX-License-Identifier: Apache-2.0
#include "vcap/loading/package_capsule.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "capsule/host_guard.hpp"
#include "files/digest.hpp"
#include "files/entry_name.hpp"
#include "files/mapped_file.hpp"
#include "files/output_file.hpp"
#include "loading/archive/archive_writer.hpp"
#include "loading/capsule_layout.hpp"
#include "loading/crypto/encryption.hpp"
#include "loading/manifest_reader.hpp"
#include "loading/plugin/elf_library.hpp"
#include "loading/plugin/plugin.hpp"
#include "loading/plugin/plugin_library.hpp"
#include "vcap/base/abi.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/version.hpp"

namespace vcap {
namespace {

/// A file that goes into the capsule.
struct Input {
  std::filesystem::path path{};
  std::shared_ptr<const MappedFile> content{};
  Fingerprint fingerprint{};
};
using Inputs = std::map<std::string, Input>;  ///< by name in the capsule, in the archive's order

[[noreturn]] void refuse(const std::string& message) {
  throw InvalidArgument(ErrorCode::invalid_argument, message);
}

void check_names(const PackageContents& contents) {
  for (const auto& [platform_name, path] : contents.libraries)
    if (!is_platform_name(platform_name))
      refuse(
          "platform " + quote(platform_name) +
          " does not have the form of \"linux-x86_64\": lower-case letters, digits, '-' and '_'");
  if (!contents.libraries.contains(std::string(platform()))) {
    std::vector<std::string_view> given;
    for (const auto& [platform_name, path] : contents.libraries) given.emplace_back(platform_name);
    refuse("no library for this machine, " + quote(platform()) + ", only for " + quote_list(given) +
           "; give one, since packing runs its code to get the description");
  }
  std::vector<std::string_view> names;
  for (const auto& [name, path] : contents.files) {
    if (const std::string fault = entry_name_fault(name); !fault.empty())
      refuse("the name " + quote(name) + " in a capsule " + fault + "; give another name");
    names.emplace_back(name);
    if (is_below_library_folder(name))
      refuse("the name " + quote(name) +
             " is reserved for the loader, like everything below lib/; give another name");
  }
  names.push_back(kManifestName);
  if (const std::string fault = entry_names_fault(names); !fault.empty())
    refuse("names in a capsule: " + fault +
           "; give other names (capsule.json is reserved for the manifest)");
}

Input read_input(const std::filesystem::path& path) {
  try {
    auto content = MappedFile::open(path);
    Fingerprint print = fingerprint(content->bytes());
    return {.path = path, .content = std::move(content), .fingerprint = std::move(print)};
  } catch (const std::system_error& error) {
    refuse("file " + quote(path.native()) + " cannot be packed: " + error.code().message() +
           "; check the path");
  }
}

Inputs read_inputs(const PackageContents& contents) {
  Inputs inputs;
  for (const auto& [platform_name, path] : contents.libraries) {
    Input input = read_input(path);
    const std::string entry = library_path(platform_name);
    static_cast<void>(
        check_elf_library(input.content->bytes(), platform_name, "library " + quote(path), entry));
    inputs.emplace(entry, std::move(input));
  }
  for (const auto& [name, path] : contents.files) inputs.emplace(name, read_input(path));
  return inputs;
}

/// The ABI tag of a library that this machine cannot run; VCAP_CAPSULE puts it there as text.
std::string find_abi_tag(const Input& library) {
  constexpr std::string_view kBegin = "vcap";
  constexpr std::string_view kSecond = "-gxxabi";
  constexpr std::size_t kLongestVersion = 16;
  const auto bytes = library.content->bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::optional<std::string_view> found;
  for (std::size_t at = text.find(kBegin); at != text.npos; at = text.find(kBegin, at + 1)) {
    const std::string_view rest = text.substr(at);
    const std::size_t second = rest.substr(0, kLongestVersion).find(kSecond);
    const std::size_t end = rest.find('\0');
    if (second == rest.npos || end == rest.npos) continue;
    const std::string_view tag = rest.substr(0, end);
    if (found && *found != tag)
      refuse("library " + quote(library.path.native()) + " has two ABI tags, " + quote(*found) +
             " and " + quote(tag) + "; link it from sources built with one version of vcap");
    found = tag;
  }
  if (!found)
    refuse("library " + quote(library.path.native()) +
           " has no ABI tag; write VCAP_CAPSULE(YourCapsule) in one of its sources");
  return std::string(*found);
}

Manifest make_manifest(const PackageContents& contents, const Inputs& inputs) {
  Manifest manifest{.api_version = kApiVersion};
  for (const auto& [platform_name, path] : contents.libraries) {
    const std::string entry_path = library_path(platform_name);
    const Input& input = inputs.at(entry_path);
    Manifest::Library library{.platform = platform_name, .path = entry_path};
    if (platform_name == platform()) {
      const std::string subject = "library " + quote(path);
      const detail::HostGuard guard(subject);
      const Plugin plugin(
          load_plugin_library({.bytes = input.content->bytes(),
                               .sha256 = input.fingerprint.sha256,
                               .capsule = std::filesystem::path(path).stem().native(),
                               .entry = entry_path,
                               .subject = subject}),
          entry_path, subject);
      manifest.info = plugin.info();
      library.abi_tag = plugin.abi_tag();
    } else {
      library.abi_tag = find_abi_tag(input);
    }
    manifest.libraries.push_back(std::move(library));
  }
  for (const auto& [name, input] : inputs)
    manifest.files.push_back(
        {.path = name, .size = input.content->bytes().size(), .sha256 = input.fingerprint.sha256});
  return manifest;
}

/// Reads the manifest as a host will, so that nothing is packed that cannot be loaded.
void check_manifest(std::span<const std::byte> text, const std::filesystem::path& output) {
  static_cast<void>(read_manifest_text(text, "capsule file " + quote(output.native())));
  if (text.size() > ArchiveLimits{}.manifest_bytes)
    refuse("the description of capsule file " + quote(output.native()) + " has " +
           std::to_string(text.size()) + " bytes as JSON; at most " +
           std::to_string(ArchiveLimits{}.manifest_bytes) + " are allowed");
}

}  // namespace

Manifest package_capsule(const PackageContents& contents, const std::string& output,
                         const PackageOptions& options) {
  check_names(contents);
  const Inputs inputs = read_inputs(contents);
  Manifest manifest = make_manifest(contents, inputs);
  const std::string text = nlohmann::json(manifest).dump(2) + "\n";
  const auto text_bytes = std::as_bytes(std::span(text));
  check_manifest(text_bytes, output);

  OutputFile file(output, OutputFile::Target::regular_file);
  const auto to_file = [&file](ArchiveWriter::Bytes bytes) { file.write(bytes); };
  std::optional<EncryptingWriter> encryption;
  if (options.key) encryption.emplace(to_file, *options.key);
  ArchiveWriter archive(
      [&](ArchiveWriter::Bytes bytes) { encryption ? encryption->write(bytes) : to_file(bytes); });
  // First, so that it is also at the start of the file.
  archive.add(kManifestName, text_bytes, crc32(text_bytes));
  for (const auto& [name, input] : inputs)
    archive.add(name, input.content->bytes(), input.fingerprint.crc32);
  archive.finish();
  if (encryption) encryption->finish();
  file.commit();
  return manifest;
}

}  // namespace vcap
