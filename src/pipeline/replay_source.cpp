// SPDX-License-Identifier: Apache-2.0
#include "pipeline/replay_source.hpp"

#include <algorithm>
#include <cassert>
#include <filesystem>

#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// The reason of drops for frames that the recording has lost.
constexpr const char* kDropNotRecorded = "not_recorded";

SourceInfo info_of(const std::string& folder, const RecordedStream& stream) {
  SourceInfo info{.description = "recording " +
                                 std::filesystem::path(folder).lexically_normal().string() +
                                 " of " + stream.source,
                  .size = {static_cast<int>(stream.width), static_cast<int>(stream.height)},
                  .frames_per_second = stream.frames_per_second};
  if (stream.complete) info.frames = static_cast<std::int64_t>(stream.frames);
  return info;
}

}  // namespace

std::shared_ptr<const RecordedFrame> ReplayFrames::at([[maybe_unused]] std::int64_t index) {
  assert(index == index_);
  return frame_;
}

void ReplayFrames::set(std::int64_t index, RecordedFrame frame) {
  index_ = index;
  frame_ = std::make_shared<const RecordedFrame>(std::move(frame));
}

ReplaySource::ReplaySource(const std::string& folder, const RecordedStream& stream,
                           std::unique_ptr<Source> file, std::shared_ptr<ReplayFrames> frames,
                           Rules rules)
    : reader_(folder, stream, frames->stand_ins()),
      file_(std::move(file)),
      frames_(std::move(frames)),
      rules_(std::move(rules)),
      info_(info_of(folder, stream)) {}

std::optional<Frame> ReplaySource::read() {
  if (interrupted_) return std::nullopt;
  std::optional<RecordingLine> line = reader_.read();
  if (!line) return std::nullopt;
  check_replacements(*line);
  Frame frame = frame_of(*line);
  hand_over(*std::move(line));
  return frame;
}

/// A capsule that runs has one version; that of a capsule that stands in does not matter.
void ReplaySource::check_replacements(const RecordingLine& line) const {
  if (rules_.accept_changed) return;
  for (const FrameRecord::Replacement& one : line.recorded.replacements)
    if (!frames_->stands_in(one.capsule))
      throw SourceError(
          ErrorCode::source_read,
          info_.description + ": version " + std::to_string(one.from_version) + " of capsule " +
              one.capsule + " was replaced by version " + std::to_string(one.to_version) +
              " at frame " + std::to_string(line.frame.index) +
              ", and a replay runs one version; begin after that capsule (ReplaySettings::from, "
              "--from), or run one version for all frames (accept_changed, --accept-changed)");
}

Frame ReplaySource::frame_of(const RecordingLine& line) {
  Frame frame = line.frame;
  if (file_) {
    Frame found = frame_in_file(frame.index);
    if (found.is_null == frame.is_null && found.pts == frame.pts) {
      frame.image = std::move(found.image);
      return frame;
    }
    throw SourceError(ErrorCode::source_read,
                      info_.description + ": frame " + std::to_string(frame.index) +
                          " of the file has the time " + std::to_string(found.pts.count()) +
                          " ns, and was recorded with " + std::to_string(frame.pts.count()) +
                          " ns; the file is another one, or this FFmpeg reads it otherwise; "
                          "record again");
  }
  if (!frame.is_null) frame.image = reader_.picture(line);
  return frame;
}

Frame ReplaySource::frame_in_file(std::int64_t index) {
  std::optional<Frame> frame;
  do {
    frame = file_->read();
  } while (frame && frame->index < index);
  if (frame && frame->index == index) return *std::move(frame);
  throw SourceError(ErrorCode::source_read, info_.description + ": the file has no frame " +
                                                std::to_string(index) +
                                                ", which was recorded; give the recorded file");
}

void ReplaySource::hand_over(RecordingLine line) {
  RecordedFrame& recorded = line.recorded;
  std::vector<FrameRecord::Drop> lost;
  for (const LostFrames& one : line.lost)
    lost.push_back(
        {.frame_index = one.frame_index, .reason = kDropNotRecorded, .count = one.count});
  if (!lost.empty()) recorded.discontinuities.push_back(Discontinuity::gap);
  recorded.drops.insert(recorded.drops.begin(), lost.begin(), lost.end());
  std::erase_if(recorded.option_changes, [&](const FrameRecord::OptionChange& change) {
    return rules_.own_options.contains(change.capsule + "." + change.option);
  });
  std::erase_if(recorded.config_changes, [&](const FrameRecord::ConfigChange& change) {
    return rules_.own_configs.contains(change.capsule);
  });
  std::erase_if(recorded.replacements, [&](const FrameRecord::Replacement& one) {
    return !frames_->stands_in(one.capsule);
  });
  frames_->set(line.frame.index, std::move(recorded));
}

void ReplaySource::interrupt() noexcept {
  interrupted_ = true;
  if (file_) file_->interrupt();
}

}  // namespace vcap
