// SPDX-License-Identifier: Apache-2.0
#include "streams/sliced_stream.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "capsule/stream_states.hpp"
#include "sources/rows_source.hpp"
#include "sources/slice_source.hpp"
#include "streams/stream.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

bool is_not_as_indexed(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error.code() == ErrorCode::source_not_as_indexed;
  } catch (...) {
    return false;
  }
}

Rows moved(const Rows& rows, std::int64_t by) {
  Rows result;
  for (const RowRange& range : rows.ranges()) result.add({range.begin + by, range.end + by});
  return result;
}

}  // namespace

SlicedStream::SlicedStream(std::string id, std::unique_ptr<Source> source,
                           std::vector<std::shared_ptr<Sink>> sinks, StreamRules rules,
                           StreamServices services,
                           std::shared_ptr<const CompiledPlan> compiled_plan, StepOptions options,
                           Plan plan)
    : PipelineStream(std::move(id), std::move(rules)),
      sinks_(std::move(sinks)),
      services_(std::move(services)),
      compiled_plan_(std::move(compiled_plan)),
      options_(std::move(options)),
      plan_(std::move(plan)),
      in_order_(std::move(source)),
      account_(id_) {
  if (plan_.slices.size() > 1)
    account_.own().slices = static_cast<std::int64_t>(plan_.slices.size());
}

SlicedStream::~SlicedStream() { join(); }

void SlicedStream::start() {
  {
    const MutexLock lock(inbox_->mutex);
    account_.start(std::chrono::steady_clock::now());
  }
  thread_ = std::thread([this] { run(); });
}

void SlicedStream::stop() noexcept {
  std::vector<std::shared_ptr<Stream>> streams;
  {
    const MutexLock lock(inbox_->mutex);
    stopping_ = true;
    for (const auto& [number, part] : parts_)
      if (part.stream) streams.push_back(part.stream);
    inbox_->changed.notify_all();
  }
  for (const std::shared_ptr<Stream>& stream : streams) stream->stop();
}

void SlicedStream::run() {
  const MutexLock lock(inbox_->mutex);
  while (step()) {
  }
  close_parts(account_.has_failed() ? kDropStreamFailed : kDropClosed);
  {
    const MutexUnlock unlock(inbox_->mutex);
    in_order_.reset();
  }
  account_.end(std::chrono::steady_clock::now());
  over_.notify_all();
  offer_.notify_all();
}

/// Does one thing, or waits for something to do; false if nothing is left.
bool SlicedStream::step() {
  if (can_open()) {
    open_next();
    return true;
  }
  if (!parts_.contains(head_)) return false;
  const Inbox::Slot& head = inbox_->slots[head_];
  if (!head.records.empty()) return deliver_one();
  if (head.ended) return end_head();
  inbox_->changed.wait(inbox_->mutex);
  return true;
}

bool SlicedStream::can_open() const {
  if (stopping_ || next_slice_ == plan_.slices.size()) return false;
  const auto at_work =
      std::ranges::count_if(inbox_->slots, [](const auto& entry) { return !entry.second.ended; });
  return static_cast<std::size_t>(at_work) < plan_.at_once &&
         next_slice_ < head_ + 2 * plan_.at_once;
}

void SlicedStream::open_next() {
  const std::size_t number = next_slice_++;
  inbox_->slots[number] = {};
  const Slice slice = plan_.slices[number];
  Part part;
  {
    const MutexUnlock unlock(inbox_->mutex);
    try {
      part = open(number, slice);
    } catch (...) {
      part.failure = StreamFailure(std::current_exception());
    }
  }
  if (part.failure) inbox_->slots[number].ended = true;
  const bool stopping = stopping_;
  const std::shared_ptr<Stream> stream = part.stream;
  parts_.emplace(number, std::move(part));
  if (!stopping || !stream) return;
  const MutexUnlock unlock(inbox_->mutex);
  stream->stop();
}

SlicedStream::Part SlicedStream::open(std::size_t number, const Slice& slice) {
  Part part;
  const std::int64_t begin = slice.group ? slice.group->begin : 0;
  Rows fed = moved(slice.fed(), begin);
  std::unique_ptr<Source> frames;
  if (plan_.access)
    frames = plan_.access->open(fed.ranges());
  else
    frames = std::make_unique<RowsSource>(std::move(in_order_), std::move(fed), slice.results);
  part.gate = std::make_shared<SliceGate>(plan_.records_kept);
  StreamRules rules = rules_;
  rules.slice = std::make_shared<const Slice>(slice);
  rules.pull = false;
  rules.max_frames.reset();
  rules.frames_in_flight = std::max<std::size_t>(4, rules_.frames_in_flight / plan_.at_once);
  rules.resume_threshold = std::min(rules_.resume_threshold, rules.frames_in_flight / 2);
  std::optional<std::int64_t> group_begin;
  if (slice.group) {
    group_begin = begin;
    rules.seed = detail::seed_of(id_ + "/" + std::to_string(slice.group->number));
    for (const auto& [capsule, config] : slice.group->config) rules.config[capsule] = config;
  }
  rules.hand_over = [inbox = inbox_, gate = part.gate, number, keeps_pixels = plan_.keeps_pixels](
                        FrameRecord record, time_point read_at) {
    if (!keeps_pixels) {
      record.frame.image.release();
      record.frame.pictures = {};
    }
    gate->add();
    {
      const MutexLock lock(inbox->mutex);
      inbox->slots[number].records.emplace_back(std::move(record), read_at);
    }
    inbox->changed.notify_all();
  };
  rules.on_end = [inbox = inbox_, number] {
    const MutexLock lock(inbox->mutex);
    inbox->slots[number].ended = true;
    inbox->changed.notify_all();
  };
  auto source = std::make_unique<SliceSource>(std::move(frames), part.gate, group_begin);
  rules.source_name = source->info().description;
  part.stream = std::make_shared<Stream>(
      id_, std::move(source), std::vector<std::shared_ptr<Sink>>(), std::move(rules), services_);
  part.stream->init_route(compiled_plan_, options_);
  part.stream->start();
  return part;
}

/// Delivers the head's next record, which must be there, to the sinks or to a thread that pulls.
bool SlicedStream::deliver_one() {
  auto& records = inbox_->slots[head_].records;
  auto [record, read_at] = std::move(records.front());
  records.pop_front();
  parts_.at(head_).gate->take();
  if (rules_.pull && !discarding_) {
    offered_.emplace(std::move(record), read_at);
    offer_.notify_all();
    inbox_->changed.wait(inbox_->mutex, [this]() VCAP_REQUIRES(inbox_->mutex) {
      return !delivering_ && (!offered_ || discarding_);
    });
    if (!offered_) return !account_.has_failed();
    record = std::move(std::exchange(offered_, {})->first);
  }
  const bool discards = discarding_;
  if (discards) account_.add_drops(kDropClosed, 1);
  const MutexUnlock unlock(inbox_->mutex);
  const FrameRecord last = std::move(record);  // its pixels are freed without the lock
  return discards || deliver(last, read_at);
}

/// Called without the lock. False if a sink failed, which ends the stream.
bool SlicedStream::deliver(const FrameRecord& record, time_point read_at) {
  StreamFailure failure;
  try {
    for (const std::shared_ptr<Sink>& sink : sinks_) sink->write(record);
  } catch (...) {
    failure = StreamFailure(std::current_exception());
  }
  const MutexLock lock(inbox_->mutex);
  if (failure) {
    account_.add_drops(kDropStreamFailed, 1);
    fail(failure);
    return false;
  }
  last_index_ = record.frame.index;
  account_.add_record(!record.errors.empty(), read_at, std::chrono::steady_clock::now());
  for (const FrameRecord::CapsuleError& error : record.errors)
    if (error.code == kQuarantined) account_.add_quarantined(error.capsule);
  return true;
}

/// Called after the head's last record. Goes on to the next slice if this one is complete.
bool SlicedStream::end_head() {
  StreamFailure failure = parts_.at(head_).failure;
  BrokenPictures broken;
  std::int64_t overdue = 0;
  if (std::shared_ptr<Stream> stream = parts_.at(head_).stream) {
    const MutexUnlock unlock(inbox_->mutex);
    stream->join();
    StreamReport report = stream->report();
    failure = StreamFailure(report.failure_cause);
    broken = std::move(report.broken_pictures);
    overdue = report.overdue;
    stream.reset();
  }
  const Slice& slice = plan_.slices[head_];
  if (failure && !stopping_ && in_order_ && !slice.group && is_not_as_indexed(failure.cause)) {
    go_on_in_order(failure);  // which meets the broken pictures again
    return true;
  }
  account_.own().broken_pictures.add(broken);
  account_.own().overdue += overdue;
  const bool is_whole = !failure && last_index_ >= slice.results.hull().end - 1;
  if (slice.group) last_index_ = -1;
  inbox_->slots.erase(head_);
  auto ended = parts_.extract(head_++);
  if (failure && !stopping_) fail(failure);
  // After an incomplete slice, no later record is delivered.
  const bool goes_on = is_whole || (!failure && !stopping_);
  const MutexUnlock unlock(inbox_->mutex);
  ended = {};  // its stream joins its threads
  return goes_on;
}

/// Which frames are damaged is only known after decoding everything before them.
void SlicedStream::go_on_in_order(const StreamFailure& why) {
  const std::string text = "stream " + id_ + " continues without slices from frame " +
                           std::to_string(last_index_ + 1) + ": " + why.text;
  {
    const MutexUnlock unlock(inbox_->mutex);
    log(LogLevel::warning, text);
  }
  close_parts(nullptr);
  Rows left;
  for (std::size_t i = head_; i < plan_.slices.size(); ++i)
    for (const RowRange& range : plan_.slices[i].results.ranges())
      left.add({std::max(range.begin, last_index_ + 1),
                plan_.ends_with_source && range.end == plan_.frames ? kEndlessRows : range.end});
  head_ = next_slice_ = 0;
  plan_.slices.clear();
  {
    auto access = std::exchange(plan_.access, nullptr);
    auto is_null = std::exchange(plan_.nulls.is_null, nullptr);  // row numbers are different now
    const MutexUnlock unlock(inbox_->mutex);
    access.reset();  // may be the host's
    is_null = nullptr;
  }
  if (left.empty()) return;  // the damage is only in frames that were read ahead
  plan_.slices = {SliceNeeds(*compiled_plan_).slice(std::move(left), kEndlessRows, plan_.nulls)};
}

/// Ends all open slices. `reason`: why their records are dropped; null if they will be made again.
void SlicedStream::close_parts(const char* reason) {
  Parts parts = std::exchange(parts_, {});
  {
    const MutexUnlock unlock(inbox_->mutex);
    for (const auto& [number, part] : parts)
      if (part.stream) part.stream->stop();
    for (const auto& [number, part] : parts)
      if (part.stream) {
        part.stream->wait_until_ended();
        part.stream->join();
      }
    parts.clear();
  }
  auto slots = std::exchange(inbox_->slots, {});
  for (const auto& [number, slot] : slots)
    if (reason) account_.add_drops(reason, static_cast<std::int64_t>(slot.records.size()));
  const MutexUnlock unlock(inbox_->mutex);
  slots.clear();
}

/// Stores the first failure, which ends the stream. Temporarily releases the lock.
void SlicedStream::fail(const StreamFailure& failure) {
  stopping_ = true;
  if (!account_.fail(failure)) return;
  const MutexUnlock unlock(inbox_->mutex);
  log(LogLevel::error, "stream " + id_ + " has failed and ends: " + failure.text);
}

std::optional<FrameRecord> SlicedStream::next() {
  for (;;) {
    const MutexLock lock(inbox_->mutex);
    offer_.wait(inbox_->mutex,
                [this]() VCAP_REQUIRES(inbox_->mutex) { return offered_ || account_.has_ended(); });
    if (!offered_) return {};
    if (auto record = take_offered()) return record;
  }
}

std::optional<FrameRecord> SlicedStream::try_next() {
  const MutexLock lock(inbox_->mutex);
  return offered_ ? take_offered() : std::nullopt;
}

/// Takes the offered record and writes it to the sinks; the stream's thread then goes on. `nullopt`
/// if a sink fails.
std::optional<FrameRecord> SlicedStream::take_offered() {
  auto [taken, read_at] = *std::exchange(offered_, {});
  std::optional<FrameRecord> record(std::move(taken));
  delivering_ = true;
  {
    const MutexUnlock unlock(inbox_->mutex);
    if (!deliver(*record, read_at)) record.reset();
  }
  delivering_ = false;
  inbox_->changed.notify_all();
  return record;
}

void SlicedStream::discard_records() {
  const MutexLock lock(inbox_->mutex);
  if (!rules_.pull) return;
  discarding_ = true;
  inbox_->changed.notify_all();
}

void SlicedStream::wait_until_ended() {
  const MutexLock lock(inbox_->mutex);
  over_.wait(inbox_->mutex, [this]() VCAP_REQUIRES(inbox_->mutex) { return account_.has_ended(); });
}

void SlicedStream::join() {
  const MutexLock lock(join_mutex_);
  if (thread_.joinable()) thread_.join();
}

std::int64_t SlicedStream::set_option(const std::string& capsule, const std::string& option,
                                      OptionValue) {
  throw InvalidArgument(ErrorCode::invalid_argument,
                        "option \"" + option + "\" of capsule " + capsule + ": stream " + id_ +
                            " runs in slices, whose frames do not come in order; set it when the "
                            "stream is opened, or open it without slices");
}

StreamSettings SlicedStream::settings() const {
  StreamSettings settings{.id = id_, .options_can_change = false, .configs_can_change = false};
  for (std::size_t i = 0; i < compiled_plan_->size(); ++i) {
    const CapsuleInfo& info = (*compiled_plan_)[i].slot->capsule->info();
    const auto own = rules_.config.find(info.name);
    settings.capsules.push_back(capsule_settings(
        info, options_[i], own == rules_.config.end() ? JsonValue::object() : own->second, id_));
  }
  return settings;
}

StreamReport SlicedStream::report() const {
  const MutexLock lock(inbox_->mutex);
  return account_.report(std::chrono::steady_clock::now());
}

StreamStats SlicedStream::stats() const {
  StreamStats stats;
  stats.id = id_;
  stats.source = rules_.source_name;
  // Without the lock: a host's sink may take long.
  for (const std::shared_ptr<Sink>& sink : sinks_) stats.sinks.push_back(sink->stats());
  const MutexLock lock(inbox_->mutex);
  account_.describe(stats, std::chrono::steady_clock::now());
  stats.read = stats.recorded;
  for (const auto& [number, slot] : inbox_->slots) stats.in_flight += slot.records.size();
  for (const auto& [number, part] : parts_) {
    if (!part.stream) continue;
    const StreamStats own = part.stream->stats();
    stats.in_flight += own.in_flight;
    stats.waiting += own.waiting;
    stats.broken_pictures.add(own.broken_pictures);
    stats.overdue += own.overdue;
  }
  for (const auto& [reason, count] : stats.drops) stats.read += count;
  stats.read += static_cast<std::int64_t>(stats.in_flight);
  return stats;
}

}  // namespace vcap
