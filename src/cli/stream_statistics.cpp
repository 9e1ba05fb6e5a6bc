// SPDX-License-Identifier: Apache-2.0
#include "cli/stream_statistics.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iomanip>
#include <sstream>
#include <vector>

#include "base/text.hpp"

namespace vcap::cli {
namespace {

std::string fixed(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

std::string drops_text(const std::map<std::string, std::int64_t>& drops) {
  std::string text;
  for (const auto& [reason, count] : drops)
    text += (text.empty() ? "" : ", ") + reason + ' ' + std::to_string(count);
  return text.empty() ? "none" : text;
}

/// The median of `all` values, given the count of each value; the mean of the two middle ones if
/// `all` is even.
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
  counts_.add(record);
  for (const DetectionNode& node : record.objects) add_tracks(node, record.frame.index);
  close_old_tracks(record.frame.index);
  ++frames_;
}

void StreamStatistics::add_tracks(const DetectionNode& node, std::int64_t frame_index) {
  if (node.track_id) {
    Track& track = tracks_[*node.track_id];
    if (track.last_frame != frame_index) ++track.frames;
    track.last_frame = frame_index;
  }
  for (const DetectionNode& child : node.children) add_tracks(child, frame_index);
}

/// A stream may run for weeks, and no tracker continues a track after so long.
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

void StreamStatistics::print(std::ostream& out, const std::string& source,
                             const StreamReport& report) const {
  const double seconds = std::chrono::duration<double>(report.elapsed).count();
  const auto frames = static_cast<double>(frames_);
  out << "stream " << printable(report.id) << " (" << printable(source) << ")\n";
  print_label(out, "frames") << frames_ << " in " << fixed(seconds, 1) << " s, "
                             << fixed(seconds > 0 ? frames / seconds : 0, 1) << " frames/s\n";
  if (report.slices > 1) print_label(out, "slices") << report.slices << '\n';
  if (!report.not_sliced.empty())
    print_label(out, "slices") << "none: " << report.not_sliced << '\n';
  print_label(out, "dropped") << drops_text(report.drops) << '\n';
  if (report.broken_pictures.count > 0)
    print_label(out, "broken pictures") << to_string(report.broken_pictures) << ", skipped\n";
  counts_.print_objects(out);
  const auto lengths = track_lengths();
  std::int64_t tracks = 0;
  for (const auto& [length, count] : lengths) tracks += count;
  print_label(out, "tracks") << tracks;
  if (tracks > 0) {
    const double median = median_of(lengths, tracks);  // whole, or a half
    out << ", median length " << fixed(median, std::floor(median) == median ? 0 : 1)
        << (median == 1 ? " frame" : " frames");
  }
  out << '\n';
  counts_.print_details(out);
  if (report.failure) print_label(out, "ended early") << *report.failure << '\n';
}

}  // namespace vcap::cli
