// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "vcap/view/live_view_settings.hpp"

namespace vcap {

/// Opens a source that a client names, if it is allowed: a URL of an allowed scheme, which is not
/// connected yet, or a file or folder below an allowed folder. Throws LiveRefusal (403) that names
/// the source without its password, and what open_source() throws.
std::unique_ptr<Source> open_allowed_source(const ViewSources& allowed, const std::string& name);

}  // namespace vcap
