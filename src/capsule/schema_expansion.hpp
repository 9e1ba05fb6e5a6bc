// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "model/json_view.hpp"
#include "vcap/base/export.hpp"

namespace vcap::detail {

/// A schema that stands for itself: what its references name is in their place.
struct ExpandedSchema {
  /// A value that the schema gives where there is none.
  struct Default {
    JsonView::Pointer place;  ///< in the schema as it was declared
    nlohmann::json schema;    ///< what it must fit; it is this one's "default"
  };

  nlohmann::json schema = nlohmann::json::object();
  std::vector<Default> defaults{};
};

/// Reads a JSON Schema of draft 7, which somebody else may have written. Bounded work for any: it
/// may nest 24 levels deep and hold 2048 values, what references name counted where they stand, so
/// that none can refer to itself. Keywords are those of the draft but for pattern,
/// patternProperties and format (a regular expression can keep a search busy for years),
/// multipleOf and propertyNames (valijson takes 4.5 for a multiple of 2, and does not tell which
/// name is wrong), $id and notes of other kinds; another one, such as a misspelt one, would check
/// nothing, and is refused. `false` is {"not": {}} in what it gives. Throws InvalidArgument
/// (invalid_json), naming the wrong place by its JSON pointer. Thread-safe.
VCAP_EXPORT ExpandedSchema expanded_schema(const JsonView& declared);

/// Whether an expanded schema stands for `false`.
bool takes_nothing(const nlohmann::json& schema);

}  // namespace vcap::detail
