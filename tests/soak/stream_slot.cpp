// SPDX-License-Identifier: Apache-2.0
#include "stream_slot.hpp"

#include <opencv2/core.hpp>
#include <optional>
#include <utility>

#include "sources.hpp"
#include "vcap/base/error.hpp"

namespace vcap::soak {
namespace {

constexpr double kFramesPerSecond = 25;

std::int64_t drawn(std::mt19937& engine, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution(low, high)(engine);
}

}  // namespace

StreamSlot::StreamSlot(Pipeline& pipeline, int number, const Settings& settings)
    : pipeline_(pipeline),
      number_(number),
      kind_(static_cast<Kind>(number % 4)),
      settings_(settings) {}

StreamSlot::~StreamSlot() {
  if (feed_) feed_->end();
}

void StreamSlot::open(std::mt19937& engine) {
  id_ = std::to_string(number_) + "." + std::to_string(++opened_);
  given_ = std::make_shared<std::atomic<std::int64_t>>(0);
  written_ = std::make_shared<std::atomic<std::int64_t>>(0);
  in_order_ = std::make_shared<std::atomic<bool>>(true);
  StreamConfig config{
      .id = id_,
      .source = counted(make_source(engine), kFramesPerSecond, given_),
      .sinks = {make_callback_sink([written = written_, last = std::int64_t{-1},
                                    in_order = in_order_](const FrameRecord& record) mutable {
        ++*written;
        // Dropped and recorded frames must come once each, and in order.
        for (const FrameRecord::Drop& drop : record.drops) {
          if (drop.frame_index <= last) *in_order = false;
          last = drop.frame_index;
        }
        if (record.frame.index <= last) *in_order = false;
        last = record.frame.index;
      })},
      .frames_in_flight = static_cast<std::size_t>(drawn(engine, 1, 6)),
      .keep_every = drawn(engine, 1, 3),
      .pull = kind_ == Kind::pulled_feed,
      .capsule_deadline = settings_.capsule_deadline};
  config.quarantine.failures = static_cast<std::size_t>(drawn(engine, 0, 1) * 10);
  if (drawn(engine, 0, 3) == 0) config.capsules = {"finder", "tracker_person"};
  pipeline_.open_stream(std::move(config));
  if (feed_) pusher_ = std::jthread([this] { push_frames(); });
  if (kind_ == Kind::pulled_feed) puller_ = std::jthread([this] { pull_records(); });
}

std::unique_ptr<Source> StreamSlot::make_source(std::mt19937& engine) {
  if (kind_ == Kind::file)
    return open_source(settings_.footage, {.start = std::chrono::seconds(drawn(engine, 0, 60)),
                                           .stride = drawn(engine, 1, 2),
                                           .loop = drawn(engine, 0, 2)});
  if (kind_ == Kind::camera)
    return make_camera({.per_second = kFramesPerSecond,
                        .frames = drawn(engine, 5, 150),
                        .fails = drawn(engine, 0, 1) == 0,
                        .longest_outage = settings_.longest_outage,
                        .seed = static_cast<unsigned>(engine())});
  feed_ = std::make_unique<FrameFeed>(
      FrameFeed::Settings{.frames_per_second = kFramesPerSecond, .live = drawn(engine, 0, 1) == 0});
  return feed_->source();
}

/// Pushes frames as fast as they are read. [own thread]
void StreamSlot::push_frames() {
  for (int i = 0; feed_->push(cv::Mat(240, 320, CV_8UC3, cv::Scalar::all(i % 256))); ++i) {
  }
}

/// [own thread]
void StreamSlot::pull_records() {
  try {
    while (pipeline_.next(id_)) {
    }
  } catch (const SourceError& error) {
    if (error.code() != ErrorCode::unknown_stream) throw;  // it was closed meanwhile
  }
}

bool StreamSlot::has_ended() const {
  for (const StreamReport& report : pipeline_.reports())
    if (report.id == id_) return report.ended;
  return false;
}

void StreamSlot::close(Accounts& accounts) {
  const StreamReport report = pipeline_.close_stream(id_);
  if (feed_) feed_->end();
  pusher_ = {};
  puller_ = {};
  feed_.reset();

  std::int64_t dropped = 0;
  for (const auto& [reason, count] : report.drops) {
    dropped += count;
    accounts.drops[reason] += count;
  }
  ++accounts.streams;
  accounts.failed += report.failure ? 1 : 0;
  accounts.given += *given_;
  accounts.recorded += report.frames;
  accounts.errors += report.errors;
  if (!accounts.fault.empty()) return;
  if (*given_ != report.frames + dropped)
    accounts.fault = "of stream " + id_ + " the source gave " + std::to_string(*given_) +
                     " frames, but the report tells of " + std::to_string(report.frames) +
                     " recorded and " + std::to_string(dropped) + " dropped";
  else if (!*in_order_)
    accounts.fault = "stream " + id_ + " told of a frame twice, or of two out of their order";
  else if (*written_ != report.frames)
    accounts.fault = "stream " + id_ + " wrote " + std::to_string(*written_) +
                     " records, but its report tells of " + std::to_string(report.frames);
}

}  // namespace vcap::soak
