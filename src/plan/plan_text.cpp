// SPDX-License-Identifier: Apache-2.0
// A plan as text, as a graph and as JSON.
#include <map>
#include <sstream>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "plan/plan_phrases.hpp"
#include "vcap/plan/plan.hpp"

namespace vcap {
namespace {

/// A quoted string in Graphviz's language. A line ends at the first space after `width` bytes, to
/// limit the width of boxes.
std::string dot_text(std::string_view text, std::size_t width = 40) {
  std::string quoted = "\"";
  std::size_t column = 0;
  for (const char c : text) {
    ++column;
    if (c == '\n' || (c == ' ' && column > width)) {
      quoted += "\\n";
      column = 0;
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string describe_inputs(const Plan::Step& step) {
  std::string words = plan_phrases::describe_needs(step.needs);
  for (const std::string& picture : plan_phrases::describe(step.takes_pictures, true))
    words += "; " + picture;
  return words;
}

std::string describe_additions(const Plan::Step& step) {
  std::string adds = plan_phrases::describe(step.adds);
  for (const std::string& picture : plan_phrases::describe(step.gives_pictures, true))
    adds += (adds.empty() ? "" : "; ") + picture;
  return adds.empty() ? "nothing new" : adds;
}

std::string box(std::size_t capsule) { return "capsule" + std::to_string(capsule); }

}  // namespace

std::string Plan::explain() const {
  std::ostringstream text;
  if (steps_.empty()) text << "No capsules: frames pass unchanged.\n";
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    text << i + 1 << ". " << step.name << '\n'
         << "   needs  " << describe_inputs(step) << '\n'
         << "   adds   " << describe_additions(step) << '\n';
    for (const std::string& words : step.over_time) text << "   time   " << words << '\n';
    for (const std::string& reason : step.reasons) text << "   why    " << reason << '\n';
    for (const Conflict& conflict : conflicts_)
      if (conflict.second == step.capsule) text << "   but    " << conflict.text << '\n';
  }
  for (const LeftOut& out : left_out_)
    text << "-  " << out.name << ", left out\n   why    " << out.reason << '\n';
  if (look_ahead_ > 0)
    text << "Each record waits for the next "
         << (look_ahead_ == 1 ? "frame" : counted(look_ahead_, "frame"))
         << ", which windows include.\n";
  return text.str();
}

std::string Plan::to_dot() const {
  std::ostringstream text;
  text << "digraph plan {\n  rankdir=LR;\n  node [shape=box];\n  frame [shape=ellipse];\n";
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    text << "  " << box(step.capsule) << " [label="
         << dot_text(std::to_string(i + 1) + ". " + step.name + "\nadds " +
                     describe_additions(step))
         << "];\n";
    if (step.fed_by.empty()) text << "  frame -> " << box(step.capsule) << ";\n";
    for (std::size_t j = 0; j < step.fed_by.size(); ++j)
      text << "  " << box(step.fed_by[j]) << " -> " << box(step.capsule)
           << " [label=" << dot_text(step.supplies[j]) << "];\n";
  }
  for (const Conflict& conflict : conflicts_)
    text << "  " << box(conflict.first) << " -> " << box(conflict.second)
         << " [style=dashed, color=red, fontcolor=red, label=" << dot_text(conflict.text) << "];\n";
  for (const LeftOut& out : left_out_)
    text << "  " << box(out.capsule)
         << " [style=dashed, label=" << dot_text(out.name + "\nleft out: " + out.reason) << "];\n";
  text << "}\n";
  return text.str();
}

void to_json(nlohmann::json& json, const Plan& plan) {
  std::map<std::size_t, std::string> names;
  for (const Plan::Step& step : plan.steps()) names.emplace(step.capsule, step.name);
  nlohmann::json steps = nlohmann::json::array();
  for (const Plan::Step& step : plan.steps()) {
    nlohmann::json fed_by = nlohmann::json::array();
    for (const std::size_t place : step.fed_by) fed_by.push_back(names.at(place));
    nlohmann::json one = {{"capsule", step.name},        {"place", step.capsule},
                          {"needs", step.needs},         {"adds", step.adds},
                          {"fed_by", std::move(fed_by)}, {"supplies", step.supplies},
                          {"reasons", step.reasons},     {"over_time", step.over_time}};
    if (!step.takes_pictures.empty()) one["takes_pictures"] = step.takes_pictures;
    if (!step.gives_pictures.empty()) one["gives_pictures"] = step.gives_pictures;
    steps.push_back(std::move(one));
  }
  nlohmann::json conflicts = nlohmann::json::array();
  for (const Plan::Conflict& conflict : plan.conflicts())
    conflicts.push_back({{"first", names.at(conflict.first)},
                         {"second", names.at(conflict.second)},
                         {"text", conflict.text}});
  nlohmann::json left_out = nlohmann::json::array();
  for (const Plan::LeftOut& out : plan.left_out())
    left_out.push_back({{"capsule", out.name}, {"place", out.capsule}, {"reason", out.reason}});
  json = {{"schema", "vcap.plan/1"},
          {"steps", std::move(steps)},
          {"conflicts", std::move(conflicts)},
          {"left_out", std::move(left_out)},
          {"look_ahead", plan.look_ahead()}};
}

}  // namespace vcap
