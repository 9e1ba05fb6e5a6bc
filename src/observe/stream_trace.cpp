// SPDX-License-Identifier: Apache-2.0
#include "observe/stream_trace.hpp"

#include <utility>

namespace vcap {
namespace {

/// If memory runs out, the event is missing.
template <class Function>
void quietly(const Function& function) noexcept {
  try {
    function();
  } catch (...) {
  }
}

}  // namespace

std::unique_ptr<StreamTrace> StreamTrace::make(std::shared_ptr<TraceLog> log,
                                               const std::string& id) {
  return log ? std::make_unique<StreamTrace>(std::move(log), id) : nullptr;
}

StreamTrace::StreamTrace(std::shared_ptr<TraceLog> log, const std::string& id)
    : log_(std::move(log)),
      reading_(log_->add_lane(TraceProcess::streams, id + ": read")),
      recording_(log_->add_lane(TraceProcess::streams, id + ": record")) {}

std::uint64_t StreamTrace::read(time_point begin, std::int64_t index) noexcept {
  const auto end = std::chrono::steady_clock::now();
  const std::uint64_t frame = log_->new_frame();
  quietly([&] {
    log_->add_slice(TraceProcess::streams, reading_, begin, end,
                    {.name = "read",
                     .arguments = trace_argument("frame", index),
                     .arrow = TraceSlice::Arrow::begins,
                     .frame = frame});
  });
  return frame;
}

void StreamTrace::dropped(std::int64_t index, const char* reason) noexcept {
  quietly([&] {
    log_->add_instant(TraceProcess::streams, reading_, std::string("dropped: ") + reason,
                      trace_argument("frame", index) + "," + trace_argument("reason", reason));
  });
}

void StreamTrace::recorded(time_point begin, std::int64_t index, std::uint64_t frame) noexcept {
  const auto end = std::chrono::steady_clock::now();
  quietly([&] {
    log_->add_slice(TraceProcess::streams, recording_, begin, end,
                    {.name = "record",
                     .arguments = trace_argument("frame", index),
                     .arrow = TraceSlice::Arrow::ends,
                     .frame = frame});
  });
}

}  // namespace vcap
