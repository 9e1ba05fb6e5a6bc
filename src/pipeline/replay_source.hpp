// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "records/recording_reader.hpp"
#include "vcap/records/recorded_frames.hpp"
#include "vcap/sources/source.hpp"

namespace vcap {

/// What a stream's frames had when they were recorded. Its source fills it. Thread safety: as
/// RecordedFrames.
class ReplayFrames final : public RecordedFrames {
 public:
  explicit ReplayFrames(std::set<std::string> stand_ins) : stand_ins_(std::move(stand_ins)) {}

  const std::set<std::string>& stand_ins() const noexcept { return stand_ins_; }
  bool stands_in(const std::string& capsule) const override { return stand_ins_.contains(capsule); }
  std::shared_ptr<const RecordedFrame> at(std::int64_t index) override;
  /// The source gives that frame now. [source thread]
  void set(std::int64_t index, RecordedFrame frame);

 private:
  const std::set<std::string> stand_ins_;
  std::int64_t index_ = -1;
  std::shared_ptr<const RecordedFrame> frame_;
};

/// Gives the frames of a recorded stream: those that the recording has, and no others. Thread
/// safety: as Source.
class ReplaySource final : public Source {
 public:
  struct Rules {
    bool accept_changed = false;
    /// Options whose recorded changes are left out, as "capsule.option".
    std::set<std::string> own_options{};
    std::set<std::string>
        own_configs{};  ///< capsules whose recorded changes of config are left out
  };

  /// `file`: the source of the pictures; null if the recording has them. Throws SourceError
  /// (source_open).
  ReplaySource(const std::string& folder, const RecordedStream& stream,
               std::unique_ptr<Source> file, std::shared_ptr<ReplayFrames> frames, Rules rules);

  SourceInfo info() const override { return info_; }
  std::optional<Frame> read() override;
  void interrupt() noexcept override;

 private:
  void check_replacements(const RecordingLine& line) const;
  Frame frame_of(const RecordingLine& line);
  Frame frame_in_file(std::int64_t index);
  void hand_over(RecordingLine line);

  RecordingReader reader_;
  const std::unique_ptr<Source> file_;
  const std::shared_ptr<ReplayFrames> frames_;
  const Rules rules_;
  SourceInfo info_;
  std::atomic<bool> interrupted_ = false;
};

}  // namespace vcap
