// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "vcap/base/export.hpp"

namespace vcap {

/// The largest differences between numbers of records that count as equal. Thread safety: value.
struct RecordTolerance {
  double of_all = 0;
  /// By the key of the number, or of what contains it: "confidence", "bbox"
  std::map<std::string, double> of_fields{};
};

/// The first place where two records differ. Thread safety: value.
struct RecordDifference {
  std::string field{};  ///< as a JSON pointer, such as "/objects/0/bbox/x"
  std::string value{};  ///< as JSON; "nothing" if absent
  std::string other{};
};

/// `nullopt` if they are equal. Thread-safe.
VCAP_EXPORT std::optional<RecordDifference> first_difference(const nlohmann::json& record,
                                                             const nlohmann::json& other,
                                                             const RecordTolerance& tolerance);

}  // namespace vcap
