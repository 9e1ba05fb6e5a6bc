// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>
#include <string>
#include <variant>

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/describe.hpp"
#include "cli/exit_code.hpp"
#include "vcap/base/abi.hpp"
#include "vcap/loading/manifest.hpp"

namespace vcap::cli {
namespace {

struct InspectArguments {
  std::string capsule;
  bool as_json = false;
  bool verify = false;
};

/// Whether this machine could load that library, and if not, why.
std::string fitness(const Manifest::Library& library) {
  if (library.platform != platform())
    return "for another platform; this machine is " + std::string(platform());
  if (library.abi_tag != abi_tag())
    return "built against another ABI; this vcap has " + std::string(abi_tag());
  return "fits this machine";
}

void print_options(const Options& options) {
  for (const auto& [name, option] : options) {
    const nlohmann::json schema = option_schema(name, option);
    std::cout << "  " << name << ": " << describe(option);
    if (schema.contains("description") && schema["description"] != "")
      std::cout << "  " << schema["description"].get<std::string>();
    std::cout << '\n';
  }
}

void print(const Manifest& manifest) {
  const CapsuleInfo& info = manifest.info;
  std::cout << info.name << " version " << info.version << '\n';
  if (!info.description.empty()) std::cout << info.description << '\n';
  std::cout << "takes     " << describe(info.input_type) << '\n'
            << "gives     " << describe(info.output_type) << '\n'
            << "state     " << (info.stream_state ? "kept for each stream" : "none") << '\n'
            << "devices   " << info.device_mapper.name() << '\n';
  if (info.recognition_threshold)
    std::cout << "matches   up to a distance of " << *info.recognition_threshold << '\n';
  std::cout << "format    " << manifest.format_version << ", plugin API " << manifest.api_version
            << '\n';
  if (!info.options.empty()) std::cout << "options\n";
  print_options(info.options);
  if (!info.resources.empty()) std::cout << "resources, fetched where it is loaded\n";
  for (const Resource& resource : info.resources)
    std::cout << "  " << resource.name << "  " << resource.size << " bytes  sha256 "
              << resource.sha256 << "  " << resource.url << '\n';
  std::cout << "libraries\n";
  for (const Manifest::Library& library : manifest.libraries)
    std::cout << "  " << library.platform << ": " << library.abi_tag << " (" << fitness(library)
              << ")\n";
  std::cout << "files\n";
  for (const Manifest::File& file : manifest.files)
    std::cout << "  " << file.path << "  " << file.size << " bytes  sha256 " << file.sha256 << '\n';
}

int inspect(const InspectArguments& arguments) {
  const Manifest manifest = read_manifest(arguments.capsule);
  // First, so that nothing is printed of a capsule that is not what it says.
  if (arguments.verify) verify_capsule(arguments.capsule);
  if (arguments.as_json) {
    std::cout << nlohmann::json(manifest).dump(2) << '\n';
    return kDone;
  }
  print(manifest);
  if (arguments.verify)
    std::cout << "verified: size and SHA-256 of all " << manifest.files.size()
              << " files are as the manifest says\n";
  return kDone;
}

}  // namespace

void add_inspect(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<InspectArguments>();
  CLI::App* command =
      app.add_subcommand("inspect", "Shows what a capsule says of itself; runs none of its code");
  command->add_option("capsule", arguments->capsule, "The capsule")->required();
  command->add_flag("--json", arguments->as_json, "The manifest as JSON");
  command->add_flag("--verify", arguments->verify,
                    "Check every file against the manifest's size and SHA-256");
  command->callback([arguments, &chosen] { chosen = [arguments] { return inspect(*arguments); }; });
}

}  // namespace vcap::cli
