// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <functional>
#include <memory>
#include <opencv2/videoio.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "streams/parts.hpp"
#include "support/clip_writer.hpp"
#include "support/temporary_folder.hpp"
#include "support/video.hpp"
#include "vcap/sources/source.hpp"

namespace vcap::bench::streams {
namespace {

/// H.264 with 720p and B-frames, so that the orders of decoding and showing differ.
std::string clip_with_b_frames() {
  static const test::TemporaryFolder folder;
  const std::filesystem::path path = folder / "b-frames.mp4";
  if (!std::filesystem::exists(path))
    test::write_clip(
        path, {.size = {1280, 720}, .frames = workload(100, 5), .options = test::b_frames(true)});
  return path;
}

double with_source(const std::string& clip) {
  int frames = 0;
  const double took = seconds([&] {
    const std::unique_ptr<Source> source = open_source(clip);
    while (source->read()) ++frames;
  });
  return frames / took;
}

/// The usual loop with OpenCV: each picture overwrites the memory of the one before.
double with_opencv(const std::string& clip) {
  int frames = 0;
  const double took = seconds([&] {
    cv::VideoCapture video(clip);
    for (cv::Mat frame; video.read(frame);) ++frames;
  });
  return frames / took;
}

/// The loop of a program that passes its frames on: each picture has its own memory.
double with_opencv_to_keep(const std::string& clip) {
  int frames = 0;
  const double took = seconds([&] {
    cv::VideoCapture video(clip);
    for (;;) {
      cv::Mat frame;
      if (!video.read(frame)) break;
      ++frames;
    }
  });
  return frames / took;
}

}  // namespace

std::vector<Figure> decoding() {
  std::vector<Figure> figures;
  const auto add = [&](const std::string& what, const std::function<std::string()>& clip) {
    using Loop = double (*)(const std::string&);
    const auto line = [&](const std::string& baseline, Loop loop) {
      figures.push_back({.id = "streams.6",
                         .what = "reading " + what + ", rate of cv::VideoCapture" + baseline,
                         .target = 0.97,
                         .better = Better::higher,
                         .sample = [=] {
                           const std::string path = clip();
                           return ratio([&] { return with_source(path); },
                                        [&] { return loop(path); });
                         }});
    };
    line("", with_opencv);
    line(", new memory", with_opencv_to_keep);
  };
  add("vtest.avi", footage);
  add("H.264 with B-frames", clip_with_b_frames);
  return figures;
}

}  // namespace vcap::bench::streams
