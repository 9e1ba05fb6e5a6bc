// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cxxabi.h>

#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "vcap/base/error.hpp"
#include "vcap/capsule/base_capsule.hpp"
#include "vcap/capsule/capsule_info.hpp"
#include "vcap/capsule/plugin.hpp"

namespace vcap {

/// Calls code of a capsule's author; requires a HostGuard of the caller. Exceptions become
/// CapsuleLoadError (capsule_threw) with the text `subject`: its `function` threw: …. `entry` is
/// the library's name in the capsule.
template <class Call>
auto run_author_code(const std::string& entry, std::string_view subject, std::string_view function,
                     Call call) {
  const auto fail = [&](std::string_view text) {
    throw CapsuleLoadError(
        ErrorCode::capsule_threw,
        std::string(subject) + ": its " + std::string(function) + " threw: " + bounded_text(text),
        entry);
  };
  try {
    return call();
  } catch (const abi::__forced_unwind&) {
    throw;  // a thread that is being cancelled must continue to unwind
  } catch (const std::exception& error) {
    fail(error.what());
  } catch (...) {
    fail("an exception that is not a std::exception");
  }
  std::terminate();  // not reached; `fail` throws
}

/// A plugin whose entry function was called and which fits this host. Thread safety: as thread-safe
/// as the author's info() and constructor.
class Plugin {
 public:
  /// Calls the entry function and checks the plain fields, before anything that depends on the ABI.
  /// Throws InvalidCapsuleError (invalid_library), IncompatibleCapsuleError
  /// (unsupported_api_version, abi_mismatch), CapsuleLoadError (capsule_threw).
  Plugin(PluginEntry function, std::string entry, std::string subject);

  std::string abi_tag() const { return plugin_->abi_tag; }

  /// The author's description, checked. Throws CapsuleLoadError (capsule_threw),
  /// InvalidCapsuleError (invalid_capsule_info).
  CapsuleInfo info() const;
  /// Creates the author's capsule. Throws CapsuleLoadError (capsule_threw), InvalidCapsuleError
  /// (invalid_library) if it returns none.
  std::unique_ptr<BaseCapsule> create() const;

 private:
  std::string entry_;
  std::string subject_;
  const CapsulePlugin* plugin_;
};

/// Throws IncompatibleCapsuleError (abi_mismatch), with both tags, if the tag is not this host's.
void check_abi_tag(std::string_view tag, std::string_view subject, const std::string& entry);

}  // namespace vcap
