// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "model/json_view.hpp"
#include "vcap/base/error.hpp"

/// Shared by the readers of a ModelSpec's JSON. All throw as JsonView does.
namespace vcap::spec {

/// The folder of compiled models: $VCAP_CACHE/models, else vcap/models in $XDG_CACHE_HOME or
/// ~/.cache; `nullopt` without a home folder.
std::optional<std::filesystem::path> default_cache_folder();

/// Calls `read`. Errors in the JSON become EngineError (invalid_model_spec) with the file's name.
template <class Read>
auto with_file(const std::string& file, Read read) {
  try {
    return read();
  } catch (const InvalidArgument& error) {
    throw EngineError(ErrorCode::invalid_model_spec, file + ": " + error.what());
  } catch (const EngineError& error) {
    throw EngineError(error.code(), file + ": " + error.what());
  }
}

/// A whole number of at least `least` that fits into an int.
template <class Whole>
Whole whole(const JsonView& json, std::int64_t least) {
  const std::int64_t value = json.integer();
  if (value < least || value > std::int64_t{std::numeric_limits<int>::max()})
    json.fail("a whole number from " + std::to_string(least));
  return static_cast<Whole>(value);
}

/// The value for the JSON's text.
template <class Value>
Value one_of(const JsonView& json,
             std::initializer_list<std::pair<std::string_view, Value>> values) {
  std::string names;
  for (const auto& [name, value] : values) {
    if (json.text() == name) return value;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  json.fail("one of " + names);
}

}  // namespace vcap::spec
