// SPDX-License-Identifier: Apache-2.0
#include "vcap/view/report.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "files/output_file.hpp"
#include "view/page_parts.hpp"
#include "view/run_section.hpp"
#include "view/stream_section.hpp"
#include "view/stream_summary.hpp"
#include "view/svg.hpp"

namespace vcap {
class Report::Impl {
 public:
  explicit Impl(ReportOptions options) : options_(std::move(options)) {}

  void add(const FrameRecord& record) {
    ++records_;
    const std::string key = record.group
                                ? record.stream_id + ", group " + std::to_string(*record.group)
                                : record.stream_id;
    summary_of(key, record.stream_id).add(record);
  }

  void add(const EventRecord& record) {
    ++events_;
    summary_of(record.stream_id, record.stream_id).add(record);
  }

  void set_run(RunDescription run) { run_ = std::move(run); }

  std::size_t records() const noexcept { return records_; }

  std::vector<std::string> streams() const {
    std::set<std::string> ids;
    for (const auto& [key, id] : ids_) ids.insert(id);
    return {ids.begin(), ids.end()};
  }

  void set_clip(const std::string& stream, const std::string& clip, const std::string& link) {
    clips_[stream] = clip_of_stream(stream, streams(), clip, link);
  }

  std::string html() const {
    std::string text = page_begin(options_.title);
    if (run_) text += run_section(*run_);
    text += overview();
    std::size_t shown = 0;
    for (const auto& [key, summary] : streams_) {
      if (shown++ == options_.most_streams) break;
      const auto clip = clips_.find(ids_.at(key));
      text += stream_section(
          key, summary, clip == clips_.end() ? StreamClip() : clip->second,
          {.snapshots = options_.event_snapshots, .event_clips = options_.event_clips});
    }
    if (streams_.size() > options_.most_streams)
      text += "<p class=\"note\">The first " + std::to_string(options_.most_streams) + " of " +
              counted(static_cast<std::int64_t>(streams_.size()), "stream") + " in full.</p>\n";
    return text + kReportEnd;
  }

 private:
  StreamSummary& summary_of(const std::string& key, const std::string& stream) {
    const auto [place, is_new] = streams_.try_emplace(key, options_.most_tracks);
    if (is_new) ids_.emplace(key, stream);
    return place->second;
  }

  std::string overview() const {
    std::string rows;
    for (const auto& [key, summary] : streams_) {
      rows += "<tr><td>" + html_text(key) + "</td>";
      for (const std::int64_t number :
           {summary.frames(), summary.dropped(), summary.failed_frames(), summary.objects(),
            static_cast<std::int64_t>(summary.tracks().tracks()), summary.events().events()})
        rows += "<td class=\"number\">" + std::to_string(number) + "</td>";
      rows += "<td class=\"number\">" +
              clock_text(std::chrono::duration<double>(summary.duration()).count()) +
              "</td></tr>\n";
    }
    return (run_ ? "<h2>What was found</h2>\n<p>" : "<p>") +
           counted(static_cast<std::int64_t>(records_), "record") + " of " +
           counted(static_cast<std::int64_t>(streams_.size()), "stream") +
           (events_ > 0 ? ", " + counted(events_, "line") + " of events" : "") +
           ".</p>\n<table><thead><tr><th>Stream</th><th>Frames</th><th>Dropped</th><th>Failed</th>"
           "<th>Objects</th><th>Tracks</th><th>Events</th><th>Duration</th></tr></thead><tbody>\n" +
           rows + "</tbody></table>\n";
  }

  const ReportOptions options_;
  std::size_t records_ = 0;
  std::int64_t events_ = 0;  ///< begins and ends
  std::optional<RunDescription> run_;
  std::map<std::string, StreamSummary> streams_;
  std::map<std::string, std::string> ids_;  ///< of streams_, without the group
  std::map<std::string, StreamClip> clips_;
};

Report::Report(ReportOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Report::~Report() = default;
Report::Report(Report&&) noexcept = default;
Report& Report::operator=(Report&&) noexcept = default;

void Report::add(const FrameRecord& record) { impl_->add(record); }
void Report::add(const EventRecord& record) { impl_->add(record); }
void Report::set_run(RunDescription run) { impl_->set_run(std::move(run)); }
std::size_t Report::records() const noexcept { return impl_->records(); }
std::vector<std::string> Report::streams() const { return impl_->streams(); }
void Report::set_clip(const std::string& stream, const std::string& clip, const std::string& link) {
  impl_->set_clip(stream, clip, link);
}
std::string Report::html() const { return impl_->html(); }

void Report::write(const std::string& path) const {
  OutputFile file(path);
  file.write(impl_->html());
  file.commit();
}

}  // namespace vcap
