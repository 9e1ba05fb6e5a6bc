// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>

#include "vcap/base/json_value.hpp"
#include "vcap/capsule/base_capsule.hpp"
#include "vcap/capsule/stencil.hpp"

namespace vcap::detail {

/// Sets what BaseCapsule::config() and stencil() give. For the owner of the author's object, before
/// it calls any of its functions.
struct AuthorSettings {
  static void set_config(BaseCapsule& author, JsonValue config) {
    author.config_ = std::move(config);
  }
  static void set_stencil(BaseCapsule& author, std::optional<Stencil> stencil) {
    author.stencil_ = std::move(stencil);
  }
};

}  // namespace vcap::detail
