// SPDX-License-Identifier: Apache-2.0
// Reads a manifest. If it is accepted, writing and reading it again gives the same.
#include <cstdlib>
#include <string>

#include <nlohmann/json.hpp>

#include "fuzz/fuzz.hpp"
#include "loading/manifest_reader.hpp"
#include "vcap/base/log.hpp"

FUZZ(bytes) {
  static const bool silent = [] {
    vcap::set_log_hook([](vcap::LogLevel, std::string_view) {});
    return true;
  }();
  static_cast<void>(silent);
  const vcap::Manifest manifest = vcap::read_manifest_text(bytes, "fuzz");
  const nlohmann::json json = manifest;
  const std::string text = json.dump();
  const vcap::Manifest again = vcap::read_manifest_text(std::as_bytes(std::span(text)), "fuzz");
  if (nlohmann::json(again) != json) std::abort();
}
