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

std::vector<PictureDescription> read_pictures(const JsonView& info, const std::string& field) {
  std::vector<PictureDescription> pictures;
  if (const auto list = info.find(field))
    for (const JsonView& one : list->elements()) pictures.push_back(read_picture_description(one));
  return pictures;
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

/// A set within a further one is read, too, so that check() refuses it.
DeviceSet read_device_set(const JsonView& json) {
  DeviceSet set{.kind = json["kind"].text(), .count = read_int(json["count"])};
  if (const auto others = json.find("with"))
    for (const JsonView& other : others->elements()) set.with.push_back(read_device_set(other));
  return set;
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

}  // namespace

Stencil read_stencil(const JsonView& json) {
  Stencil stencil{.offsets = {}, .edge = read_edge(json["edge"])};
  for (const JsonView& offset : json["offsets"].elements())
    stencil.offsets.push_back(read_int(offset));
  return stencil;
}

nlohmann::json stencil_json(const Stencil& stencil) {
  return {{"offsets", stencil.offsets}, {"edge", to_string(stencil.edge)}};
}

CapsuleInfo read_capsule_info(const JsonView& json) {
  CapsuleInfo info;
  info.name = json["name"].text();
  info.version = read_int(json["version"]);
  info.description = json["description"].text();
  info.input_type = read_node_description(json["input_type"]);
  info.output_type = read_node_description(json["output_type"]);
  info.takes_pictures = read_pictures(json, "takes_pictures");
  info.gives_pictures = read_pictures(json, "gives_pictures");
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
  if (const auto given = json.find("stream_parameters"); given && given->boolean())
    info.stream_parameters = [](const StreamInfo&) -> std::unique_ptr<BaseStreamParameters> {
      refuse_to_run("stream_parameters");
    };
  if (const auto warmup = json.find("warmup")) info.warmup = warmup->integer();
  if (const auto kept = json.find("keeps_state_at"))
    for (const JsonView& one : kept->elements())
      info.keeps_state_at.push_back(read_discontinuity(one));
  if (const auto batch = json.find("batch"))
    info.batch = {.preferred = read_count((*batch)["preferred"]),
                  .maximum = read_count((*batch)["maximum"])};
  if (const auto calls = json.find("max_concurrent_calls"))
    info.max_concurrent_calls = read_count(*calls);
  if (const auto stencil = json.find("stencil")) info.stencil = read_stencil(*stencil);
  if (const auto threshold = json.find("recognition_threshold"))
    info.recognition_threshold = threshold->number();
  if (const auto resources = json.find("resources"))
    for (const JsonView& resource : resources->elements())
      info.resources.push_back(read_resource(resource));
  return info;
}

nlohmann::json device_set_json(const DeviceSet& set) {
  nlohmann::json json = {{"kind", set.kind}, {"count", set.count}};
  for (const DeviceSet& other : set.with) json["with"].push_back(device_set_json(other));
  return json;
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
  if (!info.takes_pictures.empty()) json["takes_pictures"] = info.takes_pictures;
  if (!info.gives_pictures.empty()) json["gives_pictures"] = info.gives_pictures;
  if (info.device_set)
    json["device_set"] = device_set_json(*info.device_set);
  else
    json["device_mapper"] = info.device_mapper.name();
  if (!info.config_schema.is_null()) json["config_schema"] = info.config_schema;
  if (!info.stream_config_schema.is_null())
    json["stream_config_schema"] = info.stream_config_schema;
  if (info.stream_parameters) json["stream_parameters"] = true;
  if (info.warmup) json["warmup"] = *info.warmup;
  for (const Discontinuity at : info.keeps_state_at)
    json["keeps_state_at"].push_back(to_string(at));
  if (info.batch)
    json["batch"] = {{"preferred", info.batch->preferred}, {"maximum", info.batch->maximum}};
  if (info.max_concurrent_calls) json["max_concurrent_calls"] = *info.max_concurrent_calls;
  if (info.stencil) json["stencil"] = stencil_json(*info.stencil);
  if (info.recognition_threshold) json["recognition_threshold"] = *info.recognition_threshold;
  for (const Resource& resource : info.resources)
    json["resources"].push_back({{"name", resource.name},
                                 {"url", resource.url},
                                 {"sha256", resource.sha256},
                                 {"size", resource.size}});
}

}  // namespace vcap
