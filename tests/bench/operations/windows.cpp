// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <opencv2/core.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "operations/parts.hpp"
#include "support/cpu_time.hpp"
#include "support/program_capsule.hpp"
#include "vcap/pipeline/pipeline.hpp"

namespace vcap::bench::operations {
namespace {

constexpr std::int64_t kWindows = 65'536;

/// Small frames; near frames do not share pixels.
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

/// Sees windows or single frames, and finds nothing.
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

  /// Throws if the pixels are not those of the source.
  void check(const Frame& frame) const {
    if (frame.image.data != images_[static_cast<std::size_t>(frame.index) % images_.size()].data)
      throw std::logic_error("pixels of frame " + std::to_string(frame.index) + " were copied");
  }

 private:
  const std::vector<cv::Mat>& images_;
};

std::vector<cv::Mat> pictures() {
  std::vector<cv::Mat> images;
  for (int i = 0; i < 64; ++i) images.emplace_back(12, 16, CV_8UC3, cv::Scalar::all(i));
  return images;
}

/// Microseconds of processor time per frame in a pipeline; without offsets, of single frames.
double with(const std::vector<int>& offsets, std::size_t workers) {
  const std::vector<cv::Mat> images = pictures();
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

/// A hand-written loop with one thread per core; they take frames in turn. It measures the cost of
/// sharing frames alone, without steps, states, records or their order.
class ByHand {
 public:
  explicit ByHand(const std::vector<int>& offsets)
      : offsets_(offsets.empty() ? std::vector<int>{0} : offsets),
        back_(-std::ranges::min(offsets_)),
        ahead_(std::ranges::max(offsets_)) {}

  /// Microseconds of processor time per frame.
  double run() {
    const double before = cpu_time();
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < cores(); ++i) threads.emplace_back([this] { work(); });
    threads.clear();
    return 1e6 * (cpu_time() - before) / static_cast<double>(kWindows);
  }

 private:
  void work() {
    while (const auto window = next())
      for (const Frame& frame : *window) looking_.check(frame);
  }

  /// The next window; its last frame has been read. At both ends of the stream, the edge frame is
  /// repeated.
  std::optional<std::vector<Frame>> next() {
    const std::lock_guard lock(mutex_);
    if (present_ == kWindows) return std::nullopt;
    while (first_ + std::ssize(frames_) <= std::min(present_ + ahead_, kWindows - 1))
      frames_.push_back(*source_.read());
    for (; first_ < present_ - back_; ++first_) frames_.pop_front();
    std::vector<Frame> window;
    window.reserve(offsets_.size());
    for (const int offset : offsets_)
      window.push_back(frames_[static_cast<std::size_t>(
          std::clamp<std::int64_t>(present_ + offset, 0, kWindows - 1) - first_)]);
    ++present_;
    return window;
  }

  const std::vector<int> offsets_;
  const std::int64_t back_;
  const std::int64_t ahead_;
  const std::vector<cv::Mat> images_ = pictures();
  const Looking looking_{images_};
  std::mutex mutex_;
  OwnPixels source_{images_};
  std::deque<Frame> frames_;
  std::int64_t first_ = 0;    ///< the index of the first frame in frames_
  std::int64_t present_ = 0;  ///< the frame of the next window
};

}  // namespace

std::vector<Figure> windows() {
  std::vector<Figure> figures;
  for (const auto& [name, offsets] : std::vector<std::pair<std::string, std::vector<int>>>{
           {"{-1, 0}", {-1, 0}}, {"{-1, 0, 1}", {-1, 0, 1}}, {"{-5 … 5}", {}}}) {
    std::vector<int> all = offsets;
    for (int offset = -5; offsets.empty() && offset <= 5; ++offset) all.push_back(offset);
    // One worker only assembles windows. Several workers without other work also compete with each
    // other.
    for (const auto& [whose, workers] :
         {std::pair<std::string, std::size_t>{"one worker", 1}, {"all workers", 0}})
      figures.push_back(
          {.id = "operations.1",
           .what = "a window " + name + ", " + whose + ", CPU µs of a frame over none",
           .target = 2,
           .sample = [=] { return with(all, workers) - with({}, workers); }});
    figures.push_back({.id = "operations.1",
                       .what = "floor: a window " + name + ", a thread for each core, by hand",
                       .target = 2,
                       .sample = [=] { return ByHand(all).run() - ByHand({}).run(); }});
  }
  for (const bool looks : {false, true}) {
    std::vector<int> offsets;
    for (int offset = -5; looks && offset <= 5; ++offset) offsets.push_back(offset);
    figures.push_back({.id = "operations.1",
                       .what = std::string("a frame, ") +
                               (looks ? "a window {-5 … 5}" : "no window") +
                               ", all workers, CPU µs",
                       .target = 10,
                       .sample = [=] { return with(offsets, 0); }});
  }
  return figures;
}

}  // namespace vcap::bench::operations
