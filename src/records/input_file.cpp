// SPDX-License-Identifier: Apache-2.0
#include "records/input_file.hpp"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "files/strict_json.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// The value as in the file, shortened.
std::string shown_value(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return printable(text);
}

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

[[noreturn]] void fail_to_open(const std::string& path) {
  const std::error_code reason(errno, std::generic_category());
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  throw SourceError(
      ErrorCode::source_open,
      path + " cannot be read: " +
          (is_folder ? "it is a folder; name a file" : reason.message() + "; check the path"));
}

std::ifstream open_to_read(const std::string& path) {
  std::error_code ignored;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, ignored)) fail_to_open(path);
  return file;
}

}  // namespace

std::ifstream InputFile::open() const { return open_to_read(path_); }

std::string InputFile::read() const {
  std::ifstream file = open_to_read(path_);
  std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) fail_to_open(path_);
  return content;
}

nlohmann::json InputFile::read_json() const {
  try {
    return parse_strictly(read());
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(ErrorCode::invalid_json,
                          path_ + ": " + error.what() + "; the file must contain one JSON value");
  }
}

void InputFile::each_line(
    const std::function<void(std::string_view line, std::size_t number)>& take) const {
  std::ifstream file = open_to_read(path_);
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::string_view view = line;
    if (number == 1 && view.starts_with(kByteOrderMark)) view.remove_prefix(3);
    if (view.ends_with('\r')) view.remove_suffix(1);
    if (view.find_first_not_of(" \t") != std::string_view::npos) take(view, number);
  }
  if (file.bad()) fail_to_open(path_);
}

void InputFile::fail(const std::string& place, const std::string& message) const {
  throw InvalidArgument(ErrorCode::invalid_argument,
                        path_ + (place.empty() ? "" : ", " + place) + ": " + message);
}

const nlohmann::json& InputFile::member(const nlohmann::json& object, const char* key,
                                        const std::string& place) const {
  if (!object.is_object()) fail(place, shown_value(object) + " is not an object");
  const auto found = object.find(key);
  if (found == object.end()) fail(place, quote(key) + " is missing");
  return *found;
}

const nlohmann::json& InputFile::array(const nlohmann::json& object, const char* key,
                                       const std::string& place) const {
  const nlohmann::json& value = member(object, key, place);
  if (!value.is_array())
    fail(place, quote(key) + " is " + shown_value(value) + ", which is not a list");
  return value;
}

std::string InputFile::text(const nlohmann::json& object, const char* key,
                            const std::string& place) const {
  const nlohmann::json& value = member(object, key, place);
  if (!value.is_string())
    fail(place, quote(key) + " is " + shown_value(value) + ", which is not text");
  return value.get<std::string>();
}

std::optional<std::string> InputFile::optional_text(const nlohmann::json& object, const char* key,
                                                    const std::string& place) const {
  if (object.is_object() && !object.contains(key)) return std::nullopt;
  return text(object, key, place);
}

std::int64_t InputFile::integer(const nlohmann::json& object, const char* key,
                                const std::string& place) const {
  const nlohmann::json& value = member(object, key, place);
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<std::uint64_t>() > most))
    fail(place,
         quote(key) + " is " + shown_value(value) + ", which is not a whole number of 64 bits");
  return value.get<std::int64_t>();
}

std::optional<std::int64_t> InputFile::optional_integer(const nlohmann::json& object,
                                                        const char* key,
                                                        const std::string& place) const {
  if (object.is_object() && !object.contains(key)) return std::nullopt;
  return integer(object, key, place);
}

double InputFile::number(const nlohmann::json& object, const char* key,
                         const std::string& place) const {
  const nlohmann::json& value = member(object, key, place);
  if (!value.is_number())
    fail(place, quote(key) + " is " + shown_value(value) + ", which is not a finite number");
  return finite(value.get<double>(), key, place);
}

std::optional<double> InputFile::optional_number(const nlohmann::json& object, const char* key,
                                                 const std::string& place) const {
  if (object.is_object() && !object.contains(key)) return std::nullopt;
  return number(object, key, place);
}

bool InputFile::flag(const nlohmann::json& object, const char* key,
                     const std::string& place) const {
  if (object.is_object() && !object.contains(key)) return false;
  const nlohmann::json& value = member(object, key, place);
  if (value.is_boolean()) return value.get<bool>();
  const bool is_set = value == 1;
  if (is_set || value == 0) return is_set;
  fail(place, quote(key) + " is " + shown_value(value) + "; it must be 0 or 1");
}

double InputFile::number_in(std::string_view text, std::string_view what,
                            const std::string& place) const {
  const std::string_view trimmed = without_blanks(text);
  double value = 0;
  const char* const end = trimmed.data() + trimmed.size();
  const auto [stop, failed] = std::from_chars(trimmed.data(), end, value);
  if (failed != std::errc() || stop != end || !std::isfinite(value))
    fail(place, std::string(what) + " is " + quote(trimmed) + ", which is not a finite number");
  return value;
}

std::int64_t InputFile::integer_in(std::string_view text, std::string_view what,
                                   const std::string& place) const {
  const std::string_view trimmed = without_blanks(text);
  std::int64_t value = 0;
  const char* const end = trimmed.data() + trimmed.size();
  const auto [stop, failed] = std::from_chars(trimmed.data(), end, value);
  if (failed != std::errc() || stop != end)
    fail(place,
         std::string(what) + " is " + quote(trimmed) + ", which is not a whole number of 64 bits");
  return value;
}

double InputFile::finite(double value, const char* what, const std::string& place) const {
  if (!std::isfinite(value))
    fail(place, quote(what) + " is " + number_text(value) + ", which is not a finite number");
  return value;
}

BoundingBox InputFile::box(double x, double y, double width, double height,
                           const std::string& place) const {
  for (const auto& [value, what] : {std::pair{x, "x"}, std::pair{y, "y"}, std::pair{width, "width"},
                                    std::pair{height, "height"}})
    finite(value, what, place);
  if (width < 0 || height < 0)
    fail(place, "the box's size is " + number_text(width) + " x " + number_text(height) +
                    "; width and height must be >= 0");
  const BoundingBox box{x, y, x + width, y + height};
  finite(box.x2, "x + width", place);
  finite(box.y2, "y + height", place);
  return box;
}

}  // namespace vcap
