// SPDX-License-Identifier: Apache-2.0
#include "view/report.hpp"

#include <chrono>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/figures.hpp"
#include "support/temporary_folder.hpp"
#include "vcap/records/record_reader.hpp"
#include "vcap/records/sink.hpp"
#include "vcap/view/report.hpp"

namespace vcap::bench {
namespace {

const auto kRecords = workload<int>(20'000, 50);
constexpr int kPeople = 6;  // in each frame, as in vtest.avi

/// Records of a detector and a tracker; each person stays for 100 frames.
std::string written_records(const test::TemporaryFolder& folder) {
  const std::string path = (folder / "frames.jsonl").string();
  const auto sink = make_json_lines_sink(path);
  std::mt19937_64 random(3);
  std::vector<Uuid> tracks(kPeople);
  FrameRecord record{.stream_id = "vtest", .resolution = {768, 576}};
  for (int i = 0; i < kRecords; ++i) {
    record.frame.index = i;
    record.frame.pts = std::chrono::milliseconds(100 * i);
    record.objects.clear();
    for (int person = 0; person < kPeople; ++person) {
      if ((i + 17 * person) % 100 == 0 || i == 0) tracks[person] = Uuid::random(random);
      DetectionNode& node = record.objects.emplace_back();
      node.name = "person";
      node.coords = rect_to_coords(cv::Rect2d(i % 600 + 20.25 * person, 40.5 * person, 40, 90.75));
      node.track_id = tracks[person];
      node.attributes = {{"upper_color", person % 2 == 0 ? "black" : "red"}};
      node.extra_data["detection_confidence"] = 0.5 + 0.01 * person;
    }
    sink->write(record);
  }
  sink->close();
  return path;
}

template <class Use>
double reading_seconds(const std::string& path, Use use) {
  return seconds([&] {
    const auto reader = open_records(path);
    int count = 0;
    while (const auto record = reader->read()) {
      use(*record);
      ++count;
    }
    if (count != kRecords) throw std::logic_error("records are missing");
  });
}

}  // namespace

double report_to_reading() {
  static const test::TemporaryFolder folder;
  static const std::string path = written_records(folder);
  const auto report_seconds = [] {
    Report report;
    double time = reading_seconds(path, [&](const FrameRecord& record) { report.add(record); });
    std::string html;
    time += seconds([&] { html = report.html(); });
    if (html.find("upper_color") == std::string::npos) throw std::logic_error("no report");
    return time;
  };
  const auto read_seconds = [] { return reading_seconds(path, [](const FrameRecord&) {}); };
  return ratio(report_seconds, read_seconds);
}

}  // namespace vcap::bench
