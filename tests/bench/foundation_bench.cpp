// SPDX-License-Identifier: Apache-2.0
// Measures the cost of the SDK compared with the same work by hand.
#include <cstdint>
#include <cstdlib>
#include <opencv2/objdetect.hpp>
#include <opencv2/videoio.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/figures.hpp"
#include "support/paths.hpp"
#include "support/video.hpp"

namespace {

using vcap::bench::footage;

const auto kFrames = vcap::bench::workload<std::int64_t>(100, 2);

/// A loop with the settings of detector_person_hog, as a developer would write it with OpenCV
/// alone.
double plain_loop() {
  return vcap::bench::seconds([] {
    cv::HOGDescriptor hog;
    hog.setSVMDetector(cv::HOGDescriptor::getDefaultPeopleDetector());
    cv::VideoCapture video(footage());
    cv::Mat frame;
    std::vector<cv::Rect> boxes;
    std::vector<double> margins;
    std::int64_t frames = 0;
    for (; frames < kFrames && video.read(frame); ++frames)
      hog.detectMultiScale(frame, boxes, margins, 0, {8, 8}, {8, 8}, 1.05, 2);
    if (frames < kFrames) throw std::runtime_error(footage() + " has too few frames");
  });
}

/// The same as an operator runs it, with loading, decoding, records and the start of the process.
double vcap_run() {
  return vcap::bench::seconds([] {
    const std::string command =
        std::string("'") + vcap::test::built("src/cli/vcap") + "' run --capsule '" +
        vcap::test::built("examples/capsules/detector_person_hog/detector_person_hog.cap") +
        "' --source '" + footage() + "' --max-frames " + std::to_string(kFrames) +
        " --jsonl - 2>/dev/null | grep -c vcap.frame/1 | grep -qx " + std::to_string(kFrames);
    if (std::system(command.c_str()) != 0)
      throw std::runtime_error("the command did not do the same work: " + command);
  });
}

}  // namespace

int main(int argc, char** argv) {
  return vcap::bench::run_figures(
      argc, argv,
      {{.id = "foundation.2",
        .what = "vcap run detector_person_hog, 100 frames, to a plain OpenCV loop",
        .target = 1.05,
        .sample = [] { return vcap::bench::ratio(vcap_run, plain_loop); }}});
}
