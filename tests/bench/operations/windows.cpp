// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <memory>
#include <opencv2/core.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "operations/parts.hpp"
#include "support/cpu_time.hpp"
#include "support/program_capsule.hpp"
#include "vcap/runtime/pipeline.hpp"

namespace vcap::bench::operations {
namespace {

constexpr std::int64_t kWindows = 65'536;

/// Small frames, of which each has pixels of its own.
class OwnPixels final : public Source {
 public:
  explicit OwnPixels(const std::vector<cv::Mat>& images) : images_(images) {}
  SourceInfo info() const override { return {.description = "memory", .size = images_[0].size()}; }
  std::optional<Frame> read() override {
    if (next_ == kWindows) return std::nullopt;
    const auto place = static_cast<std::size_t>(next_) % images_.size();
    Frame frame{
        .image = images_[place], .index = next_, .pts = std::chrono::milliseconds(40 * next_)};
    if (next_++ == 0) frame.discontinuity = Discontinuity::start;
    return frame;
  }

 private:
  const std::vector<cv::Mat>& images_;
  std::int64_t next_ = 0;
};

/// Sees windows, or frames by themselves; finds nothing.
class Looking final : public Backend {
 public:
  explicit Looking(const std::vector<cv::Mat>& images) : images_(images) {}

  DetectionNodes process_frame(const Frame& frame, DetectionNodes, const OptionValues&,
                               BaseStreamState&) override {
    check(frame);
    return DetectionNodes::all();
  }
  DetectionNodes process_window(std::span<const Frame> frames, std::span<DetectionNodes>,
                                const OptionValues&, BaseStreamState&) override {
    for (const Frame& frame : frames) check(frame);
    return DetectionNodes::all();
  }

 private:
  /// Throws where the pixels are not those that the source gave.
  void check(const Frame& frame) const {
    if (frame.image.data != images_[static_cast<std::size_t>(frame.index) % images_.size()].data)
      throw std::logic_error("pixels of frame " + std::to_string(frame.index) + " were copied");
  }

  const std::vector<cv::Mat>& images_;
};

/// Microseconds of processor time that a frame takes in a pipeline; without offsets: by itself.
double with(const std::vector<int>& offsets, std::size_t workers) {
  std::vector<cv::Mat> images;
  for (int i = 0; i < 64; ++i) images.emplace_back(12, 16, CV_8UC3, cv::Scalar::all(i));
  CapsuleInfo info = test::finder_info("looking", "thing");
  if (!offsets.empty()) info.stencil = Stencil{.offsets = offsets};
  Pipeline pipeline({test::program_capsule(std::move(info),
                                           [&]() -> std::unique_ptr<Backend> {
                                             return std::make_unique<Looking>(images);
                                           })},
                    {.workers = workers});
  const double before = cpu_time();
  std::int64_t failed = 0;
  pipeline.open_stream({.id = "s",
                        .source = std::make_unique<OwnPixels>(images),
                        .sinks = {make_callback_sink([&](const FrameRecord& record) {
                          failed += record.errors.empty() ? 0 : 1;
                        })}});
  const StreamReport report = pipeline.wait("s");
  const double took = cpu_time() - before;
  if (report.frames != kWindows || failed > 0)
    throw std::runtime_error(std::to_string(failed) + " frames failed");
  return 1e6 * took / static_cast<double>(kWindows);
}

}  // namespace

std::vector<Figure> windows() {
  std::vector<Figure> figures;
  for (const auto& [name, offsets] : std::vector<std::pair<std::string, std::vector<int>>>{
           {"{-1, 0}", {-1, 0}}, {"{-1, 0, 1}", {-1, 0, 1}}, {"{-5 … 5}", {}}}) {
    std::vector<int> all = offsets;
    for (int offset = -5; offsets.empty() && offset <= 5; ++offset) all.push_back(offset);
    // One worker has but to assemble windows; several, with nothing else to do, get into each
    // other's way.
    for (const auto& [whose, workers] :
         {std::pair<std::string, std::size_t>{"one worker", 1}, {"all workers", 0}})
      figures.push_back(
          {.id = "operations.1",
           .what = "a window " + name + ", " + whose + ", CPU µs of a frame over none",
           .target = 2,
           .sample = [=] { return with(all, workers) - with({}, workers); }});
  }
  return figures;
}

}  // namespace vcap::bench::operations
