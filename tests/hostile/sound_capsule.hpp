// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "support/zip_writer.hpp"

namespace vcap::test {

// A small capsule that is right in all but one thing, which each case adds: its library is no code,
// so that nothing could run here even if a check failed.

/// The manifest of sound_entries(), as text.
std::string sound_manifest();
/// capsule.json, labels.txt, the library, model.bin (deflated), in this order.
std::vector<ZipEntry> sound_entries();

}  // namespace vcap::test
