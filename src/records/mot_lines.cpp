// SPDX-License-Identifier: Apache-2.0
#include "records/mot_lines.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.hpp"

namespace vcap {
namespace {

constexpr std::array<const char*, 8> kColumns{"frame", "id",     "left",       "top",
                                              "width", "height", "confidence", "class"};

std::string column_name(std::size_t column) {
  return column < kColumns.size() ? kColumns[column] : "column " + std::to_string(column + 1);
}

double read_mot_value(const InputFile& input, std::string_view text, std::size_t column,
                      const std::string& place) {
  constexpr std::string_view blanks = " \t";
  const std::size_t first = text.find_first_not_of(blanks);
  const std::string_view trimmed =
      first == std::string_view::npos
          ? std::string_view()
          : text.substr(first, text.find_last_not_of(blanks) - first + 1);
  double value = 0;
  const char* const end = trimmed.data() + trimmed.size();
  const auto [stop, failed] = std::from_chars(trimmed.data(), end, value);
  if (failed != std::errc() || stop != end || !std::isfinite(value))
    input.fail(place, column_name(column) + " is " + quote(trimmed) +
                          ", which is not a finite number; columns are frame, id, left, top, "
                          "width, height, confidence, separated by commas");
  return value;
}

std::int64_t whole(const InputFile& input, const MotLine& line, std::size_t column) {
  const double value = line.values[column];
  if (value != std::floor(value) || std::abs(value) > 9e15)
    input.fail(line.place,
               column_name(column) + " is " + number_text(value) + ", which is not a whole number");
  return static_cast<std::int64_t>(value);
}

}  // namespace

MotLine read_mot_line(const InputFile& input, std::string_view text, std::size_t number,
                      std::size_t least_columns) {
  MotLine line;
  line.place = "line " + std::to_string(number);
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    line.values.push_back(
        read_mot_value(input, text.substr(begin, end - begin), line.values.size(), line.place));
    begin = end + 1;
  }
  if (line.values.size() < least_columns)
    input.fail(line.place, "it has " + std::to_string(line.values.size()) +
                               " columns, but needs at least " + std::to_string(least_columns) +
                               "; columns are frame, id, left, top, width, height, confidence");
  line.frame = whole(input, line, 0) - 1;
  line.id = whole(input, line, 1);
  if (line.frame < 0)
    input.fail(line.place,
               "frame is " + std::to_string(line.frame + 1) + "; frames are counted from 1");
  line.box = input.box(line.values[2], line.values[3], line.values[4], line.values[5], line.place);
  if (line.values.size() == 8 || line.values.size() == 9) line.class_number = whole(input, line, 7);
  return line;
}

void MotIds::add(const InputFile& input, const MotLine& line) {
  if (seen_[line.frame].insert(line.id).second) return;
  input.fail(line.place, "frame " + std::to_string(line.frame + 1) + " has the id " +
                             std::to_string(line.id) +
                             " already; give each object of a frame its own id");
}

}  // namespace vcap
