// SPDX-License-Identifier: Apache-2.0
#include "records/record_counts.hpp"

#include <cstdio>
#include <iomanip>

#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace vcap {
namespace {

std::string error_text(const FrameRecord& record) {
  const FrameRecord::CapsuleError& error = record.errors.front();
  return "frame " + std::to_string(record.frame.index) + ": capsule " + error.capsule + ": " +
         error.message;
}

void add_up(RecordCounts::Counts& sums, const RecordCounts::Counts& counts) {
  for (const auto& [name, count] : counts) sums[name] += count;
}

void print_counts(std::ostream& out, const RecordCounts::Counts& counts) {
  bool first = true;
  for (const auto& [name, count] : counts) {
    out << (first ? "" : ", ") << name << ' ' << count;
    first = false;
  }
  out << (first ? "none\n" : "\n");
}

std::string percent(std::int64_t part, std::int64_t whole) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%",
                whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0);
  return text;
}

}  // namespace

void RecordCounts::add(const FrameRecord& record) {
  ++frames;
  if (!record.errors.empty() && failed_frames++ == 0) first_error = error_text(record);
  if (!record.objects.empty()) ++frames_with_objects;
  for (const DetectionNode& node : record.objects) add(node);
}

void RecordCounts::add(const DetectionNode& node) {
  ++objects[node.name];
  for (const auto& [category, value] : node.attributes) ++attributes[category][value];
  if (node.encoding) ++encodings;
  for (const DetectionNode& child : node.children) add(child);
}

void RecordCounts::add(const RecordCounts& later) {
  frames += later.frames;
  if (failed_frames == 0) first_error = later.first_error;
  failed_frames += later.failed_frames;
  frames_with_objects += later.frames_with_objects;
  add_up(objects, later.objects);
  for (const auto& [category, counts] : later.attributes) add_up(attributes[category], counts);
  encodings += later.encodings;
  broken_pictures.add(later.broken_pictures);
}

void RecordCounts::print_objects(std::ostream& out) const {
  if (broken_pictures.count > 0)
    print_label(out, "broken pictures") << to_string(broken_pictures) << ", skipped\n";
  print_label(out, "failed frames") << failed_frames;
  if (failed_frames > 0) out << ", the first: " << first_error;
  out << '\n';
  print_counts(print_label(out, "objects"), objects);
  print_label(out, "with objects") << counted(frames_with_objects, "frame") << " ("
                                   << percent(frames_with_objects, frames) << ")\n";
}

void RecordCounts::print_details(std::ostream& out) const {
  for (const auto& [category, counts] : attributes)
    print_counts(print_label(out, category), counts);
  print_label(out, "encodings") << encodings << '\n';
}

std::ostream& print_label(std::ostream& out, const std::string& text) {
  constexpr int kWidth = 16;
  return out << "  " << std::left << std::setw(kWidth) << text << ' ';
}

void to_json(nlohmann::json& json, const RecordCounts& counts) {
  json = {{"frames", counts.frames},           {"failed_frames", counts.failed_frames},
          {"first_error", counts.first_error}, {"frames_with_objects", counts.frames_with_objects},
          {"objects", counts.objects},         {"attributes", counts.attributes},
          {"encodings", counts.encodings},     {"broken_pictures", counts.broken_pictures}};
}

void from_json(const nlohmann::json& json, RecordCounts& counts) {
  json.at("frames").get_to(counts.frames);
  json.at("failed_frames").get_to(counts.failed_frames);
  json.at("first_error").get_to(counts.first_error);
  json.at("frames_with_objects").get_to(counts.frames_with_objects);
  json.at("objects").get_to(counts.objects);
  json.at("attributes").get_to(counts.attributes);
  json.at("encodings").get_to(counts.encodings);
  json.at("broken_pictures").get_to(counts.broken_pictures);
}

}  // namespace vcap
