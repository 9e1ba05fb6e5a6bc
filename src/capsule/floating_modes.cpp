// SPDX-License-Identifier: Apache-2.0
#include "capsule/floating_modes.hpp"

namespace vcap::detail {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kRaised = 0x3f;   // the bits of mxcsr that say which have been raised
constexpr std::uint32_t kModes = 0xffc0;  // its modes; any other bit ends the process
#endif

}  // namespace

std::uint64_t floating_modes(const fenv_t& floating) noexcept {
#if defined(__x86_64__)
  return std::uint64_t{floating.__control_word} << 32 | (floating.__mxcsr & ~kRaised);
#elif defined(__aarch64__)
  return floating.__fpcr;
#else
  static_cast<void>(floating);
  return static_cast<std::uint64_t>(::fegetround());
#endif
}

std::uint64_t floating_modes() noexcept {
  fenv_t floating{};
  ::fegetenv(&floating);
  return floating_modes(floating);
}

void set_floating_modes(std::uint64_t modes) noexcept {
  fenv_t floating{};
  ::fegetenv(&floating);
  if (floating_modes(floating) == modes) return;
#if defined(__x86_64__)
  floating.__control_word = static_cast<std::uint16_t>(modes >> 32);
  floating.__mxcsr = (floating.__mxcsr & kRaised) | (static_cast<std::uint32_t>(modes) & kModes);
  ::fesetenv(&floating);
#elif defined(__aarch64__)
  floating.__fpcr = static_cast<decltype(floating.__fpcr)>(modes);
  ::fesetenv(&floating);
#else
  ::fesetround(static_cast<int>(modes));
#endif
}

}  // namespace vcap::detail
