// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/capsule_settings.hpp"
#include "cli/run_streams.hpp"
#include "vcap/capsule/capsule_info.hpp"
#include "vcap/pipeline/pipeline.hpp"
#include "vcap/view/report_sink.hpp"

namespace vcap::cli {

/// The clip as a page at `out` links to it: a URL as it is, a file by its path from the page's
/// folder. As browsers do, it does not follow symbolic links.
std::string link_from(const std::string& out, const std::string& clip);

/// Of a report at `out`, which links to these folders of events' files; each may be empty.
ReportOptions report_options(const std::string& title, const std::string& out,
                             const std::string& snapshots, const std::string& clips);

/// The values as text, by name.
std::map<std::string, std::string> option_texts(const OptionValues& values);

/// What the report of a run says that its pipeline does not know. Thread safety: value.
struct RunFacts {
  std::vector<CapsuleInfo> infos{};
  std::map<std::string, OptionValues> options{};  ///< of all streams, by capsule
  std::map<std::string, StreamSettings> streams{};
  /// By stream. A source that is a file or folder is linked to.
  std::map<std::string, std::string> sources{};
};

/// The report of `vcap run --report`. Thread safety: finish() is thread-safe; the rest is
/// thread-compatible.
class RunReport {
 public:
  /// Where a run's events go; each may be empty.
  struct EventPaths {
    std::string journal;           ///< whose lines from now on are shown
    std::string snapshots, clips;  ///< folders, to link to
  };

  /// Throws OutputError.
  RunReport(const std::string& path, const EventPaths& events);

  /// For every stream.
  const std::shared_ptr<ReportSink>& sink() const noexcept { return sink_; }
  /// Says what ran so far; once when streams begin, and again at their end.
  void describe(const Pipeline& pipeline, const RunFacts& facts, const RunStreams& streams);
  /// Writes the report. The journal must be closed. `notes`: further lines. Throws OutputError.
  void finish(const std::vector<std::string>& notes);

 private:
  std::string path_;     ///< absolute, as a capsule may change the working directory
  std::string journal_;  ///< likewise
  std::uintmax_t journal_begin_ = 0;
  std::string begun_;
  std::shared_ptr<ReportSink> sink_;
  RunDescription run_;
};

}  // namespace vcap::cli
