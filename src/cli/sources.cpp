// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/exit_code.hpp"
#include "cli/source_arguments.hpp"
#include "vcap/base/error.hpp"
#include "vcap/sources/source.hpp"
#include "vcap/sources/webcam.hpp"

namespace vcap::cli {
namespace {

struct SourcesArguments {
  std::vector<std::string> names;
  bool as_json = false;
  bool hwaccel = false;
};

int list_webcams_here(bool as_json) {
  nlohmann::json list = nlohmann::json::array();
  std::string text;
  for (const Webcam& webcam : list_webcams()) {
    const std::string name = std::to_string(webcam.index);
    nlohmann::json entry{{"source", name}, {"device", "/dev/video" + name}, {"live", true}};
    text += name + "  /dev/video" + name;
    if (!webcam.description.empty()) {
      entry["description"] = webcam.description;
      text += "  " + printable(webcam.description);
    }
    text += '\n';
    list.push_back(std::move(entry));
  }
  if (as_json)
    std::cout << list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  else
    std::cout << (text.empty() ? "no webcams\n" : text);
  return kDone;
}

/// Unknown values are left out.
nlohmann::json to_json(const SourceInfo& info) {
  nlohmann::json json{{"source", info.description}, {"live", info.live}};
  if (!info.size.empty()) json["size"] = {{"width", info.size.width}, {"height", info.size.height}};
  if (info.frames_per_second > 0) json["frames_per_second"] = info.frames_per_second;
  if (info.frames) json["frames"] = *info.frames;
  if (!info.codec.empty()) json["codec"] = info.codec;
  if (!info.decoder.empty()) json["decoder"] = info.decoder;
  return json;
}

std::string to_text(const SourceInfo& info) {
  std::string text = printable(info.description) + ": " + (info.live ? "live" : "stored");
  if (!info.size.empty())
    text += ", " + std::to_string(info.size.width) + " x " + std::to_string(info.size.height);
  if (info.frames_per_second > 0) text += ", " + number_text(info.frames_per_second) + " frames/s";
  if (info.frames) text += ", " + counted(*info.frames, "frame");
  if (!info.codec.empty()) text += ", " + info.codec;
  if (info.decoder != info.codec) text += ", decoded by " + info.decoder;
  return text;
}

/// Tries all; the exit code is that of the first that fails.
int probe(const SourcesArguments& arguments) {
  int exit_code = kDone;
  nlohmann::json list = nlohmann::json::array();
  SourceOptions options;
  if (arguments.hwaccel) options.hardware = HardwareDecoding::automatic;
  for (const std::string& name : arguments.names) {
    try {
      const SourceInfo info = open_source(name, options)->info();
      if (arguments.as_json)
        list.push_back(to_json(info));
      else
        std::cout << to_text(info) << '\n';
    } catch (const Error& error) {
      Console::shared().line(std::string("vcap: ") + error.what());
      list.push_back({{"error", {{"code", to_string(error.code())}, {"message", error.what()}}}});
      if (exit_code == kDone) exit_code = exit_code_of(error);
    }
  }
  if (arguments.as_json)
    std::cout << list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  return exit_code;
}

}  // namespace

void add_sources(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<SourcesArguments>();
  CLI::App* command =
      app.add_subcommand("sources", "Lists this machine's webcams, or describes sources");
  command
      ->add_option("name", arguments->names,
                   "A file, a webcam's index, a URL, a folder of images or a glob of images, which "
                   "is opened and described")
      ->type_name("SOURCE");
  command->add_flag("--json", arguments->as_json, "As a JSON array, in the order of the names");
  SourceArguments::add_hwaccel_to(*command, arguments->hwaccel);
  command->footer(kExitCodesHelp);
  command->callback([arguments, &chosen] {
    chosen = [arguments] {
      return arguments->names.empty() ? list_webcams_here(arguments->as_json) : probe(*arguments);
    };
  });
}

}  // namespace vcap::cli
