// SPDX-License-Identifier: Apache-2.0
#include "loading/plugin/plugin.hpp"

#include <utility>

#include "base/text.hpp"
#include "vcap/base/abi.hpp"
#include "vcap/base/version.hpp"

namespace vcap {

Plugin::Plugin(PluginEntry function, std::string entry, std::string subject)
    : entry_(std::move(entry)),
      subject_(std::move(subject)),
      plugin_(run_author_code(entry_, subject_, "entry", [function] { return function(); })) {
  if (plugin_ == nullptr)
    throw InvalidCapsuleError(ErrorCode::invalid_library,
                              subject_ + ": its entry " + kPluginEntrySymbol +
                                  " returned null; write VCAP_CAPSULE(YourCapsule)",
                              entry_);
  if (plugin_->api_version > static_cast<std::uint32_t>(kApiVersion))
    throw IncompatibleCapsuleError(
        ErrorCode::unsupported_api_version,
        subject_ + " is built for API version " + std::to_string(plugin_->api_version) +
            "; this is vcap " + std::string(version()) + ", which knows versions up to " +
            std::to_string(kApiVersion) + ": update vcap, or build the capsule with this version",
        entry_);
  if (plugin_->api_version == 0 || plugin_->struct_size < sizeof(CapsulePlugin) ||
      plugin_->abi_tag == nullptr)
    throw InvalidCapsuleError(ErrorCode::invalid_library,
                              subject_ + ": its entry returned API version " +
                                  std::to_string(plugin_->api_version) + " and a record of " +
                                  std::to_string(plugin_->struct_size) +
                                  " bytes, which is not what VCAP_CAPSULE makes",
                              entry_);
  check_abi_tag(plugin_->abi_tag, subject_, entry_);
  if (plugin_->info == nullptr || plugin_->create == nullptr)
    throw InvalidCapsuleError(ErrorCode::invalid_library,
                              subject_ +
                                  ": its entry returned null functions, which is not what "
                                  "VCAP_CAPSULE makes",
                              entry_);
}

CapsuleInfo Plugin::info() const {
  CapsuleInfo info =
      run_author_code(entry_, subject_, "info()", [this] { return plugin_->info(); });
  try {
    check(info);
  } catch (const InvalidCapsuleError& error) {
    throw InvalidCapsuleError(error.code(), subject_ + ": " + error.what(), entry_);
  }
  return info;
}

std::unique_ptr<BaseCapsule> Plugin::create() const {
  auto capsule =
      run_author_code(entry_, subject_, "constructor", [this] { return plugin_->create(); });
  if (capsule == nullptr)
    throw InvalidCapsuleError(ErrorCode::invalid_library,
                              subject_ +
                                  ": its entry creates no capsule; write "
                                  "VCAP_CAPSULE(YourCapsule)",
                              entry_);
  return capsule;
}

void check_abi_tag(std::string_view tag, std::string_view subject, const std::string& entry) {
  if (tag == abi_tag()) return;
  throw IncompatibleCapsuleError(ErrorCode::abi_mismatch,
                                 std::string(subject) + " is built for " + quote(tag) +
                                     ", this host is " + quote(abi_tag()) +
                                     "; build the capsule with this host's vcap, compiler and "
                                     "libraries",
                                 entry);
}

}  // namespace vcap
