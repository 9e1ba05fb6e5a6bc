// SPDX-License-Identifier: Apache-2.0
#include "cli/eval_mot.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.hpp"
#include "cli/eval_input.hpp"

namespace vcap::cli {
namespace {

constexpr std::array<const char*, 8> kColumns{"frame", "id",     "left",       "top",
                                              "width", "height", "confidence", "class"};

/// The numbers of one line.
struct MotLine {
  std::vector<double> values;
  std::string place;
  std::int64_t frame = 0;  ///< from 0
  std::int64_t id = 0;
  BoundingBox box{};
};

std::string column_name(std::size_t column) {
  return column < kColumns.size() ? kColumns[column] : "column " + std::to_string(column + 1);
}

double read_value(const EvalInput& input, std::string_view text, std::size_t column,
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

std::int64_t whole(const EvalInput& input, const MotLine& line, std::size_t column) {
  const double value = line.values[column];
  if (value != std::floor(value) || std::abs(value) > 9e15)
    input.fail(line.place,
               column_name(column) + " is " + number_text(value) + ", which is not a whole number");
  return static_cast<std::int64_t>(value);
}

MotLine read_line(const EvalInput& input, std::string_view text, std::size_t number,
                  std::size_t least_columns) {
  MotLine line;
  line.place = "line " + std::to_string(number);
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    line.values.push_back(
        read_value(input, text.substr(begin, end - begin), line.values.size(), line.place));
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
  return line;
}

/// The ids of each frame.
class MotIds {
 public:
  void add(const EvalInput& input, const MotLine& line) {
    if (seen_[line.frame].insert(line.id).second) return;
    input.fail(line.place, "frame " + std::to_string(line.frame + 1) + " has the id " +
                               std::to_string(line.id) +
                               " already; give each object of a frame its own id");
  }

 private:
  std::unordered_map<std::int64_t, std::unordered_set<std::int64_t>> seen_;
};

TruthRole role_of(const EvalInput& input, const MotLine& line, const EvalMotClasses& classes) {
  const std::size_t columns = line.values.size();
  const bool has_class = columns == 8 || columns == 9;
  const std::int64_t number = has_class ? whole(input, line, 7) : classes.counted;
  if (std::ranges::find(classes.distractors, number) != classes.distractors.end() && has_class)
    return TruthRole::distractor;
  return number == classes.counted && line.values[6] != 0 ? TruthRole::counted
                                                          : TruthRole::bystander;
}

}  // namespace

EvalMotFrames read_mot_truth(const std::string& path, const EvalMotClasses& classes,
                             const std::string& name) {
  const EvalInput input(path);
  EvalMotFrames frames;
  MotIds ids;
  input.each_line([&](std::string_view text, std::size_t number) {
    const MotLine line = read_line(input, text, number, 7);
    if (line.id < 0)
      input.fail(line.place, "id is " + std::to_string(line.id) + "; ids of objects must be >= 0");
    ids.add(input, line);
    EvalFrame& frame = frames[line.frame];
    frame.number = line.frame;
    const TruthRole role = role_of(input, line, classes);
    frame.truth.push_back({.name = name,
                           .box = {.box = line.box,
                                   .area = line.values[4] * line.values[5],
                                   .is_ignored = role == TruthRole::distractor},
                           .track = line.id,
                           .role = role});
  });
  return frames;
}

void add_mot_results(const std::string& path, const std::string& name, EvalMotFrames& frames) {
  const EvalInput input(path);
  MotIds ids;
  input.each_line([&](std::string_view text, std::size_t number) {
    const MotLine line = read_line(input, text, number, 6);
    EvalFound found{.name = name,
                    .box = {.box = line.box,
                            .score = line.values.size() > 6 ? line.values[6] : 1,
                            .area = line.values[4] * line.values[5]}};
    if (line.id != -1) {
      ids.add(input, line);
      found.track = line.id;
    }
    EvalFrame& frame = frames[line.frame];
    frame.number = line.frame;
    frame.found.push_back(std::move(found));
  });
}

}  // namespace vcap::cli
