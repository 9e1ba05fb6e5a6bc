// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "isolation/capsule_link.hpp"
#include "loading/capsule_code.hpp"
#include "vcap/base/export.hpp"
#include "vcap/capsule/capsule_info.hpp"

namespace vcap {

/// The code of a capsule that runs elsewhere, for a host: a description whose functions call it,
/// and a BaseCapsule whose backends, states and parameters stand for the author's.
///
/// A Capsule uses them as those of the author. What goes beyond Capsule's own calls stays behind: a
/// state or a backend cannot be cast to the author's type. Copies of the description that outlive
/// the Capsule throw Error (closed) from their functions. Throws what `make_link` throws.
VCAP_EXPORT CapsuleCode remote_capsule(CapsuleInfo info, const MakeLink& make_link);

}  // namespace vcap
