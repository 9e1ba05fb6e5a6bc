// SPDX-License-Identifier: Apache-2.0
#include "observe/trace_log.hpp"

#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

namespace vcap {
namespace {

/// The buffer is written out once it has this size, in bytes.
constexpr std::size_t kBuffer = std::size_t{256} * 1024;

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// The beginning of an event; its time or name follows.
std::string event(char phase, TraceProcess process, int lane) {
  return std::string(",\n{\"ph\":\"") + phase + R"(","pid":)" +
         std::to_string(static_cast<int>(process)) + R"(,"tid":)" + std::to_string(lane);
}

std::string metadata(std::string_view what, TraceProcess process, int lane,
                     const std::string& argument) {
  return event('M', process, lane) + R"(,"name":")" + std::string(what) + R"(","args":{)" +
         argument + "}}";
}

std::string preamble() {
  std::string text;
  for (const auto& [process, name] :
       {std::pair(TraceProcess::streams, "streams"), std::pair(TraceProcess::capsules, "capsules"),
        std::pair(TraceProcess::devices, "devices")}) {
    text += metadata("process_name", process, 0, trace_argument("name", name));
    text += metadata("process_sort_index", process, 0,
                     trace_argument("sort_index", static_cast<std::int64_t>(process)));
  }
  // Each event begins with a comma, so it can be written without knowing the others.
  return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[" + text.substr(1);
}

}  // namespace

std::string trace_argument(std::string_view key, std::int64_t value) {
  return json_text(key) + ":" + std::to_string(value);
}

std::string trace_argument(std::string_view key, std::string_view value) {
  return json_text(key) + ":" + json_text(value);
}

TraceLog::TraceLog(const std::filesystem::path& path)
    : file_(std::in_place, path, OutputFile::Target::any, OutputFile::Unfinished::kept),
      buffer_(preamble()) {}

TraceLog::~TraceLog() = default;

std::shared_ptr<TraceLog> TraceLog::of(const std::shared_ptr<Trace>& trace) {
  return trace ? trace->log_ : nullptr;
}

void TraceLog::close() {
  const MutexLock lock(mutex_);
  listens_ = false;
  if (std::exchange(closed_, true)) return;
  if (!failure_) {
    try {
      buffer_ += "\n]}\n";
      flush();
      file_->commit();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  file_.reset();
  if (failure_) std::rethrow_exception(failure_);
}

void TraceLog::abandon() noexcept {
  const MutexLock lock(mutex_);
  listens_ = false;
  closed_ = true;
  if (file_) file_->discard();
  file_.reset();
}

void TraceLog::flush() {
  file_->write(buffer_);
  buffer_.clear();
}

void TraceLog::fail() noexcept {
  const MutexLock lock(mutex_);
  listens_ = false;
  if (closed_ || failure_) return;
  failure_ = std::current_exception();
  file_.reset();
  buffer_ = {};
}

/// Runs the function; its errors do not reach the traced code.
template <class Function>
void TraceLog::attempt(const Function& function) noexcept {
  if (!listens_) return;
  try {
    function();
  } catch (...) {
    fail();
  }
}

void TraceLog::append(const std::string& events) {
  const MutexLock lock(mutex_);
  if (closed_ || failure_) return;
  buffer_ += events;
  if (buffer_.size() >= kBuffer) flush();
}

std::string TraceLog::microseconds(time_point time) const {
  const auto ns = std::chrono::nanoseconds(time - begin_).count();
  char text[40];
  std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(ns / 1000),
                static_cast<long long>(ns % 1000));
  return text;
}

int TraceLog::add_lane(TraceProcess process, std::string_view name) noexcept {
  const int lane = ++last_lane_;
  attempt([&] {
    append(metadata("thread_name", process, lane, trace_argument("name", name)) +
           metadata("thread_sort_index", process, lane, trace_argument("sort_index", lane)));
  });
  return lane;
}

TraceLanes* TraceLog::lanes(TraceProcess process, const std::string& name) noexcept {
  TraceLanes* found = nullptr;
  attempt([&] {
    const MutexLock lock(mutex_);
    std::unique_ptr<TraceLanes>& place = lanes_[{process, name}];
    if (!place) place = std::make_unique<TraceLanes>(*this, process, name);
    found = place.get();
  });
  return found;
}

void TraceLog::add_slice(TraceProcess process, int lane, time_point begin, time_point end,
                         const TraceSlice& slice) noexcept {
  attempt([&] {
    const std::string at = R"(,"ts":)" + microseconds(begin);
    std::string events = event('X', process, lane) + at + R"(,"dur":)" +
                         microseconds(begin_ + (end - begin)) + R"(,"name":)" +
                         json_text(slice.name) + R"(,"args":{)" + slice.arguments + "}}";
    if (slice.arrow != TraceSlice::Arrow::none)
      events += event(static_cast<char>(slice.arrow), process, lane) + at +
                R"(,"name":"frame","cat":"frame","bp":"e","id":)" + std::to_string(slice.frame) +
                "}";
    append(events);
  });
}

void TraceLog::add_instant(TraceProcess process, int lane, std::string_view name,
                           const std::string& arguments) noexcept {
  attempt([&] {
    append(event('i', process, lane) + R"(,"ts":)" +
           microseconds(std::chrono::steady_clock::now()) + R"(,"s":"t","name":)" +
           json_text(name) + R"(,"args":{)" + arguments + "}}");
  });
}

TraceLanes::TraceLanes(TraceLog& log, TraceProcess process, std::string name)
    : log_(log), process_(process), name_(std::move(name)) {}

std::size_t TraceLanes::begin(TraceSlice slice) noexcept {
  try {
    const MutexLock lock(mutex_);
    auto lane = std::ranges::find(lanes_, false, &Lane::busy);
    if (lane == lanes_.end()) {
      const std::string name = name_ + " #" + std::to_string(lanes_.size() + 1);
      lane = lanes_.insert(lane, {.number = log_.add_lane(process_, name)});
    }
    lane->slice = std::move(slice);
    lane->busy = true;
    lane->since = std::chrono::steady_clock::now();
    return static_cast<std::size_t>(lane - lanes_.begin());
  } catch (...) {
    return kNoPlace;  // out of memory: this slice is missing
  }
}

void TraceLanes::end(std::size_t place) noexcept {
  if (place == kNoPlace) return;
  const MutexLock lock(mutex_);
  Lane& lane = lanes_[place];
  log_.add_slice(process_, lane.number, lane.since, std::chrono::steady_clock::now(), lane.slice);
  lane.busy = false;
}

Trace::Trace(const std::string& path) : log_(std::make_shared<TraceLog>(path)) {}
Trace::~Trace() { log_->abandon(); }
void Trace::close() { log_->close(); }

}  // namespace vcap
