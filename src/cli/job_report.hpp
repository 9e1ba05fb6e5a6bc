// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/thread_annotations.hpp"
#include "vcap/capsule/capsule_info.hpp"
#include "vcap/jobs/bulk.hpp"
#include "vcap/jobs/job.hpp"

namespace vcap::cli {

/// The report of a job, `vcap run --report` with --job or --out. It is made of the records of all
/// its videos, also of those that an earlier run has done. Thread safety: add() is thread-safe; the
/// rest is thread-compatible.
class JobReportPage {
 public:
  /// Throws UsageError if the job writes no records or the page would replace one of its files, and
  /// OutputError if there is no such folder.
  JobReportPage(const std::string& path, const Job& job, std::vector<CapsuleInfo> infos);

  void add(const JobVideoReport& video) VCAP_EXCLUDES(mutex_);
  /// Reads the records and writes the page. Throws as RecordFiles::read(), and OutputError.
  void write(const JobReport& report) VCAP_EXCLUDES(mutex_);

 private:
  const std::string path_;
  const Job& job_;
  const std::vector<CapsuleInfo> infos_;
  const std::string begun_;
  Mutex mutex_;
  std::map<std::string, JobVideoReport> videos_ VCAP_GUARDED_BY(mutex_);
};

}  // namespace vcap::cli
