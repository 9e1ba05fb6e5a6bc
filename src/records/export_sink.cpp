// SPDX-License-Identifier: Apache-2.0
#include "records/export_sink.hpp"

#include <utility>

#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {

void ExportSink::fail(const std::string& why) const {
  throw OutputError(ErrorCode::output_write, "output " + path_ + " " + why);
}

void ExportSink::write(const FrameRecord& record) {
  const MutexLock lock(mutex_);
  if (closed_) fail("is closed already; close a sink after the last stream that writes to it");
  try {
    add(record);
  } catch (...) {
    broken_ = !losses_allowed_;
    throw;
  }
  losses_.count(record, held_);
}

void ExportSink::allow_losses() {
  const MutexLock lock(mutex_);
  losses_allowed_ = true;
}

void ExportSink::close() {
  std::string news;
  {
    const MutexLock lock(mutex_);
    if (std::exchange(closed_, true)) return;
    if (broken_) {
      const std::string left = remains();
      fail("is incomplete, because writing failed" + (left.empty() ? "" : "; " + left));
    }
    complete();
    news = losses_.text(path_, held_.format);
  }
  // Without the lock: the host's log hook may use this sink.
  if (!news.empty()) log(LogLevel::warning, news);
}

}  // namespace vcap
