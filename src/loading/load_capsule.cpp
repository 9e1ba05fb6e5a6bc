// SPDX-License-Identifier: Apache-2.0
#include "vcap/loading/load_capsule.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "capsule/config_schema.hpp"
#include "capsule/host_guard.hpp"
#include "loading/capsule_code.hpp"
#include "loading/capsule_layout.hpp"
#include "loading/load_stage.hpp"
#include "loading/open_capsule.hpp"
#include "loading/plugin/plugin.hpp"
#include "loading/plugin/plugin_library.hpp"
#include "loading/resources.hpp"
#include "loading/resources/resource_scope.hpp"
#include "loading/run_isolated.hpp"
#include "vcap/base/abi.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// The library for this host, with its ABI checked.
const Manifest::Library& library_for_host(const OpenedCapsule& opened) {
  const auto& libraries = opened.manifest().libraries;
  const auto found = std::ranges::find(libraries, platform(), &Manifest::Library::platform);
  if (found == libraries.end()) {
    std::vector<std::string_view> platforms;
    platforms.reserve(libraries.size());
    for (const Manifest::Library& library : libraries) platforms.emplace_back(library.platform);
    throw IncompatibleCapsuleError(ErrorCode::unsupported_platform,
                                   opened.name() + " has no library for this host, " +
                                       quote(platform()) + ", only for " + quote_list(platforms) +
                                       "; build it for this host and pack it again");
  }
  check_abi_tag(found->abi_tag, opened.name() + ": entry " + quote(found->path), found->path);
  return *found;
}

/// The arguments for loading that library, which refer to `opened`.
PluginLibrary plugin_library(const OpenedCapsule& opened, const Manifest::Library& library,
                             const ArchiveLimits& limits) {
  const std::string subject = opened.name() + ": entry " + quote(library.path);
  // Before it is copied into memory.
  if (const std::uint64_t size = opened.size_of(library.path); size > limits.library_bytes)
    throw InvalidCapsuleError(ErrorCode::limit_exceeded,
                              subject + " has " + std::to_string(size) + " bytes; " +
                                  std::to_string(limits.library_bytes) +
                                  " are allowed (ArchiveLimits::library_bytes)",
                              library.path);
  const auto file = std::ranges::find(opened.manifest().files, library.path, &Manifest::File::path);
  return {.read_blocks = [&opened, path = library.path](
                             const TakeBlock& take) { opened.for_each_block(path, take); },
          .sha256 = file->sha256,
          .capsule = opened.manifest().info.name,
          .entry = library.path,
          .subject = subject};
}

/// The resources' files; empty without inference mode, which uses no file of the capsule.
std::vector<NamedResource> resources_of(const OpenedCapsule& opened, const LoadOptions& options) {
  if (!options.inference_mode) return {};
  return at_stage(LoadStage::resources, [&] {
    return obtain_resources(opened.manifest().info.resources, opened.name(), options.resources);
  });
}

Plugin load_plugin(const OpenedCapsule& opened, const Manifest::Library& chosen,
                   const ArchiveLimits& limits) {
  const PluginLibrary library =
      at_stage(LoadStage::library, [&] { return plugin_library(opened, chosen, limits); });
  const PluginEntry entry =
      at_stage(LoadStage::library, [&] { return load_plugin_library(library); });
  return at_stage(LoadStage::entry, [&] { return Plugin(entry, library.entry, library.subject); });
}

/// The description in the code must equal that in the manifest, which hosts rely on.
CapsuleInfo checked_info(const Plugin& plugin, const OpenedCapsule& opened) {
  CapsuleInfo info = plugin.info();
  const nlohmann::json in_code = info;
  const nlohmann::json in_manifest = opened.manifest().info;
  if (in_code == in_manifest) return info;
  const nlohmann::json change = nlohmann::json::diff(in_manifest, in_code).at(0);
  throw InvalidCapsuleError(
      ErrorCode::invalid_capsule_info,
      opened.name() + ": capsule.json and the library's info() differ at /info" +
          change.at("path").get<std::string>() + "; create the capsule again with `vcap pack`",
      std::string(kManifestName));
}

/// Runs the capsule's first code, including constructors of the library's static objects. One guard
/// for all of it, since each guard reads the whole state of the process twice.
CapsuleCode run_library(const OpenedCapsule& opened, const Manifest::Library& library,
                        const ArchiveLimits& limits) {
  const detail::HostGuard guard(opened.name());
  const Plugin plugin = load_plugin(opened, library, limits);
  CapsuleInfo info = at_stage(LoadStage::description, [&] { return checked_info(plugin, opened); });
  return {.info = std::move(info),
          .author = at_stage(LoadStage::backends, [&] { return plugin.create(); })};
}

std::vector<std::string> devices_to_choose_from(const LoadOptions& options) {
  std::vector<std::string> names = options.devices;
  if (names.empty() && options.inference_mode && !options.device_providers.empty())
    for (Device& device : discover_devices(options.device_providers))
      names.push_back(std::move(device.name));
  return names;
}

std::shared_ptr<Capsule> load(const OpenedCapsule& opened, const LoadOptions& options) {
  check(options.outputs);
  // Before any code of the capsule runs; Capsule repeats it with the schema from the code.
  if (options.inference_mode || !options.config.empty())
    static_cast<void>(detail::completed_config(opened.manifest().info, options.config));
  opened.verify();
  const Manifest::Library& library = at_stage(
      LoadStage::platform, [&]() -> const Manifest::Library& { return library_for_host(opened); });
  // Also before its code: a missing resource should cost no more than a fetch.
  std::vector<NamedResource> resources = resources_of(opened, options);
  CapsuleCode code = run_isolated([&] { return run_library(opened, library, options.limits); });
  std::vector<std::string> devices =
      at_stage(LoadStage::devices, [&] { return devices_to_choose_from(options); });
  auto capsule = at_stage(LoadStage::backends, [&] {
    const ResourceScope scope(options.resources);  // for the author's fetch_resources()
    return std::make_shared<Capsule>(
        std::move(code.info), std::move(code.author),
        Capsule::Setup{.files = with_resources(opened.files(), std::move(resources)),
                       .config = options.config,
                       .devices = std::move(devices),
                       .batch = options.batch,
                       .stencil = options.stencil,
                       .inference_mode = options.inference_mode,
                       .outputs = options.outputs});
  });
  // Most engines have copied their model from the mapped file.
  opened.release_pages();
  return capsule;
}

}  // namespace

std::shared_ptr<Capsule> load_capsule(const std::string& path, const LoadOptions& options) {
  return load(open_capsule(path, options), options);
}

std::shared_ptr<Capsule> load_capsule(std::span<const std::byte> bytes,
                                      const LoadOptions& options) {
  return load(open_capsule(bytes, options), options);
}

Manifest read_manifest(const std::string& path, const ArchiveLimits& limits) {
  return read_manifest(path, options_with(limits));
}

Manifest read_manifest(const std::string& path, const LoadOptions& options) {
  return open_capsule(path, options).manifest();
}

void verify_capsule(const std::string& path, const ArchiveLimits& limits) {
  verify_capsule(path, options_with(limits));
}

void verify_capsule(const std::string& path, const LoadOptions& options) {
  open_capsule(path, options).verify();
}

}  // namespace vcap
