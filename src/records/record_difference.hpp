// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// By how much numbers of records may differ that count as the same. Thread safety: value.
struct RecordTolerance {
  double of_all = 0;
  std::map<std::string, double> of_fields{};  ///< by the name that a number stands under, or what
                                              ///< it is in: "confidence", "bbox"
};

/// The first place where two records differ. Thread safety: value.
struct RecordDifference {
  std::string field{};  ///< as a JSON pointer, such as "/objects/0/bbox/x"
  std::string value{};  ///< as JSON; "nothing" where it is absent
  std::string other{};
};

/// Nothing where they are the same. Thread-safe.
VCAP_EXPORT std::optional<RecordDifference> first_difference(const nlohmann::json& record,
                                                             const nlohmann::json& other,
                                                             const RecordTolerance& tolerance);

}  // namespace vcap
