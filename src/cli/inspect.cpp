// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <variant>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "capsule/describe_operation.hpp"
#include "cli/access_options.hpp"
#include "cli/commands.hpp"
#include "cli/describe.hpp"
#include "cli/exit_code.hpp"
#include "vcap/base/abi.hpp"
#include "vcap/base/error.hpp"
#include "vcap/loading/manifest.hpp"

namespace vcap::cli {
namespace {

std::string devices_of(const CapsuleInfo& info) {
  if (!info.device_set) return info.device_mapper.name();
  return "sets of " + detail::set_text(*info.device_set) + "; this machine has " +
         detail::division_text(divide_devices(*info.device_set), *info.device_set);
}

void print_schema(const char* title, const nlohmann::json& schema, std::ostream& out) {
  if (schema.is_null()) return;
  out << title << '\n';
  for (const std::string& line : describe_properties(schema)) out << "  " << line << '\n';
}

struct InspectArguments {
  std::string capsule;
  bool as_json = false;
  bool verify = false;
  AccessArguments access;
};

/// Whether this machine could load that library, and if not, why.
std::string fitness(const Manifest::Library& library) {
  if (library.platform != platform())
    return "for another platform; this machine is " + std::string(platform());
  if (library.abi_tag != abi_tag())
    return "built against another ABI; this vcap has " + std::string(abi_tag());
  return "fits this machine";
}

void print_pictures(const char* title, const std::vector<PictureDescription>& pictures,
                    std::ostream& out) {
  for (const PictureDescription& picture : pictures)
    out << title << "picture " << to_string(picture) << '\n';
}

void print_options(const Options& options, std::ostream& out) {
  for (const auto& [name, option] : options) {
    const nlohmann::json schema = option_schema(name, option);
    out << "  " << name << ": " << describe(option);
    if (schema.contains("description") &&
        !schema["description"].get_ref<const std::string&>().empty())
      out << "  " << schema["description"].get<std::string>();
    out << '\n';
  }
}

void print(const Manifest& manifest, std::ostream& out) {
  const CapsuleInfo& info = manifest.info;
  out << info.name << " version " << info.version << '\n';
  if (!info.description.empty()) out << info.description << '\n';
  out << "takes     " << describe(info.input_type) << '\n'
      << "gives     " << describe(info.output_type) << '\n';
  print_pictures("takes     ", info.takes_pictures, out);
  print_pictures("gives     ", info.gives_pictures, out);
  out << "state     " << detail::describe_state(info) << '\n';
  if (info.stencil) out << "window    " << detail::describe_stencil(*info.stencil) << '\n';
  if (info.batch) out << "batches   " << detail::describe_batch(*info.batch) << '\n';
  if (info.max_concurrent_calls)
    out << "calls     at most " << *info.max_concurrent_calls << " at once\n";
  out << "devices   " << devices_of(info) << '\n';
  if (info.recognition_threshold)
    out << "matches   up to a distance of " << *info.recognition_threshold << '\n';
  out << "format    " << manifest.format_version << ", plugin API " << manifest.api_version << '\n';
  if (!info.options.empty()) out << "options\n";
  print_options(info.options, out);
  print_schema("config, given when it is loaded", info.config_schema, out);
  print_schema("config of a stream", info.stream_config_schema, out);
  if (!info.resources.empty()) out << "resources, fetched when it is loaded\n";
  for (const Resource& resource : info.resources)
    out << "  " << resource.name << "  " << resource.size << " bytes  sha256 " << resource.sha256
        << "  " << resource.url << '\n';
  out << "libraries\n";
  for (const Manifest::Library& library : manifest.libraries)
    out << "  " << library.platform << ": " << library.abi_tag << " (" << fitness(library) << ")\n";
  if (!manifest.unknown.empty()) out << "unknown   fields, which this vcap ignores\n";
  for (const auto& [pointer, value] : manifest.unknown) out << "  " << pointer << '\n';
  out << "files\n";
  for (const Manifest::File& file : manifest.files)
    out << "  " << file.path << "  " << file.size << " bytes  sha256 " << file.sha256 << '\n';
}

/// The same as the message, for programs.
nlohmann::json json_of(const Error& error) {
  nlohmann::json json = {{"code", static_cast<int>(error.code())},
                         {"name", to_string(error.code())},
                         {"detail", error.what()}};
  if (const auto* load = dynamic_cast<const CapsuleLoadError*>(&error)) {
    if (load->stage()) json["stage"] = to_string(*load->stage());
    if (!load->entry().empty()) json["entry"] = load->entry();
  }
  return {{"error", std::move(json)}};
}

int inspect(const InspectArguments& arguments) {
  const LoadOptions access = read_access(arguments.access);
  const Manifest manifest = read_manifest(arguments.capsule, access);
  // First, so that nothing is printed about a capsule that fails verification.
  if (arguments.verify) verify_capsule(arguments.capsule, access);
  if (arguments.as_json) {
    std::cout << nlohmann::json(manifest).dump(2) << '\n';
    return kDone;
  }
  // Text from other people must not reach the terminal's control sequences.
  std::stringstream text;
  print(manifest, text);
  for (std::string line; std::getline(text, line);) std::cout << printable(line) << '\n';
  if (arguments.verify)
    std::cout << "verified: size and SHA-256 of "
              << (manifest.files.size() == 1
                      ? "its only file match"
                      : "all " + counted(manifest.files.size(), "file") + " match")
              << " the manifest\n";
  return kDone;
}

}  // namespace

void add_inspect(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<InspectArguments>();
  CLI::App* command =
      app.add_subcommand("inspect", "Shows the description of a capsule; runs none of its code");
  command->add_option("capsule", arguments->capsule, "The capsule")->required();
  command->add_flag("--json", arguments->as_json,
                    "The manifest as JSON; for an invalid capsule, the error: code, stage, entry, "
                    "detail");
  command->add_flag("--verify", arguments->verify,
                    "Checks every file against the manifest's size and SHA-256");
  add_access_options(*command, arguments->access);
  command->callback([arguments, &chosen] {
    chosen = [arguments] {
      try {
        return inspect(*arguments);
      } catch (const Error& error) {
        if (arguments->as_json)
          std::cout << json_of(error).dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
                    << '\n';
        throw;
      }
    };
  });
}

}  // namespace vcap::cli
