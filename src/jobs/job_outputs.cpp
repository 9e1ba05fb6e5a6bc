// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_outputs.hpp"

#include <sstream>

#include <nlohmann/json.hpp>

namespace vcap {
namespace {

// Endings of outputs, after the video's id.
constexpr const char* kRecordsName = ".jsonl";
constexpr const char* kClipName = ".mp4";
constexpr const char* kSummaryName = ".txt";

std::string summary(const std::string& video, const RecordCounts& counts) {
  std::ostringstream text;
  text << "video " << video << '\n';
  print_label(text, "frames") << counts.frames << '\n';
  counts.print_objects(text);
  counts.print_details(text);
  return text.str();
}

}  // namespace

std::vector<std::string> output_names(const Job::Outputs& wanted, const std::string& video) {
  std::vector<std::string> names;
  if (wanted.jsonl) names.push_back(video + kRecordsName);
  if (wanted.video) names.push_back(video + kClipName);
  if (wanted.summary) names.push_back(video + kSummaryName);
  return names;
}

RecordCounts finish_outputs(JobFolder& folder, const Job::Outputs& wanted,
                            const std::string& video) {
  RecordCounts counts;
  const std::size_t slices = folder.plan(video).value().size();
  for (std::size_t slice = 0; slice < slices; ++slice)
    counts.add(folder.result(video, slice).value().get<RecordCounts>());
  if (wanted.jsonl) folder.join(video, kSliceRecords, video + kRecordsName);
  if (wanted.video) folder.join(video, kSliceClip, video + kClipName);
  if (wanted.summary) folder.write(video, video + kSummaryName, summary(video, counts));
  folder.finish(video, counts);
  return counts;
}

}  // namespace vcap
