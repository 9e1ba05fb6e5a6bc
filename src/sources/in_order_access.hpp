// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "vcap/base/export.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {

/// Opens a stored source of which `frames` frames were read before. Its random_access() is never
/// null: if the places of the frames are not known without decoding, each reader decodes from the
/// beginning, which is slow but right for every stored source. Throws as open_source(); if the
/// source has fewer frames, a reader throws SourceError (source_read).
VCAP_EXPORT std::unique_ptr<Source> open_read_source(const std::string& name, std::int64_t frames);

}  // namespace vcap
