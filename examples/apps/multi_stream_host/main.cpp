// SPDX-License-Identifier: Apache-2.0
//
// Runs several capsules on several sources at once and sums up each stream:
//   multi_stream_host detector_person.cap tracker_person.cap entrance.avi rtsp://camera/1 0
// An argument that ends in .cap is a capsule; any other is a source.
#include <iostream>
#include <map>
#include <set>
#include <vcap/vcap.hpp>

namespace {

// The sums of one stream. Its records come in order and one at a time, so this needs no lock.
class Summary {
 public:
  void add(const vcap::FrameRecord& record) {
    for (const vcap::DetectionNode& node : record.objects) {
      ++nodes_[node.name];
      if (node.track_id) tracks_.insert(*node.track_id);
    }
  }

  void print(const vcap::StreamReport& report) const {
    const double seconds = std::chrono::duration<double>(report.elapsed).count();
    std::cout << report.id << ": " << report.frames << " frames in " << seconds << " s";
    for (const auto& [name, count] : nodes_) std::cout << ", " << count << " x " << name;
    if (!tracks_.empty()) std::cout << ", " << tracks_.size() << " tracks";
    for (const auto& [reason, count] : report.drops)
      std::cout << ", " << count << " dropped (" << reason << ')';
    if (report.errors > 0) std::cout << ", " << report.errors << " frames with errors";
    if (report.failure) std::cout << "; failed: " << *report.failure;
    std::cout << '\n';
  }

 private:
  std::map<std::string, std::size_t> nodes_;
  std::set<vcap::Uuid> tracks_;
};

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::shared_ptr<vcap::Capsule>> capsules;
  std::vector<std::string> sources;
  for (const std::string argument : std::span(argv, static_cast<std::size_t>(argc)).subspan(1)) {
    if (argument.ends_with(".cap"))
      capsules.push_back(vcap::load_capsule(argument));
    else
      sources.push_back(argument);
  }
  if (capsules.empty() || sources.empty()) {
    std::cerr << "usage: multi_stream_host CAPSULE.cap... SOURCE...\n";
    return 2;
  }

  // [run]
  // Declared before the pipeline, whose streams write into them until it is gone.
  std::map<std::string, Summary> summaries;
  vcap::Pipeline pipeline(capsules);
  std::cout << pipeline.plan().explain();

  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string id = std::to_string(i) + " " + sources[i];
    Summary& summary = summaries[id];
    pipeline.open_stream({.id = id,
                          .source = vcap::open_source(sources[i]),
                          .sinks = {vcap::make_callback_sink(
                              [&summary](const auto& record) { summary.add(record); })}});
  }

  bool failed = false;
  for (const auto& [id, summary] : summaries) {
    const vcap::StreamReport report = pipeline.wait(id);
    summary.print(report);
    failed = failed || report.failure;
  }
  // [/run]
  return failed ? 1 : 0;
} catch (const std::exception& error) {
  std::cerr << "multi_stream_host: " << error.what() << '\n';
  return 1;
}
