// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "model/json_view.hpp"
#include "vcap/base/export.hpp"

namespace vcap::detail {

/// A schema without references: each reference is replaced by what it names.
struct ExpandedSchema {
  /// A default in the schema.
  struct Default {
    JsonView::Pointer place;  ///< in the schema as it was declared
    nlohmann::json schema;    ///< the schema that it must fit; it is this schema's "default"
  };

  nlohmann::json schema = nlohmann::json::object();
  std::vector<Default> defaults{};
};

/// Reads a JSON Schema of draft 7, which may come from an untrusted source. The work is bounded:
/// the schema may nest 24 levels deep and hold 2048 values. The target of a reference counts at
/// each place of use, so no reference can refer to itself.
///
/// Supports the keywords of the draft, with these exceptions: pattern and patternProperties (a
/// regular expression can keep a search busy for years); format, except for "line" and "polygon",
/// which say what a person draws and are not in the result; multipleOf and propertyNames (valijson
/// takes 4.5 for a multiple of 2, and does not report which name is wrong); $id; notes of other
/// kinds. Any other keyword, such as a misspelt one, would check nothing and is refused. In the
/// result, `false` is {"not": {}}. Throws InvalidArgument (invalid_json), which names the wrong
/// place by its JSON pointer. Thread-safe.
VCAP_EXPORT ExpandedSchema expanded_schema(const JsonView& declared);

/// Whether an expanded schema means `false`.
bool takes_nothing(const nlohmann::json& schema);

}  // namespace vcap::detail
