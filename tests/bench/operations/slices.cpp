// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "operations/parts.hpp"
#include "support/program_capsule.hpp"
#include "support/temporary_folder.hpp"
#include "support/turns.hpp"
#include "support/video.hpp"
#include "vcap/pipeline/pipeline.hpp"

namespace vcap::bench::operations {
namespace {

constexpr std::size_t kBefore = 5;  // a frame is compared with the median of so many before it
const auto kSlicedFrames = workload<std::int64_t>(795, 240);

/// The last frames of a stream; their median is the background.
class Recent final : public BaseStreamState {
 public:
  /// How many values of the frame differ from the median of the frames before it. Uses one thread.
  int changed(const cv::Mat& image) {
    int count = 0;
    if (recent_.size() == kBefore)
      for (int y = 0; y < image.rows; ++y) count += changed_in_row(image, y);
    recent_.push_back(image);
    if (recent_.size() > kBefore) recent_.pop_front();
    return count;
  }

 private:
  int changed_in_row(const cv::Mat& image, int y) const {
    std::array<const std::uint8_t*, kBefore> rows{};
    std::ranges::transform(recent_, rows.begin(),
                           [y](const cv::Mat& one) { return one.ptr<std::uint8_t>(y); });
    const auto* present = image.ptr<std::uint8_t>(y);
    int count = 0;
    for (int x = 0; x < 3 * image.cols; ++x) {
      std::array<std::uint8_t, kBefore> values{};
      for (std::size_t i = 0; i < rows.size(); ++i) values[i] = rows[i][x];
      std::ranges::nth_element(values, values.begin() + values.size() / 2);
      if (std::abs(values[values.size() / 2] - present[x]) > 25) ++count;
    }
    return count;
  }

  std::deque<cv::Mat> recent_;
};

std::shared_ptr<Capsule> median_capsule() {
  CapsuleInfo info = test::finder_info("median", "change");
  info.output_type.extra_data = {"values"};
  info.stream_state = make_stream_state<Recent>();
  info.warmup = kBefore;
  return test::program_capsule(std::move(info), [](const Frame& frame, DetectionNodes,
                                                   const OptionValues&, BaseStreamState& state) {
    DetectionNodes nodes = DetectionNodes::all();
    nodes.add({.name = "change",
               .extra_data = {{"values", static_cast<Recent&>(state).changed(frame.image)}}});
    return nodes;
  });
}

/// The records of the stream, as lines of JSON.
std::string records(std::size_t slices) {
  Pipeline pipeline({median_capsule()});
  std::string lines;
  pipeline.open_stream(
      {.id = "s",
       .source = open_source(footage()),
       .sinks = {make_callback_sink(
           [&](const FrameRecord& record) { lines += nlohmann::json(record).dump() + '\n'; },
           false)},
       .max_frames = kSlicedFrames,
       .slices = slices});
  const StreamReport report = pipeline.wait("s");
  if (report.failure || report.frames != kSlicedFrames)
    throw std::runtime_error("the stream ended with " + std::to_string(report.frames) + " frames");
  if (slices == 0 && report.slices < 2 && cores() > 1)
    throw std::runtime_error("it was not cut, since " + report.not_sliced);
  return lines;
}

/// Throws if the records differ from those in the file. If there is no file, writes them to it.
void run_in_pipeline(std::size_t slices, const std::filesystem::path& file) {
  const std::string lines = records(slices);
  if (std::ifstream before(file); before) {
    if (lines != std::string(std::istreambuf_iterator<char>(before), {}))
      throw std::runtime_error("slices gave other records");
    return;
  }
  const std::filesystem::path part = file.string() + std::to_string(::getpid());
  std::ofstream(part) << lines;
  std::filesystem::rename(part, file);
}

/// By hand: each core has its own source and its part of the frames, with the frames before it.
void run_by_threads(std::int64_t parts) {
  std::vector<std::jthread> threads;
  for (std::int64_t part = 0; part < parts; ++part)
    threads.emplace_back([=] {
      const std::int64_t begin = kSlicedFrames * part / parts;
      const std::int64_t end = kSlicedFrames * (part + 1) / parts;
      const std::int64_t from = std::max<std::int64_t>(begin - std::int64_t{kBefore}, 0);
      const auto source = open_source(footage(), {.sampler = Sampler::ranges({{from, end}})});
      Recent state;
      while (const auto frame = source->read()) state.changed(frame->image);
    });
}

/// The rate of `run`, divided by that of one go. It runs once per core, so that both take about as
/// long.
double rate(const std::function<void(const std::filesystem::path& records)>& run) {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder / "records";
  const unsigned times = cores();
  const std::vector<double> took = seconds_in_turns({[=] { run_in_pipeline(1, file); },
                                                     [=] {
                                                       for (unsigned i = 0; i < times; ++i)
                                                         run(file);
                                                     }});
  return took[0] * times / took[1];
}

}  // namespace

std::vector<Figure> slices() {
  const auto line = [](const std::string& what, double target, auto run) {
    return Figure{.id = "operations.1",
                  .what = what,
                  .target = target,
                  .better = Better::higher,
                  .sample = [run] { return rate(run); },
                  .samples = 3};
  };
  return {line("a bounded capsule in slices, rate of one go", 1.8,
               [](const auto& file) { run_in_pipeline(0, file); }),
          line("floor: a thread and a part of the video for each core, by hand", 1.8,
               [](const auto&) { run_by_threads(cores()); })};
}

}  // namespace vcap::bench::operations
