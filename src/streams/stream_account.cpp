// SPDX-License-Identifier: Apache-2.0
#include "streams/stream_account.hpp"

#include <utility>

#include "base/text.hpp"

namespace vcap {

StreamFailure::StreamFailure(std::exception_ptr thrown)
    : cause(std::move(thrown)), text(cause ? exception_text(cause) : std::string()) {}

void StreamAccount::add_record(bool has_errors, time_point read_at, time_point now) {
  ++report_.frames;
  if (has_errors) ++report_.errors;
  latency_.add(read_at, now, false);
}

void StreamAccount::add_drops(const std::string& reason, std::int64_t frames) {
  if (frames > 0) report_.drops[reason] += frames;
}

bool StreamAccount::fail(const StreamFailure& failure) {
  if (report_.failure_cause) return false;
  report_.failure = failure.text;
  report_.failure_cause = failure.cause;
  return true;
}

void StreamAccount::end(time_point now) {
  report_.elapsed = now - opened_;
  report_.ended = true;
}

StreamReport StreamAccount::report(time_point now) const {
  StreamReport report = report_;
  if (!report.ended) report.elapsed = now - opened_;
  report.latency_ns = latency_.times_ns();
  return report;
}

void StreamAccount::describe(StreamStats& stats, time_point now) const {
  stats.recorded = report_.frames;
  stats.drops = report_.drops;
  stats.broken_pictures = report_.broken_pictures;
  stats.errors = report_.errors;
  stats.overdue = report_.overdue;
  stats.quarantined = report_.quarantined;
  stats.frames_per_second = latency_.per_second(now, opened_);
  stats.latency_ns = latency_.times_ns();
  stats.ended = report_.ended;
  stats.failure = report_.failure;
}

}  // namespace vcap
