// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "vcap/base/abi.hpp"
#include "vcap/base/export.hpp"
#include "vcap/base/version.hpp"
#include "vcap/capsule/base_capsule.hpp"
#include "vcap/capsule/capsule_info.hpp"

namespace vcap {

/// What a capsule's library gives the loader. The first three fields are plain C and never move;
/// the loader reads the rest only after it has checked them.
struct CapsulePlugin {
  std::uint32_t struct_size;  ///< sizeof(CapsulePlugin) when the capsule was built
  std::uint32_t api_version;  ///< kApiVersion when the capsule was built
  const char* abi_tag;        ///< VCAP_ABI_TAG when the capsule was built
  CapsuleInfo (*info)();
  std::unique_ptr<BaseCapsule> (*create)();
};

/// The symbol that the loader looks up: `extern "C" const CapsulePlugin* vcap_capsule_plugin()`.
inline constexpr const char* kPluginEntrySymbol = "vcap_capsule_plugin";
using PluginEntry = const CapsulePlugin* (*)();

}  // namespace vcap

/// Makes `CapsuleClass` this library's capsule; use it once in a library, at namespace scope.
#define VCAP_CAPSULE(CapsuleClass)                                                     \
  extern "C" VCAP_EXPORT const ::vcap::CapsulePlugin* vcap_capsule_plugin() noexcept { \
    static const ::vcap::CapsulePlugin plugin{                                         \
        sizeof(::vcap::CapsulePlugin), ::vcap::kApiVersion, VCAP_ABI_TAG,              \
        []() -> ::vcap::CapsuleInfo { return CapsuleClass::info(); },                  \
        []() -> std::unique_ptr<::vcap::BaseCapsule> {                                 \
          return std::make_unique<CapsuleClass>();                                     \
        }};                                                                            \
    return &plugin;                                                                    \
  }
