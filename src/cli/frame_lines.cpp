// SPDX-License-Identifier: Apache-2.0
#include "cli/frame_lines.hpp"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <string>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap::cli {
namespace {

/// M:SS.mmm, with as many minutes as there are.
std::string pts_text(std::chrono::nanoseconds pts) {
  const std::int64_t all = pts.count() / 1'000'000;
  char text[48];
  std::snprintf(text, sizeof text, "%" PRId64 ":%02" PRId64 ".%03" PRId64, all / 60'000,
                all / 1000 % 60, all % 1000);
  return text;
}

void count(const DetectionNode& node, std::map<std::string, std::int64_t>& counts) {
  ++counts[node.name];
  for (const DetectionNode& child : node.children) count(child, counts);
}

std::string line_of(const FrameRecord& record) {
  std::map<std::string, std::int64_t> counts;
  for (const DetectionNode& node : record.objects) count(node, counts);
  std::string objects;
  for (const auto& [name, number] : counts)
    objects += (objects.empty() ? "" : ", ") + std::to_string(number) + ' ' + name;
  std::string line = record.stream_id + " frame " + std::to_string(record.frame.index) + " (" +
                     pts_text(record.frame.pts) +
                     "): " + (objects.empty() ? "no objects" : objects);
  if (!record.drops.empty())
    line += "; " + counted(static_cast<std::int64_t>(record.drops.size()), "drop") + " before";
  if (!record.errors.empty())
    line += "; " + counted(static_cast<std::int64_t>(record.errors.size()), "error") + ": " +
            record.errors.front().capsule + ": " + record.errors.front().message;
  return printable(line);
}

}  // namespace

std::shared_ptr<Sink> make_frame_lines_sink() {
  return make_callback_sink(
      [](const FrameRecord& record) {
        const std::string line = line_of(record) + '\n';
        // One call, so that lines of several streams do not mix.
        if (std::fwrite(line.data(), 1, line.size(), stdout) != line.size())
          throw OutputError(ErrorCode::output_write,
                            "standard output could not be written; check the disk's space");
      },
      false);
}

}  // namespace vcap::cli
