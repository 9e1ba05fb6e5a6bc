// SPDX-License-Identifier: Apache-2.0
#include "capsule/host_stencil.hpp"

#include <string>

#include "vcap/base/error.hpp"

namespace vcap {

CapsuleInfo with_stencil(CapsuleInfo info, const Stencil& stencil) {
  if (!info.stencil)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "the host gave capsule " + info.name +
                              " a stencil, but it has none: its backend takes single frames, not "
                              "windows; leave the stencil out");
  info.stencil = stencil;
  try {
    check(info);
  } catch (const InvalidCapsuleError& error) {
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "the stencil that the host gave: " + std::string(error.what()));
  }
  return info;
}

}  // namespace vcap
