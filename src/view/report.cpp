// SPDX-License-Identifier: Apache-2.0
#include "vcap/view/report.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "files/output_file.hpp"
#include "vcap/base/error.hpp"
#include "view/stream_section.hpp"
#include "view/stream_summary.hpp"
#include "view/svg.hpp"

namespace vcap {
namespace {

/// Nothing may be fetched or run, whatever the records contain.
constexpr const char* kHead =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'; img-src data:\"/>\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n";

constexpr const char* kStyle =
    "<style>\n"
    "body { font: 14px/1.4 sans-serif; color: #222; max-width: 900px; margin: 2em auto; "
    "padding: 0 1em; }\n"
    "h2 { border-top: 2px solid #ccc; padding-top: .7em; overflow-wrap: anywhere; }\n"
    "table { border-collapse: collapse; margin: .6em 0; }\n"
    "th, td { padding: .2em .7em .2em 0; text-align: left; vertical-align: top; "
    "border-bottom: 1px solid #e5e5e5; overflow-wrap: anywhere; }\n"
    "td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }\n"
    "td.picture { width: 68px; text-align: center; }\n"
    "svg.plot { width: 100%; font-size: 11px; }\n"
    "svg.map { width: 100%; max-width: 640px; }\n"
    "svg.bar { width: 360px; max-width: 40vw; height: 12px; }\n"
    "p.note { color: #666; }\n"
    "@media print { section { break-before: page; } tr, svg { break-inside: avoid; } }\n"
    "</style>\n";

}  // namespace

class Report::Impl {
 public:
  explicit Impl(ReportOptions options) : options_(std::move(options)) {}

  void add(const FrameRecord& record) {
    ++records_;
    const std::string key = record.group
                                ? record.stream_id + ", group " + std::to_string(*record.group)
                                : record.stream_id;
    const auto [place, is_new] = streams_.try_emplace(key, options_.most_tracks);
    if (is_new) ids_.emplace(key, record.stream_id);
    place->second.add(record);
  }

  std::size_t records() const noexcept { return records_; }

  std::vector<std::string> streams() const {
    std::set<std::string> ids;
    for (const auto& [key, id] : ids_) ids.insert(id);
    return {ids.begin(), ids.end()};
  }

  void set_clip(const std::string& stream, const std::string& clip, const std::string& link) {
    const std::vector<std::string> known = streams();
    if (std::ranges::find(known, stream) == known.end())
      throw InvalidArgument(ErrorCode::invalid_argument,
                            "clip " + clip + " is given for stream " + quote(stream) +
                                ", but the records are of " + quote_list(known) +
                                suggestion(stream, known));
    clips_[stream] = {.file = clip, .link = link.empty() ? clip : link};
  }

  std::string html() const {
    const std::string title = html_text(options_.title);
    std::string text = std::string(kHead) + "<title>" + title + "</title>\n" + kStyle +
                       "</head><body>\n<h1>" + title + "</h1>\n" + overview();
    std::size_t shown = 0;
    for (const auto& [key, summary] : streams_) {
      if (shown++ == options_.most_streams) break;
      const auto clip = clips_.find(ids_.at(key));
      text += stream_section(key, summary, clip == clips_.end() ? StreamClip() : clip->second);
    }
    if (streams_.size() > options_.most_streams)
      text += "<p class=\"note\">The first " + std::to_string(options_.most_streams) + " of " +
              counted(static_cast<std::int64_t>(streams_.size()), "stream") + " in full.</p>\n";
    return text + "</body></html>\n";
  }

 private:
  std::string overview() const {
    std::string rows;
    for (const auto& [key, summary] : streams_) {
      rows += "<tr><td>" + html_text(key) + "</td>";
      for (const std::int64_t number :
           {summary.frames(), summary.dropped(), summary.failed_frames(), summary.objects(),
            static_cast<std::int64_t>(summary.tracks().tracks())})
        rows += "<td class=\"number\">" + std::to_string(number) + "</td>";
      rows += "<td class=\"number\">" +
              clock_text(std::chrono::duration<double>(summary.duration()).count()) +
              "</td></tr>\n";
    }
    return "<p>" + counted(static_cast<std::int64_t>(records_), "record") + " of " +
           counted(static_cast<std::int64_t>(streams_.size()), "stream") +
           ".</p>\n<table><thead><tr><th>Stream</th><th>Frames</th><th>Dropped</th><th>Failed</th>"
           "<th>Objects</th><th>Tracks</th><th>Duration</th></tr></thead><tbody>\n" +
           rows + "</tbody></table>\n";
  }

  const ReportOptions options_;
  std::size_t records_ = 0;
  std::map<std::string, StreamSummary> streams_;
  std::map<std::string, std::string> ids_;  ///< of streams_, without the group
  std::map<std::string, StreamClip> clips_;
};

Report::Report(ReportOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Report::~Report() = default;
Report::Report(Report&&) noexcept = default;
Report& Report::operator=(Report&&) noexcept = default;

void Report::add(const FrameRecord& record) { impl_->add(record); }
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
