// SPDX-License-Identifier: Apache-2.0
// What the SDK costs over the same work written by hand.
#include <cstdint>
#include <cstdlib>
#include <opencv2/objdetect.hpp>
#include <opencv2/videoio.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/figures.hpp"
#include "vcap/vcap.hpp"

namespace {

constexpr std::int64_t kFrames = 100;

std::string footage() {
  const char* path = std::getenv("VCAP_FOOTAGE");
  if (!path) throw std::runtime_error("VCAP_FOOTAGE names no video; cmake/footage.sh prints one");
  return path;
}

/// The settings of detector_person, in the loop that a developer would write with OpenCV alone.
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

/// The same through load_capsule and Pipeline, both counted in.
double pipeline() {
  return vcap::bench::seconds([] {
    vcap::Pipeline pipeline({vcap::load_capsule(VCAP_DETECTOR_PERSON)});
    vcap::StreamConfig stream;
    stream.id = "vtest";
    stream.source = vcap::open_source(footage());
    stream.max_frames = kFrames;
    pipeline.open_stream(std::move(stream));
    const vcap::StreamReport report = pipeline.wait("vtest");
    if (report.frames != kFrames || report.errors > 0)
      throw std::runtime_error("the pipeline did not do the same work");
  });
}

}  // namespace

int main(int argc, char** argv) {
  return vcap::bench::run_figures(
      argc, argv,
      {{.id = "foundation.2",
        .what = "detector_person on 100 frames, time of a plain OpenCV loop",
        .target = 1.05,
        .sample = [] { return vcap::bench::ratio(pipeline, plain_loop); }}});
}
