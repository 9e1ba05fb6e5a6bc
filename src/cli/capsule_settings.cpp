// SPDX-License-Identifier: Apache-2.0
#include "cli/capsule_settings.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "capsule/config_schema.hpp"
#include "capsule/host_stencil.hpp"
#include "cli/exit_code.hpp"
#include "files/strict_json.hpp"
#include "vcap/base/error.hpp"

namespace vcap::cli {
namespace {

const CapsuleInfo& find(const std::vector<CapsuleInfo>& capsules, const std::string& name,
                        const std::string& argument) {
  const auto found = std::find_if(capsules.begin(), capsules.end(),
                                  [&name](const CapsuleInfo& info) { return info.name == name; });
  if (found != capsules.end()) return *found;
  std::string names;
  for (const CapsuleInfo& info : capsules) names += (names.empty() ? "" : ", ") + info.name;
  throw UsageError(argument + ": no capsule has the name \"" + name + "\"; the capsules are " +
                   names);
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
  std::ostringstream text;
  // A folder can be opened but not read.
  if (!file || !(text << file.rdbuf()))
    throw UsageError(argument + ": cannot read the file " + path + ", or it is empty");
  return text.str();
}

/// The object in "…=JSON" or "…=@file"; `equals` is the position of the first '='.
nlohmann::json read_object(const std::string& text, std::size_t equals,
                           const std::string& argument) {
  std::string value = text.substr(equals + 1);
  if (value.starts_with('@')) value = read_whole(value.substr(1), argument);
  nlohmann::json config;
  try {
    config = parse_strictly(value);
  } catch (const InvalidArgument& error) {
    throw UsageError(argument + ": the value is not JSON: " + error.what());
  }
  if (!config.is_object())
    throw UsageError(argument + ": the value is JSON of type " + config.type_name() +
                     "; a capsule's config is an object, such as {\"model\":\"small\"}");
  return config;
}

void read_config(const std::vector<CapsuleInfo>& capsules, const std::string& text,
                 CapsuleSettings& settings) {
  const std::string argument = "--config " + text;
  const auto equals = text.find('=');
  if (equals == std::string::npos)
    throw UsageError(argument + ": write capsule=JSON, or capsule=@file");
  const CapsuleInfo& capsule = find(capsules, text.substr(0, equals), argument);
  if (!settings.config.emplace(capsule.name, read_object(text, equals, argument)).second)
    throw UsageError(argument + ": capsule " + capsule.name +
                     " has a config already; give each capsule one config");
}

int read_offset(const std::string& text, const std::string& argument) {
  int offset = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), offset);
  if (error != std::errc() || end != text.data() + text.size())
    throw UsageError(argument + ": \"" + text +
                     "\" is not an offset; write whole numbers, such as -1,0,1");
  return offset;
}

StencilEdge read_edge(const std::string& text, const std::string& argument) {
  for (const StencilEdge edge : {StencilEdge::repeat, StencilEdge::null, StencilEdge::error})
    if (to_string(edge) == text) return edge;
  throw UsageError(argument + ": \"" + text +
                   "\" is not an edge; write repeat, null or error after the colon");
}

void read_stencil(const std::vector<CapsuleInfo>& capsules, const std::string& text,
                  CapsuleSettings& settings) {
  const std::string argument = "--stencil " + text;
  const auto equals = text.find('=');
  if (equals == std::string::npos)
    throw UsageError(argument + ": write capsule=offset,offset, such as motion=-1,0");
  const CapsuleInfo& capsule = find(capsules, text.substr(0, equals), argument);
  if (!capsule.stencil)
    throw UsageError(argument + ": capsule " + capsule.name +
                     " has no stencil: it takes single frames; leave this out");
  Stencil stencil{.edge = capsule.stencil->edge};
  const auto colon = text.find(':', equals);
  if (colon != std::string::npos) stencil.edge = read_edge(text.substr(colon + 1), argument);
  std::istringstream offsets(text.substr(equals + 1, colon - equals - 1));
  for (std::string offset; std::getline(offsets, offset, ',');)
    stencil.offsets.push_back(read_offset(offset, argument));
  try {
    static_cast<void>(with_stencil(capsule, stencil));
  } catch (const InvalidArgument& error) {
    throw UsageError(argument + ": " + error.what());
  }
  if (!settings.stencils.emplace(capsule.name, std::move(stencil)).second)
    throw UsageError(argument + ": capsule " + capsule.name +
                     " has a stencil already; give each capsule one");
}

void read_calls(const std::vector<CapsuleInfo>& capsules, const std::string& text,
                CapsuleSettings& settings) {
  const std::string argument = "--max-calls " + text;
  const auto equals = std::min(text.find('='), text.size());
  std::size_t calls = 0;
  const auto [end, error] = std::from_chars(text.data() + std::min(equals + 1, text.size()),
                                            text.data() + text.size(), calls);
  if (equals == text.size() || error != std::errc() || end != text.data() + text.size())
    throw UsageError(argument +
                     ": write capsule=N, such as detector=2, with a whole number; 0 is no bound");
  const CapsuleInfo& capsule = find(capsules, text.substr(0, equals), argument);
  if (!settings.max_calls.emplace(capsule.name, calls).second)
    throw UsageError(argument + ": capsule " + capsule.name +
                     " has a number already; give each capsule one");
}

StreamSettings& find(std::map<std::string, StreamSettings>& streams, const std::string& id,
                     const std::string& argument) {
  const auto found = streams.find(id);
  if (found != streams.end()) return found->second;
  std::string ids;
  for (const auto& [known, settings] : streams) ids += (ids.empty() ? "" : ", ") + known;
  throw UsageError(argument + ": there is no stream " + id + "; the streams are " + ids);
}

bool goes_through(const StreamSettings& stream, const std::string& capsule) {
  return !stream.capsules || std::ranges::find(*stream.capsules, capsule) != stream.capsules->end();
}

void read_stream_option(const std::vector<CapsuleInfo>& capsules, const std::string& text,
                        std::map<std::string, StreamSettings>& all) {
  // A stream's name may contain colons; the names of capsules and options may not.
  const std::string argument = "--stream-option " + text;
  const std::size_t colon = text.substr(0, text.find('=')).rfind(':');
  if (colon == std::string::npos) throw UsageError(argument + ": write stream:capsule.name=value");
  StreamSettings& stream = find(all, text.substr(0, colon), argument);
  CapsuleSettings own{.options = std::move(stream.options), .config = {}};
  read_option(capsules, text.substr(colon + 1), argument, own);
  stream.options = std::move(own.options);
}

void read_choice(const std::vector<CapsuleInfo>& capsules, const std::string& text,
                 std::map<std::string, StreamSettings>& all) {
  const std::string argument = "--stream-capsules " + text;
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos) throw UsageError(argument + ": write stream=capsule,capsule");
  auto& chosen = find(all, text.substr(0, equals), argument).capsules.emplace();
  std::istringstream names(text.substr(equals + 1));
  for (std::string name; std::getline(names, name, ',');)
    chosen.push_back(find(capsules, name, argument).name);
}

/// Sets a config for one stream. If no stream is named, sets it for all that go through the capsule
/// and have no config of their own; so these must be read last.
void read_stream_config(const std::vector<CapsuleInfo>& capsules, const std::string& text,
                        std::map<std::string, StreamSettings>& all) {
  const std::string argument = "--stream-config " + text;
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos)
    throw UsageError(argument + ": write stream:capsule=JSON, or capsule=JSON for all streams");
  const std::string whose = text.substr(0, equals);
  const std::size_t colon = whose.rfind(':');
  const CapsuleInfo& capsule = find(capsules, whose.substr(colon + 1), argument);
  const nlohmann::json config = read_object(text, equals, argument);
  if (colon == std::string::npos) {
    for (auto& [id, stream] : all)
      if (goes_through(stream, capsule.name)) stream.config.try_emplace(capsule.name, config);
    return;
  }
  StreamSettings& stream = find(all, whose.substr(0, colon), argument);
  if (!goes_through(stream, capsule.name))
    throw UsageError(argument +
                     ": the stream does not go through that capsule (--stream-capsules)");
  if (!stream.config.try_emplace(capsule.name, config).second)
    throw UsageError(argument + ": the stream has a config for capsule " + capsule.name +
                     " already; give one for each capsule");
}

bool names_a_stream(const std::string& config) {
  return config.substr(0, config.find('=')).find(':') != std::string::npos;
}

/// Checks that no capsule has two configs for all streams.
void refuse_repeated(const std::vector<std::string>& configs_for_all) {
  std::set<std::string> seen;
  for (const std::string& text : configs_for_all)
    if (!seen.insert(text.substr(0, text.find('='))).second)
      throw UsageError("--stream-config " + text +
                       ": that capsule has a config for all streams already; give one");
}

}  // namespace

CapsuleSettings read_settings(const std::vector<CapsuleInfo>& capsules,
                              const std::vector<std::string>& options,
                              const std::vector<std::string>& configs) {
  CapsuleSettings settings;
  for (const std::string& option : options)
    read_option(capsules, option, "--option " + option, settings);
  for (const std::string& config : configs) read_config(capsules, config, settings);
  for (const CapsuleInfo& capsule : capsules) {
    const auto given = settings.config.find(capsule.name);
    const JsonValue config = given == settings.config.end() ? JsonValue::object() : given->second;
    static_cast<void>(detail::completed_config(capsule, config));
  }
  return settings;
}

void CapsuleSettings::apply_to(LoadOptions& load, const std::string& capsule) const {
  if (const auto own = config.find(capsule); own != config.end()) load.config = own->second;
  if (const auto own = stencils.find(capsule); own != stencils.end()) load.stencil = own->second;
}

void read_stencils(const std::vector<CapsuleInfo>& capsules,
                   const std::vector<std::string>& stencils, CapsuleSettings& settings) {
  for (const std::string& stencil : stencils) read_stencil(capsules, stencil, settings);
}

void read_max_calls(const std::vector<CapsuleInfo>& capsules,
                    const std::vector<std::string>& max_calls, CapsuleSettings& settings) {
  for (const std::string& calls : max_calls) read_calls(capsules, calls, settings);
}

std::map<std::string, StreamSettings> read_stream_settings(const std::vector<std::string>& streams,
                                                           const std::vector<CapsuleInfo>& capsules,
                                                           const CapsuleSettings& settings,
                                                           const StreamArguments& arguments) {
  std::map<std::string, StreamSettings> all;
  for (const std::string& id : streams) all[id].options = settings.options;
  for (const std::string& text : arguments.options) read_stream_option(capsules, text, all);
  for (const std::string& text : arguments.capsules) read_choice(capsules, text, all);
  std::vector<std::string> configs = arguments.configs;
  const auto for_all = std::stable_partition(configs.begin(), configs.end(), names_a_stream);
  refuse_repeated({for_all, configs.end()});
  for (const std::string& text : configs) read_stream_config(capsules, text, all);
  return all;
}

StreamSettings settings_of_added_stream(const std::string& id,
                                        const std::vector<CapsuleInfo>& capsules,
                                        const CapsuleSettings& settings,
                                        const StreamArguments& arguments) {
  StreamArguments for_all;
  std::ranges::copy_if(arguments.configs, std::back_inserter(for_all.configs),
                       [](const std::string& config) { return !names_a_stream(config); });
  return read_stream_settings({id}, capsules, settings, for_all).at(id);
}

void check_stream_configs(const std::map<std::string, StreamSettings>& streams,
                          const std::vector<CapsuleInfo>& capsules) {
  for (const auto& [id, stream] : streams)
    for (const CapsuleInfo& capsule : capsules) {
      if (!goes_through(stream, capsule.name)) continue;
      const auto given = stream.config.find(capsule.name);
      static_cast<void>(detail::completed_stream_config(
          capsule, *(given == stream.config.end() ? JsonValue::object() : given->second), id));
    }
}

}  // namespace vcap::cli
