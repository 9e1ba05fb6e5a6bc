// SPDX-License-Identifier: Apache-2.0
#include "cli/capsule_settings.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "cli/exit_code.hpp"

namespace vcap::cli {
namespace {

const CapsuleInfo& find(const std::vector<CapsuleInfo>& capsules, const std::string& name,
                        const std::string& argument) {
  const auto found = std::find_if(capsules.begin(), capsules.end(),
                                  [&name](const CapsuleInfo& info) { return info.name == name; });
  if (found != capsules.end()) return *found;
  std::string names;
  for (const CapsuleInfo& info : capsules) names += (names.empty() ? "" : ", ") + info.name;
  throw UsageError(argument + ": no capsule is called \"" + name + "\"; there is " + names);
}

void read_option(const std::vector<CapsuleInfo>& capsules, const std::string& text,
                 const std::string& argument, CapsuleSettings& settings) {
  const auto equals = text.find('=');
  const auto dot = text.find('.');
  if (equals == std::string::npos || dot == std::string::npos || dot > equals)
    throw UsageError(argument + ": write capsule.name=value, such as detector.threshold=0.7");
  const CapsuleInfo& capsule = find(capsules, text.substr(0, dot), argument);
  const auto values =
      settings.options
          .try_emplace(capsule.name, OptionValues(capsule.options, "capsule " + capsule.name))
          .first;
  values->second.set_from_text(text.substr(dot + 1, equals - dot - 1), text.substr(equals + 1));
}

std::string read_whole(const std::string& path, const std::string& argument) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) throw UsageError(argument + ": cannot read the file " + path);
  return text;
}

void read_config(const std::vector<CapsuleInfo>& capsules, const std::string& text,
                 CapsuleSettings& settings) {
  const std::string argument = "--config " + text;
  const auto equals = text.find('=');
  if (equals == std::string::npos)
    throw UsageError(argument + ": write capsule=JSON, or capsule=@file");
  const CapsuleInfo& capsule = find(capsules, text.substr(0, equals), argument);
  std::string value = text.substr(equals + 1);
  if (value.starts_with('@')) value = read_whole(value.substr(1), argument);

  nlohmann::json config;
  try {
    config = nlohmann::json::parse(value);
  } catch (const nlohmann::json::parse_error& error) {
    throw UsageError(argument + ": this is not JSON: " + error.what());
  }
  if (!config.is_object())
    throw UsageError(argument + ": this is JSON of type " + config.type_name() +
                     "; a capsule's config is an object, such as {\"model\":\"small\"}");
  if (!settings.config.emplace(capsule.name, std::move(config)).second)
    throw UsageError(argument + ": capsule " + capsule.name +
                     " has a config already; give one for each capsule");
}

StreamSettings& find(std::map<std::string, StreamSettings>& streams, const std::string& id,
                     const std::string& argument) {
  const auto found = streams.find(id);
  if (found != streams.end()) return found->second;
  std::string ids;
  for (const auto& [known, settings] : streams) ids += (ids.empty() ? "" : ", ") + known;
  throw UsageError(argument + ": there is no stream " + id + "; the streams are " + ids);
}

}  // namespace

CapsuleSettings read_settings(const std::vector<CapsuleInfo>& capsules,
                              const std::vector<std::string>& options,
                              const std::vector<std::string>& configs) {
  CapsuleSettings settings;
  for (const std::string& option : options)
    read_option(capsules, option, "--option " + option, settings);
  for (const std::string& config : configs) read_config(capsules, config, settings);
  return settings;
}

std::map<std::string, StreamSettings> read_stream_settings(
    const std::vector<std::string>& streams, const std::vector<CapsuleInfo>& capsules,
    const CapsuleSettings& settings, const std::vector<std::string>& options,
    const std::vector<std::string>& choices) {
  std::map<std::string, StreamSettings> all;
  for (const std::string& id : streams) all[id].options = settings.options;
  for (const std::string& text : options) {
    // A stream's name may hold anything, a capsule's and an option's no colon.
    const std::string argument = "--stream-option " + text;
    const std::size_t colon = text.substr(0, text.find('=')).rfind(':');
    if (colon == std::string::npos)
      throw UsageError(argument + ": write stream:capsule.name=value");
    StreamSettings& stream = find(all, text.substr(0, colon), argument);
    CapsuleSettings own{.options = std::move(stream.options), .config = {}};
    read_option(capsules, text.substr(colon + 1), argument, own);
    stream.options = std::move(own.options);
  }
  for (const std::string& text : choices) {
    const std::string argument = "--stream-capsules " + text;
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos) throw UsageError(argument + ": write stream=capsule,capsule");
    auto& chosen = find(all, text.substr(0, equals), argument).capsules.emplace();
    std::istringstream names(text.substr(equals + 1));
    for (std::string name; std::getline(names, name, ',');)
      chosen.push_back(find(capsules, name, argument).name);
  }
  return all;
}

}  // namespace vcap::cli
