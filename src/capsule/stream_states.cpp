// SPDX-License-Identifier: Apache-2.0
#include "capsule/stream_states.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "capsule/config_schema.hpp"
#include "capsule/current_capsule.hpp"
#include "capsule/levels.hpp"
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

/// What the author's factory makes of the stream; `what`: its word, for messages.
template <class Factory>
auto make_by(const Factory& factory, const StreamInfo& info, const std::string& capsule,
             const std::string& what, const std::string& when) {
  const std::string failed =
      "capsule " + capsule + " made no " + what + " for " + shown(info.id) + ' ' + when + ": ";
  decltype(factory(info)) made;
  try {
    made = factory(info);
  } catch (...) {
    throw Error(ErrorCode::capsule_threw, failed + exception_text(std::current_exception()));
  }
  if (!made)
    throw Error(ErrorCode::capsule_threw,
                failed + "its factory returned null; it must return a " + what +
                    ". Leave the factory out if the capsule needs no " + what);
  return made;
}

auto make_state(const CapsuleInfo& capsule, const StreamInfo& info, const std::string& when) {
  return make_by(capsule.stream_state, info, capsule.name, "state", when);
}

auto make_parameters(const CapsuleInfo& capsule, const StreamInfo& info, const std::string& when) {
  return make_by(capsule.stream_parameters, info, capsule.name, "set of parameters", when);
}

std::string at(const Frame& frame) { return "at frame " + std::to_string(frame.index); }

}  // namespace

void try_stream_config(const CapsuleInfo& capsule, StreamInfo info) {
  info.config = completed_stream_config(capsule, *std::move(info.config), info.id);
  const std::string subject = "capsule " + capsule.name;
  const CurrentCapsule current(subject);
  try {
    if (capsule.stream_state) make_state(capsule, info, "with this config");
    if (capsule.stream_parameters) make_parameters(capsule, info, "with this config");
  } catch (const Error& error) {
    throw InvalidArgument(ErrorCode::invalid_config, error.what());
  }
}

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
  if (!stream.state) return {};
  nlohmann::json saved = stream.state->save();
  if (has_more_levels(saved))
    throw Error(ErrorCode::invalid_output, "the saved state of " + shown(stream.info.id) +
                                               " has more than " + std::to_string(kMostLevels) +
                                               " levels of lists and objects; save fewer");
  return saved;
}

bool read_state(OpenStream& stream, const std::function<void(const BaseStreamState&)>& read) {
  const std::unique_lock turn(stream.turn);
  stream.turn.assert_held();  // by `turn`
  if (!stream.state) return false;
  read(*stream.state);
  return true;
}

void continue_passed_on(OpenStream& from, OpenStream& to) {
  PassedOn passed_on;
  {
    const std::unique_lock turn(from.turn, std::try_to_lock);
    if (!turn) return;
    from.turn.assert_held();  // by `turn`
    passed_on = from.passed_on;
  }
  const std::unique_lock turn(to.turn);
  to.turn.assert_held();  // by `turn`
  to.passed_on = std::move(passed_on);
}

StreamStates::Turn::Turn(std::shared_ptr<OpenStream> stream)
    : stream_(std::move(stream)), lock_(stream_->turn) {}

BaseStreamState& StreamStates::Turn::state() noexcept {
  stream_->turn.assert_held();  // by lock_
  return *stream_->state;
}

PassedOn& StreamStates::Turn::passed_on() noexcept {
  stream_->turn.assert_held();  // by lock_
  return stream_->passed_on;
}

StreamStates::StreamStates(const CapsuleInfo& capsule) : capsule_(capsule) {}

StreamStates::~StreamStates() = default;

std::shared_ptr<OpenStream> StreamStates::make(StreamInfo info) const {
  info.config = completed_stream_config(capsule_, *std::move(info.config), info.id);
  if (has_more_levels(info.saved))
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "the saved state given for " + shown(info.id) + " of capsule " +
                              capsule_.name + " has more than " + std::to_string(kMostLevels) +
                              " levels of lists and objects; give what save() gave");
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
    stream.passed_on = {};
  }
  // The results must not depend on the frame at which a bounded state was made, so it keeps its
  // seed.
  if (stream.made_at && !capsule_.warmup)
    info.seed = scrambled(info.seed ^ scrambled(static_cast<std::uint64_t>(frame.index)));
  // Reset before the factory runs: if the factory fails, no later frame may use the old state.
  stream.state.reset();
  stream.made_at = frame.index;
  stream.state = make_state(capsule_, info, at(frame));
}

StreamStates::Parameters StreamStates::parameters(std::string_view stream_id, const Frame& frame) {
  return parameters(find_or_add(stream_id), frame);
}

StreamStates::Parameters StreamStates::parameters(std::shared_ptr<OpenStream> opened,
                                                  const Frame& frame) const {
  OpenStream& stream = *opened;
  if (!stream.made_parameters) {
    const std::unique_lock turn(stream.turn);
    stream.turn.assert_held();  // by `turn`
    if (!stream.parameters) {
      stream.parameters = make_parameters(capsule_, stream.info, at(frame));
      stream.made_parameters = stream.parameters.get();
    }
  }
  return Parameters(std::move(opened));
}

void StreamStates::clean_up(std::string_view stream_id) {
  std::shared_ptr<OpenStream> dropped;  // its state is destroyed after the mutex is unlocked
  const MutexLock lock(mutex_);
  if (const auto found = streams_.find(stream_id); found != streams_.end()) {
    dropped = std::move(found->second);
    streams_.erase(found);
  }
}

std::shared_ptr<OpenStream> StreamStates::find(std::string_view stream_id) const {
  const MutexLock lock(mutex_);
  const auto found = streams_.find(stream_id);
  return found == streams_.end() ? nullptr : found->second;
}

nlohmann::json StreamStates::save(std::string_view stream_id) const {
  const std::shared_ptr<OpenStream> stream = find(stream_id);
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
