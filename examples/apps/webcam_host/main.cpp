// SPDX-License-Identifier: Apache-2.0
//
// Shows the results of capsules live in a window: webcam_host 0 a.cap b.cap
// The first argument is the index of a webcam, a URL or a file. Any key ends the program.
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <opencv2/highgui.hpp>
#include <optional>
#include <vcap/vcap.hpp>

namespace {

// [newest]
// Passes the newest record from the pipeline's thread to the thread that owns the window. If that
// thread is slow, it misses records, but it never blocks the pipeline.
class NewestRecord {
 public:
  void put(const vcap::FrameRecord& record) {
    const std::lock_guard lock(mutex_);
    record_ = record;  // copies no pixels
    changed_.notify_one();
  }

  std::optional<vcap::FrameRecord> take(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [&] { return record_.has_value(); });
    return std::exchange(record_, std::nullopt);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<vcap::FrameRecord> record_;
};
// [/newest]

// [show]
void show(const vcap::FrameRecord& record) {
  cv::Mat picture = record.frame.image.clone();  // other owners share the pixels of the frame
  vcap::draw_nodes(picture, record.objects);
  cv::imshow("vcap", picture);
}
// [/show]

bool ended(const vcap::Pipeline& pipeline) { return pipeline.reports().at(0).ended; }

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::cerr << "usage: webcam_host WEBCAM_INDEX|URL|FILE CAPSULE...\n";
    return 2;
  }
  std::vector<std::shared_ptr<vcap::Capsule>> capsules;
  for (int i = 2; i < argc; ++i) capsules.push_back(vcap::load_capsule(argv[i]));

  cv::namedWindow("vcap", cv::WINDOW_NORMAL);
  NewestRecord newest;
  vcap::Pipeline pipeline(capsules);
  pipeline.open_stream(
      {.id = "camera",
       .source = vcap::open_source(argv[1]),
       .sinks = {vcap::make_callback_sink([&](const auto& record) { newest.put(record); })}});

  constexpr std::chrono::milliseconds patience(50);
  while (!ended(pipeline)) {
    if (const auto record = newest.take(patience)) show(*record);
    if (cv::pollKey() >= 0) break;
  }
  const vcap::StreamReport report = pipeline.close_stream("camera");
  std::cout << report.frames << " frames analysed\n";
  if (report.failure) throw std::runtime_error(*report.failure);
} catch (const std::exception& error) {
  std::cerr << "webcam_host: " << error.what() << '\n';
  return 1;
}
