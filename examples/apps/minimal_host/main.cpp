// SPDX-License-Identifier: Apache-2.0
//
// Prints what a capsule finds in a video: minimal_host detector_person.cap street.avi
// [host]
#include <iostream>
#include <vcap/vcap.hpp>

void print(const vcap::FrameRecord& record) {
  for (const vcap::DetectionNode& node : record.objects) {
    const vcap::BoundingBox box = node.bbox();
    std::cout << "frame " << record.frame.index << ": " << node.name << " at " << box.x1 << ','
              << box.y1 << ", " << box.width() << " x " << box.height() << '\n';
  }
  for (const auto& error : record.errors)
    std::cerr << "frame " << record.frame.index << ": " << error.message << '\n';
}

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::cerr << "usage: minimal_host CAPSULE VIDEO\n";
    return 2;
  }
  vcap::Pipeline pipeline({vcap::load_capsule(argv[1])});
  pipeline.open_stream({.id = "video",
                        .source = vcap::open_source(argv[2]),
                        .sinks = {vcap::make_callback_sink(print)}});
  const vcap::StreamReport report = pipeline.wait("video");
  if (report.failure) throw std::runtime_error(*report.failure);
} catch (const std::exception& error) {
  std::cerr << "minimal_host: " << error.what() << '\n';
  return 1;
}
// [/host]
