// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/bounding_box.hpp"

namespace vcap {

/// A file of records or labels that is read; reports errors with their place in it. Thread safety:
/// value.
class VCAP_EXPORT InputFile {
 public:
  explicit InputFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const noexcept { return path_; }

  /// The file, open for reading. Throws SourceError (source_open) if it cannot be read.
  std::ifstream open() const;
  /// The whole file; throws like open().
  std::string read() const;
  /// The whole file as JSON; also throws InvalidArgument (invalid_json).
  nlohmann::json read_json() const;
  /// Calls `take` with each line that is not blank, without the line's end, and its number, from 1.
  void each_line(const std::function<void(std::string_view line, std::size_t number)>& take) const;

  /// Throws InvalidArgument (invalid_argument): "FILE, PLACE: MESSAGE".
  [[noreturn]] void fail(const std::string& place, const std::string& message) const;

  // Members of an object at `place`. Each throws like fail() if the member is of another kind, or
  // is missing and not `std::optional`.
  const nlohmann::json& array(const nlohmann::json& object, const char* key,
                              const std::string& place) const;
  std::string text(const nlohmann::json& object, const char* key, const std::string& place) const;
  std::optional<std::string> optional_text(const nlohmann::json& object, const char* key,
                                           const std::string& place) const;
  std::int64_t integer(const nlohmann::json& object, const char* key,
                       const std::string& place) const;
  std::optional<std::int64_t> optional_integer(const nlohmann::json& object, const char* key,
                                               const std::string& place) const;
  double number(const nlohmann::json& object, const char* key, const std::string& place) const;
  std::optional<double> optional_number(const nlohmann::json& object, const char* key,
                                        const std::string& place) const;
  /// The flag 0 or 1, or true or false; false if it is missing.
  bool flag(const nlohmann::json& object, const char* key, const std::string& place) const;

  /// The text as a number. Throws if it is not one, or not finite. Blanks around it are allowed.
  double number_in(std::string_view text, std::string_view what, const std::string& place) const;
  /// The same for a whole number of 64 bits.
  std::int64_t integer_in(std::string_view text, std::string_view what,
                          const std::string& place) const;

  /// Throws if the value is not finite.
  double finite(double value, const char* what, const std::string& place) const;
  /// Throws if a number is not finite or a size is negative.
  BoundingBox box(double x, double y, double width, double height, const std::string& place) const;

 private:
  const nlohmann::json& member(const nlohmann::json& object, const char* key,
                               const std::string& place) const;

  std::string path_;
};

}  // namespace vcap
