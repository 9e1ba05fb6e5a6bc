// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vcap/base/export.hpp"

namespace vcap {

/// The labels of a model from the text of a file that has one a line. Lines end with LF or CRLF; a
/// byte order mark of UTF-8 is skipped, and so is an empty line at the end. Spaces are kept, since
/// a dictionary of characters may have one as an entry. Throws EngineError (invalid_model_spec)
/// with the number of a line that is empty, or if there is no label at all. Thread-safe.
VCAP_EXPORT std::vector<std::string> read_labels(std::string_view text);

}  // namespace vcap
