// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <opencv2/objdetect.hpp>
#include <opencv2/videoio.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "streams/bounded_queue.hpp"
#include "streams/parts.hpp"
#include "support/paths.hpp"
#include "support/turns.hpp"
#include "support/video.hpp"

namespace vcap::bench::streams {
namespace {

/// The streams and the frames of each. A run takes half a minute, so that the start of the process,
/// which an operator has once per video, is a small part.
struct Load {
  int streams;
  int frames;
  int all() const { return streams * frames; }
};

unsigned cores() { return std::max(1u, std::thread::hardware_concurrency()); }

/// A detector with the settings of detector_person_hog.
class Detector {
 public:
  Detector() { hog_.setSVMDetector(cv::HOGDescriptor::getDefaultPeopleDetector()); }
  void detect(const cv::Mat& frame) {
    hog_.detectMultiScale(frame, boxes_, margins_, 0, {8, 8}, {8, 8}, 1.05, 2);
  }

 private:
  cv::HOGDescriptor hog_;
  std::vector<cv::Rect> boxes_;
  std::vector<double> margins_;
};

cv::Mat read(cv::VideoCapture& video) {
  cv::Mat frame;
  if (!video.read(frame)) throw std::runtime_error(footage() + " has too few frames");
  return frame;
}

/// One stream after the other in one thread; only the detector's own loop over scales is parallel.
void plain_loop(Load load) {
  for (int stream = 0; stream < load.streams; ++stream) {
    Detector detector;
    cv::VideoCapture video(footage());
    for (int i = 0; i < load.frames; ++i) detector.detect(read(video));
  }
}

/// A thread for each stream decodes; one for each core detects, on one frame at a time.
void threads_for_frames(Load load) {
  BoundedQueue<cv::Mat> frames(2 * cores());
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < cores(); ++i)
    threads.emplace_back([&] {
      Detector detector;
      while (const auto frame = frames.pop()) detector.detect(*frame);
    });
  {
    std::vector<std::jthread> readers;
    for (int stream = 0; stream < load.streams; ++stream)
      readers.emplace_back([&] {
        cv::VideoCapture video(footage());
        for (int i = 0; i < load.frames; ++i) frames.push(read(video));
      });
  }
  frames.close();
}

/// The same without parallel loops in the detector.
void threads_for_frames_alone(Load load) {
  cv::setNumThreads(1);  // affects only this process, which ends after the run
  threads_for_frames(load);
}

/// The command as an operator runs it, with loading, records and the start of the process.
void by_command(Load load) {
  std::string command =
      "'" + test::built("src/cli/vcap") + "' run --capsule '" +
      test::built("examples/capsules/detector_person_hog/detector_person_hog.cap") + "'";
  for (int stream = 0; stream < load.streams; ++stream) command += " --source '" + footage() + "'";
  command += " --max-frames " + std::to_string(load.frames) +
             " --jsonl - 2>/dev/null | grep -c vcap.frame/1 | grep -qx " +
             std::to_string(load.all());
  if (std::system(command.c_str()) != 0)
    throw std::runtime_error("the command did not do the same work: " + command);
}

/// The fastest of the loops above, measured with a third of the load.
std::function<void(Load)> best_by_hand(Load load) {
  load.frames = (load.frames + 2) / 3;
  const std::vector<std::function<void(Load)>> loops = {plain_loop, threads_for_frames,
                                                        threads_for_frames_alone};
  std::vector<std::function<void()>> runs;
  for (const auto& loop : loops) runs.push_back([=] { loop(load); });
  const std::vector<double> took = seconds_in_turns(runs);
  return loops[static_cast<std::size_t>(std::ranges::min_element(took) - took.begin())];
}

/// The frame rate of the command, divided by that of the best loop, which is chosen once.
double rate(Load load) {
  static std::map<int, std::function<void(Load)>> chosen;
  std::function<void(Load)>& best = chosen[load.streams];
  if (!best) best = best_by_hand(load);
  const std::vector<double> took =
      seconds_in_turns({[=] { by_command(load); }, [=, loop = best] { loop(load); }});
  return took[1] / took[0];
}

}  // namespace

std::vector<Figure> run_command() {
  std::vector<Figure> figures;
  for (const Load load : {Load{1, workload(250, 3)}, Load{4, workload(75, 1)}})
    figures.push_back({.id = "streams.1",
                       .what = "vcap run detector_person_hog, " + std::to_string(load.streams) +
                               (load.streams == 1 ? " stream" : " streams") +
                               ", rate of the best by hand",
                       .target = 0.97,
                       .better = Better::higher,
                       .sample = [=] { return rate(load); },
                       .samples = 5});
  return figures;
}

}  // namespace vcap::bench::streams
