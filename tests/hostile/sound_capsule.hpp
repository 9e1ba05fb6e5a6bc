// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "support/zip_writer.hpp"

namespace vcap::test {

// A small sound capsule, to which each case adds one fault. Its library is no code, so nothing can
// run here even if a check fails.

/// The manifest of sound_entries(), as text.
std::string sound_manifest();
/// capsule.json, labels.txt, the library and model.bin, in this order.
std::vector<ZipEntry> sound_entries();

}  // namespace vcap::test
