// SPDX-License-Identifier: Apache-2.0
#include "capsule/stream_states.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "capsule/config_schema.hpp"
#include "vcap/base/error.hpp"

namespace vcap::detail {
namespace {

/// The output function of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
/// Generators, 2014): similar inputs give unrelated outputs.
std::uint64_t scrambled(std::uint64_t value) noexcept {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

std::string shown(std::string_view stream_id) { return "stream " + quote(stream_id); }

}  // namespace

std::uint64_t seed_of(std::string_view stream_id) noexcept {
  // FNV-1a; std::hash may differ from one standard library to the next.
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char character : stream_id) {
    hash ^= static_cast<unsigned char>(character);
    hash *= 0x100000001b3u;
  }
  return scrambled(hash);
}

nlohmann::json saved_state(OpenStream& stream) {
  const std::unique_lock turn(stream.turn, std::try_to_lock);
  if (!turn) return {};
  stream.turn.assert_held();  // by `turn`
  return stream.state ? stream.state->save() : nlohmann::json();
}

StreamStates::Turn::Turn(std::shared_ptr<OpenStream> stream)
    : stream_(std::move(stream)), lock_(stream_->turn) {}

BaseStreamState& StreamStates::Turn::state() noexcept {
  stream_->turn.assert_held();  // by lock_
  return *stream_->state;
}

StreamStates::StreamStates(const CapsuleInfo& capsule) : capsule_(capsule) {}

StreamStates::~StreamStates() = default;

std::shared_ptr<OpenStream> StreamStates::make(StreamInfo info) const {
  info.config = completed_stream_config(capsule_, std::move(info.config), info.id);
  return std::make_shared<OpenStream>(std::move(info));
}

std::shared_ptr<OpenStream> StreamStates::open(StreamInfo info) {
  auto stream = make(std::move(info));
  const MutexLock lock(mutex_);
  const auto [place, is_new] = streams_.emplace(stream->info.id, std::move(stream));
  if (is_new) return place->second;
  throw InvalidArgument(ErrorCode::invalid_argument,
                        shown(place->first) + " of capsule " + capsule_.name +
                            " is open already; open it before its first frame, or clean it up");
}

std::shared_ptr<OpenStream> StreamStates::find_or_add(std::string_view stream_id) {
  const MutexLock lock(mutex_);
  if (const auto found = streams_.find(stream_id); found != streams_.end()) return found->second;
  auto stream = make({.id = std::string(stream_id), .seed = seed_of(stream_id)});
  streams_.emplace(stream_id, stream);
  return stream;
}

StreamStates::Turn StreamStates::take_turn(std::string_view stream_id, const Frame& frame) {
  return take_turn(find_or_add(stream_id), frame);
}

StreamStates::Turn StreamStates::take_turn(std::shared_ptr<OpenStream> opened,
                                           const Frame& frame) const {
  Turn turn(std::move(opened));
  OpenStream& stream = *turn.stream_;
  stream.turn.assert_held();  // by `turn`
  // A frame's nodes come in separate calls: only the first of these calls renews the state.
  const bool broken_off = breaks_off(frame) && stream.made_at != frame.index;
  if (!stream.state || broken_off) renew(stream, frame);
  return turn;
}

bool StreamStates::breaks_off(const Frame& frame) const noexcept {
  return frame.discontinuity != Discontinuity::none &&
         std::ranges::find(capsule_.keeps_state_at, frame.discontinuity) ==
             capsule_.keeps_state_at.end();
}

void StreamStates::renew(OpenStream& stream, const Frame& frame) const {
  StreamInfo info = stream.info;
  // Saved data continues a stream: it is not used once a state was made, or at a discontinuity.
  if (stream.made_at || breaks_off(frame)) {
    info.saved = nullptr;
    info.saved_by = 0;
  }
  // The results must not depend on the frame at which a bounded state was made, so it keeps its
  // seed.
  if (stream.made_at && !capsule_.warmup)
    info.seed = scrambled(info.seed ^ scrambled(static_cast<std::uint64_t>(frame.index)));
  // Reset before the factory runs: if the factory fails, no later frame may use the old state.
  stream.state.reset();
  stream.made_at = frame.index;
  const std::string failed = "capsule " + capsule_.name + " made no state for " +
                             shown(stream.info.id) + " at frame " + std::to_string(frame.index) +
                             ": ";
  try {
    stream.state = capsule_.stream_state(info);
  } catch (...) {
    throw Error(ErrorCode::capsule_threw, failed + exception_text(std::current_exception()));
  }
  if (!stream.state)
    throw Error(ErrorCode::capsule_threw,
                failed +
                    "its factory returned null; it must return a state. Leave the factory out if "
                    "the capsule needs no state");
}

void StreamStates::clean_up(std::string_view stream_id) {
  std::shared_ptr<OpenStream> dropped;  // its state is destroyed after the mutex is unlocked
  const MutexLock lock(mutex_);
  if (const auto found = streams_.find(stream_id); found != streams_.end()) {
    dropped = std::move(found->second);
    streams_.erase(found);
  }
}

nlohmann::json StreamStates::save(std::string_view stream_id) const {
  std::shared_ptr<OpenStream> stream;
  {
    const MutexLock lock(mutex_);
    if (const auto found = streams_.find(stream_id); found != streams_.end())
      stream = found->second;
  }
  return stream ? saved_state(*stream) : nlohmann::json();
}

void StreamStates::clear() {
  std::map<std::string, std::shared_ptr<OpenStream>, std::less<>> dropped;
  const MutexLock lock(mutex_);
  dropped.swap(streams_);
}

std::size_t StreamStates::size() const {
  const MutexLock lock(mutex_);
  return streams_.size();
}

}  // namespace vcap::detail
