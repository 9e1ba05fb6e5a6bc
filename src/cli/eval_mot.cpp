// SPDX-License-Identifier: Apache-2.0
#include "cli/eval_mot.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "records/input_file.hpp"
#include "records/mot_lines.hpp"

namespace vcap::cli {
namespace {

TruthRole role_of(const MotLine& line, const EvalMotClasses& classes) {
  const std::int64_t number = line.class_number.value_or(classes.counted);
  if (line.class_number &&
      std::ranges::find(classes.distractors, number) != classes.distractors.end())
    return TruthRole::distractor;
  return number == classes.counted && line.values[6] != 0 ? TruthRole::counted
                                                          : TruthRole::bystander;
}

}  // namespace

EvalMotFrames read_mot_truth(const std::string& path, const EvalMotClasses& classes,
                             const std::string& name) {
  const InputFile input(path);
  EvalMotFrames frames;
  MotIds ids;
  input.each_line([&](std::string_view text, std::size_t number) {
    const MotLine line = read_mot_line(input, text, number, 7);
    if (line.id < 0)
      input.fail(line.place, "id is " + std::to_string(line.id) + "; ids of objects must be >= 0");
    ids.add(input, line);
    EvalFrame& frame = frames[line.frame];
    frame.number = line.frame;
    const TruthRole role = role_of(line, classes);
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
  const InputFile input(path);
  MotIds ids;
  input.each_line([&](std::string_view text, std::size_t number) {
    const MotLine line = read_mot_line(input, text, number, 6);
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
