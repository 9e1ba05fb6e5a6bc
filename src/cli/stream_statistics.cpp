// SPDX-License-Identifier: Apache-2.0
#include "cli/stream_statistics.hpp"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <sstream>
#include <vector>

namespace vcap::cli {
namespace {

constexpr int kLabelWidth = 16;

std::ostream& label(std::ostream& out, const std::string& text) {
  return out << "  " << std::left << std::setw(kLabelWidth) << text << ' ';
}

std::string fixed(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

std::string first_of(const FrameRecord& record) {
  const FrameRecord::CapsuleError& error = record.errors.front();
  return "frame " + std::to_string(record.frame.index) + ": capsule " + error.capsule + ": " +
         error.message;
}

/// Of `all` values, how many there are of each: the middle one, or between the two.
double median_of(const std::map<std::int64_t, std::int64_t>& counts, std::int64_t all) {
  const auto at = [&](std::int64_t place) {
    auto value = counts.begin();
    for (std::int64_t passed = value->second; passed <= place; passed += value->second) ++value;
    return static_cast<double>(value->first);
  };
  return (at((all - 1) / 2) + at(all / 2)) / 2;
}

}  // namespace

void StreamStatistics::add(const FrameRecord& record) {
  if (!record.objects.empty()) ++frames_with_objects_;
  for (const DetectionNode& node : record.objects) add(node, record.frame.index);
  close_old_tracks(record.frame.index);
  if (!record.errors.empty() && !first_error_) first_error_ = first_of(record);
  ++frames_;
}

void StreamStatistics::add(const DetectionNode& node, std::int64_t frame_index) {
  ++objects_[node.name];
  for (const auto& [category, value] : node.attributes) ++attributes_[category][value];
  if (node.encoding) ++encodings_;
  if (node.track_id) {
    Track& track = tracks_[*node.track_id];
    if (track.last_frame != frame_index) ++track.frames;
    track.last_frame = frame_index;
  }
  for (const DetectionNode& child : node.children) add(child, frame_index);
}

/// A stream may run for weeks, and no tracker comes back to a track after so long.
void StreamStatistics::close_old_tracks(std::int64_t frame_index) {
  constexpr std::int64_t kLong = 10'000;
  if (frame_index < closed_until_ + kLong) return;
  closed_until_ = frame_index;
  std::erase_if(tracks_, [&](const auto& entry) {
    const Track& track = entry.second;
    if (track.last_frame >= frame_index - kLong) return false;
    ++closed_lengths_[track.frames];
    return true;
  });
}

std::map<std::int64_t, std::int64_t> StreamStatistics::track_lengths() const {
  auto lengths = closed_lengths_;
  for (const auto& [id, track] : tracks_) ++lengths[track.frames];
  return lengths;
}

void StreamStatistics::print(std::ostream& out, const Counts& counts) {
  bool first = true;
  for (const auto& [name, count] : counts) {
    out << (first ? "" : ", ") << name << ' ' << count;
    first = false;
  }
  out << (first ? "none\n" : "\n");
}

void StreamStatistics::print(std::ostream& out, const std::string& source,
                             const StreamReport& report) const {
  const double seconds = std::chrono::duration<double>(report.elapsed).count();
  const auto frames = static_cast<double>(frames_);
  out << "stream " << report.id << " (" << source << ")\n";
  label(out, "frames") << frames_ << " in " << fixed(seconds, 1) << " s, "
                       << fixed(seconds > 0 ? frames / seconds : 0, 1) << " frames/s\n";
  print(label(out, "dropped"), report.drops);
  label(out, "failed frames") << report.errors;
  if (first_error_) out << ", the first: " << *first_error_;
  out << '\n';
  print(label(out, "objects"), objects_);
  label(out, "with objects")
      << frames_with_objects_ << " frames ("
      << fixed(frames > 0 ? 100.0 * static_cast<double>(frames_with_objects_) / frames : 0, 1)
      << " %)\n";
  const auto lengths = track_lengths();
  std::int64_t tracks = 0;
  for (const auto& [length, count] : lengths) tracks += count;
  label(out, "tracks") << tracks;
  if (tracks > 0) out << ", median length " << median_of(lengths, tracks) << " frames";
  out << '\n';
  for (const auto& [category, counts] : attributes_) print(label(out, category), counts);
  label(out, "encodings") << encodings_ << '\n';
  if (report.failure) label(out, "ended early") << *report.failure << '\n';
}

}  // namespace vcap::cli
