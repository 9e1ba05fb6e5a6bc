// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

/// Reads the labels of a model from the text of a file with one label a line. Lines end with LF or
/// CRLF. A byte order mark of UTF-8 and an empty line at the end are skipped. Spaces are kept,
/// since a dictionary of characters may have one as an entry. Throws EngineError
/// (invalid_model_spec) if a line is empty, with its number, or if there is no label at all.
/// Thread-safe.
VCAP_EXPORT std::vector<std::string> read_labels(std::string_view text);

}  // namespace vcap
