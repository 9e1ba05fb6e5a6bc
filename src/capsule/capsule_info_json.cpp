// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "capsule/text.hpp"
#include "vcap/base/error.hpp"
#include "vcap/capsule/capsule_info.hpp"

namespace vcap {
namespace {

using nlohmann::json;

[[noreturn]] void fail(const std::string& pointer, const std::string& complaint) {
  throw InvalidArgument(ErrorCode::invalid_json, pointer + ": " + complaint);
}

/// As much of a wrong value as a message can bear.
std::string shown(const json& value) {
  constexpr std::size_t kLongest = 60;
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  if (text.size() > kLongest) text.replace(kLongest, std::string::npos, "...");
  return text;
}

const json& member(const json& object, const std::string& name) {
  const auto found = object.find(name);
  if (found == object.end()) fail("/" + name, "is missing");
  return *found;
}

std::string text_at(const json& object, const std::string& name) {
  const json& value = member(object, name);
  if (!value.is_string()) fail("/" + name, shown(value) + " is not a string");
  return value.get<std::string>();
}

bool flag_at(const json& object, const std::string& name) {
  const json& value = member(object, name);
  if (!value.is_boolean()) fail("/" + name, shown(value) + " is not true or false");
  return value.get<bool>();
}

int number_at(const json& object, const std::string& name) {
  const json& value = member(object, name);
  // Compared as a double: every int is one exactly, and no conversion can overflow on the way.
  const bool fits = value.is_number_integer() &&
                    value.get<double>() >= std::numeric_limits<int>::min() &&
                    value.get<double>() <= std::numeric_limits<int>::max();
  if (!fits) fail("/" + name, shown(value) + " is not a whole number of 32 bits");
  return value.get<int>();
}

const json& object_at(const json& object, const std::string& name) {
  const json& value = member(object, name);
  if (!value.is_object()) fail("/" + name, shown(value) + " is not an object");
  return value;
}

/// Gives what `read` gives; an error of it gets `pointer` put before, and where it begins with a
/// pointer of its own, that one continues this one.
template <class Read>
auto within(const std::string& pointer, Read read) {
  try {
    return read();
  } catch (const Error& error) {
    const std::string text = error.what();
    throw InvalidArgument(ErrorCode::invalid_json,
                          text.starts_with('/') ? pointer + text : pointer + ": " + text);
  }
}

NodeDescription description_at(const json& object, const std::string& name) {
  const json& value = object_at(object, name);
  return within("/" + name, [&value] { return value.get<NodeDescription>(); });
}

Options options_at(const json& object, const std::string& name) {
  Options options;
  for (const auto& [option_name, declared] : object_at(object, name).items()) {
    const std::string pointer = (json::json_pointer("/" + name) / option_name).to_string();
    options.emplace(option_name,
                    within(pointer, [&value = declared] { return option_from_json(value); }));
  }
  return options;
}

/// What stands in for a function that JSON cannot carry.
[[noreturn]] void refuse_to_run(const std::string& what) {
  throw InvalidArgument(ErrorCode::invalid_argument,
                        what + " was read from a description and cannot run; load the capsule");
}

}  // namespace

void to_json(json& out, const CapsuleInfo& info) {
  json options = json::object();
  for (const auto& [name, option] : info.options) options[name] = option_to_json(option);
  out = {{"name", info.name},
         {"version", info.version},
         {"description", info.description},
         {"input_type", info.input_type},
         {"output_type", info.output_type},
         {"options", std::move(options)},
         {"device_mapper", info.device_mapper.name()},
         {"stateful", static_cast<bool>(info.stream_state)}};
  if (info.recognition_threshold) out["recognition_threshold"] = *info.recognition_threshold;
}

void from_json(const json& in, CapsuleInfo& info) {
  if (!in.is_object()) fail("", shown(in) + " is not an object");
  CapsuleInfo read;
  read.name = text_at(in, "name");
  read.version = number_at(in, "version");
  read.description = text_at(in, "description");
  read.input_type = description_at(in, "input_type");
  read.output_type = description_at(in, "output_type");
  read.options = options_at(in, "options");
  const std::string mapper = text_at(in, "device_mapper");
  if (mapper.empty()) fail("/device_mapper", "is empty; it names the mapper");
  read.device_mapper =
      DeviceMapper(mapper, [mapper](const std::vector<std::string>&) -> std::vector<std::string> {
        refuse_to_run("device mapper " + mapper);
      });
  if (flag_at(in, "stateful"))
    read.stream_state = [](const StreamInfo&) -> std::unique_ptr<BaseStreamState> {
      refuse_to_run("stream_state");
    };
  if (const auto threshold = in.find("recognition_threshold"); threshold != in.end()) {
    if (!threshold->is_number())
      fail("/recognition_threshold", shown(*threshold) + " is not a number");
    read.recognition_threshold = threshold->get<double>();
  }
  info = std::move(read);
}

}  // namespace vcap
