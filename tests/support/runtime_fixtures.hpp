// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <opencv2/core.hpp>

#include "support/bounded_wait.hpp"
#include "support/isolated_capsule.hpp"
#include "support/temporary_folder.hpp"
#include "vcap/capsule/base_capsule.hpp"
#include "vcap/capsule/capsule.hpp"
#include "vcap/records/frame_record.hpp"
#include "vcap/sources/source.hpp"

namespace vcap::test {

/// Holds the info of its stream, and the number of frames that the capsule has counted.
struct CountingState final : BaseStreamState {
  explicit CountingState(const StreamInfo& given) : info(given) {}
  StreamInfo info;
  int frames = 0;
};

using Process = std::function<DetectionNodes(const Frame&, DetectionNodes, const OptionValues&,
                                             BaseStreamState&)>;

/// A capsule of this process whose process_frame is a function of the test.
inline std::shared_ptr<Capsule> make_capsule(CapsuleInfo info, Process process,
                                             bool inference_mode = true) {
  class FunctionBackend final : public Backend {
   public:
    explicit FunctionBackend(Process process) : process_(std::move(process)) {}
    DetectionNodes process_frame(const Frame& frame, DetectionNodes nodes,
                                 const OptionValues& options, BaseStreamState& state) override {
      return process_(frame, std::move(nodes), options, state);
    }

   private:
    const Process process_;
  };
  class FunctionCapsule final : public BaseCapsule {
   public:
    explicit FunctionCapsule(Process process) : process_(std::move(process)) {}
    std::unique_ptr<Backend> load_backend(const CapsuleFiles&, const std::string&) override {
      return std::make_unique<FunctionBackend>(process_);
    }

   private:
    const Process process_;
  };
  info.version = std::max(info.version, 1);
  Capsule::Setup setup;
  setup.devices = {"CPU:0"};
  setup.inference_mode = inference_mode;
  return kept_capsule_of(std::move(info), std::make_unique<FunctionCapsule>(std::move(process)),
                         std::move(setup));
}

/// A capsule that takes no nodes and finds nodes with that name.
inline CapsuleInfo detector_info(std::string name, std::string finds) {
  return {.name = std::move(name),
          .input_type = {.size = NodeDescription::Size::none},
          .output_type = {.size = NodeDescription::Size::all, .detections = {std::move(finds)}}};
}

/// A node of 10 × 10 pixels with its upper left corner at x, y.
inline DetectionNode node_at(std::string name, double x, double y) {
  return {.name = std::move(name), .coords = rect_to_coords(cv::Rect2d(x, y, 10, 10))};
}

/// A detector that finds `count` nodes in each frame, the first at x = the frame's index.
inline std::shared_ptr<Capsule> make_detector(std::string name, std::string finds, int count = 1) {
  return make_capsule(
      detector_info(std::move(name), finds),
      [finds, count](const Frame& frame, DetectionNodes, const OptionValues&, BaseStreamState&) {
        DetectionNodes nodes = DetectionNodes::all();
        for (int i = 0; i < count; ++i)
          nodes.add(node_at(finds, static_cast<double>(frame.index), 20.0 * i));
        return nodes;
      });
}

/// Gives frames that it makes in memory.
class MemorySource : public Source {
 public:
  struct Plan {
    std::int64_t frames = 10;  ///< below 0: endless
    bool live = false;
    cv::Size size{16, 12};
    /// Called before each frame is given: to throw, to change it, to wait.
    std::function<void(Frame&)> before{};
    std::function<void()> after_last{};  ///< called when read() reaches the end
    std::function<void()> on_interrupt{};
    std::atomic<std::int64_t>* given = nullptr;  ///< counts frames given
  };
  explicit MemorySource(Plan plan) : plan_(std::move(plan)) {}

  SourceInfo info() const override {
    return {.description = "memory", .size = plan_.size, .live = plan_.live};
  }
  std::optional<Frame> read() override {
    if (next_ == plan_.frames || interrupted_) {
      if (plan_.after_last) plan_.after_last();
      return std::nullopt;
    }
    Frame frame{.image = cv::Mat(plan_.size, CV_8UC3, cv::Scalar::all(double(next_ % 256))),
                .index = next_,
                .pts = std::chrono::milliseconds(40 * next_),
                .discontinuity = next_ == 0 ? Discontinuity::start : Discontinuity::none};
    if (plan_.before) plan_.before(frame);
    ++next_;
    if (plan_.given) ++*plan_.given;
    return frame;
  }
  void interrupt() noexcept override {
    interrupted_ = true;
    if (plan_.on_interrupt) plan_.on_interrupt();
  }

 private:
  const Plan plan_;
  std::int64_t next_ = 0;
  std::atomic<bool> interrupted_{false};
};

inline std::unique_ptr<Source> make_source(std::int64_t frames) {
  return std::make_unique<MemorySource>(MemorySource::Plan{.frames = frames});
}

}  // namespace vcap::test
