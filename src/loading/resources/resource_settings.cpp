// SPDX-License-Identifier: Apache-2.0
#include "loading/resources/resource_settings.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "base/text.hpp"
#include "capsule/resource_check.hpp"
#include "loading/resources/resource_failure.hpp"

namespace vcap {
namespace {

std::filesystem::path default_cache(const EnvironmentVariable& variable) {
  const auto value = [&variable](const char* name) {
    const char* const text = variable(name);
    return std::filesystem::path(text == nullptr ? "" : text);
  };
  if (auto cache = value("VCAP_CACHE"); !cache.empty()) return cache;
  // The specification of XDG_CACHE_HOME requires that relative paths are ignored.
  if (const auto caches = value("XDG_CACHE_HOME"); caches.is_absolute()) return caches / "vcap";
  if (const auto home = value("HOME"); home.is_absolute()) return home / ".cache/vcap";
  throw ResourceFailure(ErrorCode::resource_cache,
                        "there is no cache folder; set VCAP_CACHE, HOME or "
                        "ResourceOptions::cache");
}

void check_numbers(const ResourceOptions& options) {
  if (options.attempts < 1 || options.connect_timeout.count() < 1 ||
      options.stall_timeout.count() < 1)
    throw InvalidArgument(
        ErrorCode::invalid_argument,
        "ResourceOptions: attempts, connect_timeout and stall_timeout must be 1 or more");
}

}  // namespace

ResourceOptions with_environment(ResourceOptions options, const EnvironmentVariable& variable) {
  check_numbers(options);
  if (options.cache.empty()) options.cache = default_cache(variable);
  std::error_code error;
  options.cache = std::filesystem::absolute(options.cache, error);
  const auto text = [&variable](const char* name) {
    const char* const value = variable(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  if (options.mirror.empty()) options.mirror = text("VCAP_RESOURCE_MIRROR");
  while (options.mirror.ends_with('/')) options.mirror.pop_back();
  if (!options.mirror.empty())
    if (const std::string fault = resource_url_fault(options.mirror); !fault.empty())
      throw InvalidArgument(ErrorCode::invalid_argument,
                            "the mirror of resources " + quote(options.mirror) + " " + fault +
                                " (ResourceOptions::mirror, VCAP_RESOURCE_MIRROR)");
  if (options.certificates.empty()) options.certificates = text("SSL_CERT_FILE");
  const std::string_view offline = text("VCAP_OFFLINE");
  options.offline = options.offline || (!offline.empty() && offline != "0");
  return options;
}

}  // namespace vcap
