// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstddef>
#include <latch>
#include <memory>
#include <opencv2/core.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "streams/parts.hpp"
#include "support/cpu_time.hpp"
#include "support/program_capsule.hpp"
#include "vcap/pipeline/pipeline.hpp"

namespace vcap::bench::streams {
namespace {

constexpr int kFrames = 65'536;  // per sample, over all streams; their number divides it

/// Holds streams back until all are open, and keeps them open until the measurement is over. So
/// their begin and end do not count.
struct Gates {
  explicit Gates(int streams) : arrived(streams) {}
  std::latch arrived;
  std::latch begin{1}, done{1}, end{1};
  std::atomic<int> left{kFrames};
};

/// Small frames that share their pixels.
class TinyFrames final : public Source {
 public:
  TinyFrames(int frames, Gates& gates) : frames_(frames), gates_(gates) {}

  SourceInfo info() const override { return {.description = "memory", .size = image_.size()}; }
  std::optional<Frame> read() override {
    if (next_ == 0) {
      gates_.arrived.count_down();
      gates_.begin.wait();
    }
    if (next_ == frames_) {
      gates_.end.wait();
      return {};
    }
    Frame frame{.image = image_, .index = next_, .pts = std::chrono::milliseconds(40 * next_)};
    if (next_++ == 0) frame.discontinuity = Discontinuity::start;
    return frame;
  }

 private:
  const int frames_;
  Gates& gates_;
  const cv::Mat image_ = cv::Mat(12, 16, CV_8UC3, cv::Scalar::all(0));
  int next_ = 0;
};

std::shared_ptr<Sink> counting_sink(Gates& gates) {
  return make_callback_sink([&gates](const FrameRecord&) {
    if (--gates.left == 0) gates.done.count_down();
  });
}

class NoState final : public BaseStreamState {};

std::vector<std::shared_ptr<Capsule>> empty_capsules(int count, bool stateful) {
  std::vector<std::shared_ptr<Capsule>> capsules;
  for (int i = 0; i < count; ++i) {
    CapsuleInfo info =
        test::finder_info("empty_" + std::to_string(i), "thing " + std::to_string(i));
    if (stateful) info.stream_state = make_stream_state<NoState>();
    capsules.push_back(test::program_capsule(
        std::move(info), [](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState&) {
          return DetectionNodes::all();
        }));
  }
  return capsules;
}

/// Microseconds of processor time per frame in a pipeline.
double in_pipeline(int streams, int capsules, bool stateful) {
  Gates gates(streams);
  Pipeline pipeline(empty_capsules(capsules, stateful));
  const std::shared_ptr<Sink> sink = counting_sink(gates);
  for (int i = 0; i < streams; ++i)
    pipeline.open_stream({.id = std::to_string(i),
                          .source = std::make_unique<TinyFrames>(kFrames / streams, gates),
                          .sinks = {sink}});
  gates.arrived.wait();
  const double before = cpu_time();
  gates.begin.count_down();
  gates.done.wait();
  const double took = cpu_time() - before;
  gates.end.count_down();
  for (int i = 0; i < streams; ++i) pipeline.wait(std::to_string(i));
  return 1e6 * took / kFrames;
}

/// The same in a loop that only reads and writes: the part that the pipeline does not cause.
double in_bare_loop() {
  Gates gates(1);
  gates.begin.count_down();
  gates.end.count_down();
  TinyFrames source(kFrames, gates);
  const std::shared_ptr<Sink> sink = counting_sink(gates);
  const double before = cpu_time();
  while (auto frame = source.read()) sink->write({.stream_id = "0", .frame = *std::move(frame)});
  return 1e6 * (cpu_time() - before) / kFrames;
}

}  // namespace

std::vector<Figure> frame_cost() {
  std::vector<Figure> figures;
  for (const bool stateful : {false, true}) {
    const std::string kind = stateful ? "stateful" : "stateless";
    figures.push_back({.id = "streams.2",
                       .what = "a frame, an empty " + kind + " capsule, CPU µs over a bare loop",
                       .target = 10,
                       .sample = [=] { return in_pipeline(1, 1, stateful) - in_bare_loop(); }});
    figures.push_back({.id = "streams.2",
                       .what = "each further empty " + kind + " capsule, CPU µs (4 beyond 1)",
                       .target = 10,
                       .sample = [=] {
                         const double one = in_pipeline(1, 1, stateful);
                         return (in_pipeline(1, 4, stateful) - one) / 3;
                       }});
    figures.push_back(
        {.id = "streams.2",
         .what = "a frame in 128 streams through 12 empty " + kind + " capsules, CPU µs a capsule",
         .target = 10,
         .sample = [=] { return in_pipeline(128, 12, stateful) / 12; }});
    for (const int streams : {16, 128, 1024})
      figures.push_back({.id = "streams.2",
                         .what = "a frame in " + std::to_string(streams) + " streams, " + kind +
                                 ", CPU time of one stream's",
                         .target = 1.2,
                         .sample = [=] {
                           return ratio([=] { return in_pipeline(streams, 1, stateful); },
                                        [=] { return in_pipeline(1, 1, stateful); });
                         }});
  }
  return figures;
}

}  // namespace vcap::bench::streams
