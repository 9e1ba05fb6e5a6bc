// SPDX-License-Identifier: Apache-2.0
#include "records/record_difference.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

namespace vcap {
namespace {

using Pointer = nlohmann::json::json_pointer;

class RecordComparison {
 public:
  explicit RecordComparison(const RecordTolerance& tolerance) : tolerance_(tolerance) {}

  /// `allowed`: the largest difference of numbers here that counts as equal.
  std::optional<RecordDifference> compare(const nlohmann::json& one, const nlohmann::json& other,
                                          const Pointer& place, double allowed) const {
    if (one.is_number() && other.is_number()) {
      const bool same =
          allowed > 0 ? std::abs(one.get<double>() - other.get<double>()) <= allowed : one == other;
      return same ? std::nullopt : difference(one, other, place);
    }
    if (one.type() != other.type()) return difference(one, other, place);
    if (one.is_object()) return compare_fields(one, other, place, allowed);
    if (one.is_array()) return compare_elements(one, other, place, allowed);
    return one == other ? std::nullopt : difference(one, other, place);
  }

 private:
  static std::string shown(const nlohmann::json& value) {
    return value.is_discarded()
               ? "nothing"
               : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  static std::optional<RecordDifference> difference(const nlohmann::json& one,
                                                    const nlohmann::json& other,
                                                    const Pointer& place) {
    return RecordDifference{place.to_string(), shown(one), shown(other)};
  }

  std::optional<RecordDifference> compare_fields(const nlohmann::json& one,
                                                 const nlohmann::json& other, const Pointer& place,
                                                 double allowed) const {
    std::set<std::string> names;
    for (const auto& [name, value] : one.items()) names.insert(name);
    for (const auto& [name, value] : other.items()) names.insert(name);
    const nlohmann::json nothing(nlohmann::json::value_t::discarded);
    for (const std::string& name : names) {
      const auto own = tolerance_.of_fields.find(name);
      auto found = compare(one.contains(name) ? one.at(name) : nothing,
                           other.contains(name) ? other.at(name) : nothing, place / name,
                           own == tolerance_.of_fields.end() ? allowed : own->second);
      if (found) return found;
    }
    return std::nullopt;
  }

  std::optional<RecordDifference> compare_elements(const nlohmann::json& one,
                                                   const nlohmann::json& other,
                                                   const Pointer& place, double allowed) const {
    for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i)
      if (auto found = compare(one[i], other[i], place / i, allowed)) return found;
    if (one.size() == other.size()) return std::nullopt;
    return RecordDifference{place.to_string(), std::to_string(one.size()) + " elements",
                            std::to_string(other.size())};
  }

  const RecordTolerance& tolerance_;
};

}  // namespace

std::optional<RecordDifference> first_difference(const nlohmann::json& record,
                                                 const nlohmann::json& other,
                                                 const RecordTolerance& tolerance) {
  return RecordComparison(tolerance).compare(record, other, Pointer(), tolerance.of_all);
}

}  // namespace vcap
