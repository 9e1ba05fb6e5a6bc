// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/pipeline_helpers.hpp"
#include "support/program_capsule.hpp"
#include "vcap/base/error.hpp"
#include "vcap/sources/random_access.hpp"

namespace vcap::test {

using ProcessWindow = std::function<DetectionNodes(
    std::span<const Frame>, std::span<DetectionNodes>, const OptionValues&, BaseStreamState&)>;
using ProcessFrames = std::function<std::optional<std::vector<DetectionNodes>>(
    std::span<const Frame>, std::span<DetectionNodes>)>;
using ProcessFramesOfStream = std::function<std::optional<std::vector<DetectionNodes>>(
    std::span<const Frame>, std::span<DetectionNodes>, BaseStreamState&)>;

/// A capsule with a stencil whose process_window is a function of the test.
inline std::shared_ptr<Capsule> make_window_capsule(CapsuleInfo info, ProcessWindow process) {
  class WindowBackend final : public Backend {
   public:
    explicit WindowBackend(ProcessWindow process) : process_(std::move(process)) {}
    DetectionNodes process_window(std::span<const Frame> frames, std::span<DetectionNodes> nodes,
                                  const OptionValues& options, BaseStreamState& state) override {
      return process_(frames, nodes, options, state);
    }

   private:
    const ProcessWindow process_;
  };
  info.version = std::max(info.version, 1);
  return program_capsule(std::move(info), [process = std::move(process)] {
    return std::unique_ptr<Backend>(std::make_unique<WindowBackend>(process));
  });
}

/// A capsule whose backend takes frames together, or one by one if `together` returns nullopt.
inline std::shared_ptr<Capsule> make_batch_capsule_of_streams(CapsuleInfo info,
                                                              ProcessFramesOfStream together,
                                                              Process alone) {
  class FramesBackend final : public Backend {
   public:
    FramesBackend(ProcessFramesOfStream together, Process alone)
        : together_(std::move(together)), alone_(std::move(alone)) {}
    DetectionNodes process_frame(const Frame& frame, DetectionNodes nodes,
                                 const OptionValues& options, BaseStreamState& state) override {
      return alone_(frame, std::move(nodes), options, state);
    }
    std::optional<std::vector<DetectionNodes>> process_frames(std::span<const Frame> frames,
                                                              std::span<DetectionNodes> nodes,
                                                              const OptionValues&,
                                                              BaseStreamState& state) override {
      return together_(frames, nodes, state);
    }

   private:
    const ProcessFramesOfStream together_;
    const Process alone_;
  };
  info.version = std::max(info.version, 1);
  return program_capsule(
      std::move(info), [together = std::move(together), alone = std::move(alone)] {
        return std::unique_ptr<Backend>(std::make_unique<FramesBackend>(together, alone));
      });
}

/// The same, for a backend that does not ask which stream it is.
inline std::shared_ptr<Capsule> make_batch_capsule(CapsuleInfo info, ProcessFrames together,
                                                   Process alone) {
  return make_batch_capsule_of_streams(
      std::move(info),
      [together = std::move(together)](std::span<const Frame> frames,
                                       std::span<DetectionNodes> nodes,
                                       BaseStreamState&) { return together(frames, nodes); },
      std::move(alone));
}

/// A stored source in memory. Each character stands for one frame: '.' follows the one before; '|'
/// comes after a gap, '>' after a seek, 'r' after a reconnect, 'l' after a loop; '0' is null; 'n'
/// is null after a gap; 'x' is only in the index, since it cannot be decoded. The frame after an
/// 'x' comes after a gap.
class IndexedSource final : public Source {
 public:
  explicit IndexedSource(std::string frames) : frames_(std::move(frames)) {
    for (const char kind : frames_) {
      if (kind != 'x') decoded_.push_back(follows_x_ ? '|' : kind);
      follows_x_ = kind == 'x';
    }
  }

  SourceInfo info() const override {
    return {.description = "indexed frames",
            .size = {8, 8},
            .frames = static_cast<std::int64_t>(frames_.size()),
            .has_nulls = frames_.find_first_of("0n") != std::string::npos};
  }
  std::optional<Frame> read() override {
    if (next_ == decoded_.size() || interrupted_) return std::nullopt;
    const std::size_t row = next_++;
    return frame(static_cast<std::int64_t>(row), decoded_[row]);
  }
  void interrupt() noexcept override { interrupted_ = true; }
  std::shared_ptr<const RandomAccess> random_access() override {
    return std::make_shared<Access>(frames_);
  }

 private:
  static Frame frame(std::int64_t row, char kind) {
    Frame frame{.index = row, .pts = std::chrono::milliseconds(40 * row)};
    frame.discontinuity = row == 0      ? Discontinuity::start
                          : kind == '|' ? Discontinuity::gap
                          : kind == '>' ? Discontinuity::seek
                          : kind == 'r' ? Discontinuity::reconnect
                          : kind == 'l' ? Discontinuity::loop
                                        : Discontinuity::none;
    frame.is_null = kind == '0' || kind == 'n';
    if (kind == 'n' && row > 0) frame.discontinuity = Discontinuity::gap;
    if (!frame.is_null)
      frame.image = cv::Mat(8, 8, CV_8UC3, cv::Scalar(double(row % 251), double(row / 251), 7));
    return frame;
  }

  class Access final : public RandomAccess {
   public:
    explicit Access(std::string frames) : frames_(std::move(frames)) {}
    std::int64_t frames() const override { return static_cast<std::int64_t>(frames_.size()); }
    bool is_null(std::int64_t row) const override {
      const char kind = frames_.at(static_cast<std::size_t>(row));
      return kind == '0' || kind == 'n';
    }
    std::unique_ptr<Source> open(const std::vector<RowRange>& rows) const override {
      return std::make_unique<Part>(frames_, rows);
    }

   private:
    const std::string frames_;
  };
  class Part final : public Source {
   public:
    Part(std::string frames, const std::vector<RowRange>& rows) : frames_(std::move(frames)) {
      for (const RowRange& range : rows)
        for (std::int64_t row = range.begin; row < range.end; ++row) rows_.push_back(row);
    }
    SourceInfo info() const override { return {.description = "part", .size = {8, 8}}; }
    std::optional<Frame> read() override {
      if (next_ == rows_.size() || interrupted_) return std::nullopt;
      const std::int64_t row = rows_[next_++];
      const char kind = frames_.at(static_cast<std::size_t>(row));
      if (kind == 'x')
        throw SourceError(ErrorCode::source_not_as_indexed, "frame " + std::to_string(row));
      return frame(row, kind);
    }
    void interrupt() noexcept override { interrupted_ = true; }

   private:
    const std::string frames_;
    std::vector<std::int64_t> rows_;
    std::size_t next_ = 0;
    std::atomic<bool> interrupted_{false};
  };

  const std::string frames_;
  std::string decoded_;  ///< the frames that a read in order gives
  bool follows_x_ = false;
  std::size_t next_ = 0;
  std::atomic<bool> interrupted_{false};
};

/// "3" for the frame with index 3, "-" for a null frame.
inline std::string shown(const Frame& frame) {
  return frame.is_null ? "-" : std::to_string(frame.index);
}

/// "2 3 4" for a window of frames 2, 3 and 4.
inline std::string shown(std::span<const Frame> window) {
  std::string text;
  for (const Frame& frame : window) text += (text.empty() ? "" : " ") + shown(frame);
  return text;
}

/// A node whose extra data hold that text as "note".
inline DetectionNode note(std::string name, std::string text) {
  DetectionNode node = node_at(std::move(name), 0, 0);
  node.extra_data["note"] = std::move(text);
  return node;
}

inline std::string note_of(const FrameRecord& record, const std::string& name) {
  for (const DetectionNode& node : record.objects)
    if (node.name == name) return node.extra_data.at("note").get<std::string>();
  return "no " + name;
}

inline std::vector<std::string> notes_of(const std::vector<FrameRecord>& records,
                                         const std::string& name) {
  std::vector<std::string> notes;
  for (const FrameRecord& record : records) notes.push_back(note_of(record, name));
  return notes;
}

/// Finds one node, which notes what the window showed.
inline std::shared_ptr<Capsule> make_window_noter(std::string name, Stencil stencil) {
  CapsuleInfo info = detector_info(name, name + "_note");
  info.stencil = std::move(stencil);
  return make_window_capsule(std::move(info),
                             [name](std::span<const Frame> frames, std::span<DetectionNodes>,
                                    const OptionValues&, BaseStreamState&) {
                               DetectionNodes nodes = DetectionNodes::all();
                               nodes.add(note(name + "_note", shown(frames)));
                               return nodes;
                             });
}

}  // namespace vcap::test
