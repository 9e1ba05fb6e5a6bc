// SPDX-License-Identifier: Apache-2.0
#include "vcap/view/report_sink.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/thread_annotations.hpp"
#include "files/output_file.hpp"

namespace vcap {

class ReportSink::Impl {
 public:
  Impl(const std::string& path, ReportOptions options)
      : file_(path, OutputFile::Target::any, OutputFile::Unfinished::kept),
        report_(std::move(options)) {}

  /// Calls `use(report)`, unless the report is written.
  template <class Use>
  void use(Use use) VCAP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (report_) use(*report_);
  }

  void close() VCAP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (!report_) return;
    const std::string html = report_->html();
    report_.reset();
    file_.write(html);
    file_.commit();
  }

 private:
  Mutex mutex_;
  OutputFile file_ VCAP_GUARDED_BY(mutex_);
  std::optional<Report> report_ VCAP_GUARDED_BY(mutex_);  ///< until it is written
};

ReportSink::ReportSink(const std::string& path, ReportOptions options)
    : impl_(std::make_unique<Impl>(path, std::move(options))) {}
ReportSink::~ReportSink() = default;

void ReportSink::write(const FrameRecord& record) {
  impl_->use([&](Report& report) { report.add(record); });
}
bool ReportSink::needs_pixels() const { return true; }
void ReportSink::close() { impl_->close(); }

void ReportSink::add(const EventRecord& record) {
  impl_->use([&](Report& report) { report.add(record); });
}
void ReportSink::set_run(RunDescription run) {
  impl_->use([&](Report& report) { report.set_run(std::move(run)); });
}
void ReportSink::set_link(const std::string& stream, const std::string& link) {
  impl_->use([&](Report& report) {
    const std::vector<std::string> streams = report.streams();
    if (std::ranges::find(streams, stream) != streams.end()) report.set_clip(stream, "", link);
  });
}

}  // namespace vcap
