// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fenv.h>

#include <cstdint>

#include "vcap/base/export.hpp"

namespace vcap::detail {

/// The calling thread's floating-point modes as one number: rounding, traps, and the treatment of
/// numbers near zero; not which exceptions have been raised. Thread-safe.
VCAP_EXPORT std::uint64_t floating_modes() noexcept;
/// The same of a saved environment.
VCAP_EXPORT std::uint64_t floating_modes(const fenv_t& floating) noexcept;
/// Sets the calling thread's modes to what floating_modes() gave. Thread-safe.
VCAP_EXPORT void set_floating_modes(std::uint64_t modes) noexcept;

}  // namespace vcap::detail
