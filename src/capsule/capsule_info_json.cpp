// SPDX-License-Identifier: Apache-2.0
#include "capsule/capsule_info_json.hpp"

#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "model/json_readers.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

int read_int(const JsonView& json) {
  const std::int64_t number = json.integer();
  if (number < std::numeric_limits<int>::min() || number > std::numeric_limits<int>::max())
    json.fail("a whole number of 32 bits");
  return static_cast<int>(number);
}

std::size_t read_count(const JsonView& json) {
  const std::int64_t size = json.integer();
  if (size < 0) json.fail("a whole number from 0");
  return static_cast<std::size_t>(size);
}

Options read_options(const JsonView& json) {
  Options options;
  for (const auto& [name, declaration] : json.fields())
    options.emplace(name, read_option(declaration));
  return options;
}

Resource read_resource(const JsonView& json) {
  Resource resource{
      .name = json["name"].text(), .url = json["url"].text(), .sha256 = json["sha256"].text()};
  const JsonView size = json["size"];
  if (!size.value().is_number_unsigned()) size.fail("a whole number from 1");
  resource.size = size.value().get<std::uint64_t>();
  return resource;
}

/// Replaces a function that JSON cannot contain.
[[noreturn]] void refuse_to_run(const std::string& what) {
  throw InvalidArgument(ErrorCode::invalid_argument,
                        what + " was read from a description and cannot run; load the capsule");
}

DeviceMapper read_device_mapper(const JsonView& json) {
  const std::string& name = json.text();
  if (name.empty()) json.fail("the name of a device mapper");
  return {name, [name](const std::vector<std::string>&) -> std::vector<std::string> {
            refuse_to_run("device mapper " + name);
          }};
}

DeviceSet read_device_set(const JsonView& json) {
  return {.kind = json["kind"].text(), .count = read_int(json["count"])};
}

Discontinuity read_discontinuity(const JsonView& json) {
  const std::string& name = json.text();
  for (const Discontinuity one :
       {Discontinuity::gap, Discontinuity::seek, Discontinuity::reconnect, Discontinuity::loop})
    if (to_string(one) == name) return one;
  json.fail("gap, seek, reconnect or loop");
}

StencilEdge read_edge(const JsonView& json) {
  const std::string& name = json.text();
  for (const StencilEdge edge : {StencilEdge::repeat, StencilEdge::null, StencilEdge::error})
    if (to_string(edge) == name) return edge;
  json.fail("repeat, null or error");
}

Stencil read_stencil(const JsonView& json) {
  Stencil stencil{.offsets = {}, .edge = read_edge(json["edge"])};
  for (const JsonView& offset : json["offsets"].elements())
    stencil.offsets.push_back(read_int(offset));
  return stencil;
}

}  // namespace

CapsuleInfo read_capsule_info(const JsonView& json) {
  CapsuleInfo info;
  info.name = json["name"].text();
  info.version = read_int(json["version"]);
  info.description = json["description"].text();
  info.input_type = read_node_description(json["input_type"]);
  info.output_type = read_node_description(json["output_type"]);
  info.options = read_options(json["options"]);
  // A device set replaces the device mapper.
  if (const auto set = json.find("device_set"))
    info.device_set = read_device_set(*set);
  else
    info.device_mapper = read_device_mapper(json["device_mapper"]);
  if (const auto schema = json.find("config_schema")) info.config_schema = schema->value();
  if (const auto schema = json.find("stream_config_schema"))
    info.stream_config_schema = schema->value();
  if (json["stateful"].boolean())
    info.stream_state = [](const StreamInfo&) -> std::unique_ptr<BaseStreamState> {
      refuse_to_run("stream_state");
    };
  if (const auto warmup = json.find("warmup")) info.warmup = warmup->integer();
  if (const auto kept = json.find("keeps_state_at"))
    for (const JsonView& one : kept->elements())
      info.keeps_state_at.push_back(read_discontinuity(one));
  if (const auto batch = json.find("batch"))
    info.batch = {.preferred = read_count((*batch)["preferred"]),
                  .maximum = read_count((*batch)["maximum"])};
  if (const auto stencil = json.find("stencil")) info.stencil = read_stencil(*stencil);
  if (const auto threshold = json.find("recognition_threshold"))
    info.recognition_threshold = threshold->number();
  if (const auto resources = json.find("resources"))
    for (const JsonView& resource : resources->elements())
      info.resources.push_back(read_resource(resource));
  return info;
}

void from_json(const nlohmann::json& json, CapsuleInfo& info) {
  info = read_capsule_info(JsonView(json));
}

void to_json(nlohmann::json& json, const CapsuleInfo& info) {
  nlohmann::json options = nlohmann::json::object();
  for (const auto& [name, option] : info.options) options[name] = option_to_json(option);
  json = {{"name", info.name},
          {"version", info.version},
          {"description", info.description},
          {"input_type", info.input_type},
          {"output_type", info.output_type},
          {"options", std::move(options)},
          {"stateful", static_cast<bool>(info.stream_state)}};
  if (info.device_set)
    json["device_set"] = {{"kind", info.device_set->kind}, {"count", info.device_set->count}};
  else
    json["device_mapper"] = info.device_mapper.name();
  if (!info.config_schema.is_null()) json["config_schema"] = info.config_schema;
  if (!info.stream_config_schema.is_null())
    json["stream_config_schema"] = info.stream_config_schema;
  if (info.warmup) json["warmup"] = *info.warmup;
  for (const Discontinuity at : info.keeps_state_at)
    json["keeps_state_at"].push_back(to_string(at));
  if (info.batch)
    json["batch"] = {{"preferred", info.batch->preferred}, {"maximum", info.batch->maximum}};
  if (info.stencil)
    json["stencil"] = {{"offsets", info.stencil->offsets}, {"edge", to_string(info.stencil->edge)}};
  if (info.recognition_threshold) json["recognition_threshold"] = *info.recognition_threshold;
  for (const Resource& resource : info.resources)
    json["resources"].push_back({{"name", resource.name},
                                 {"url", resource.url},
                                 {"sha256", resource.sha256},
                                 {"size", resource.size}});
}

}  // namespace vcap
