// SPDX-License-Identifier: Apache-2.0
#include "sources/live_source.hpp"

#include <optional>
#include <utility>

#include "base/text.hpp"
#include "files/url.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {

LiveFeed::~LiveFeed() = default;

LiveSource::LiveSource(std::unique_ptr<LiveFeed> feed, Connect connect,
                       const ReconnectPolicy& policy, std::stop_source stop,
                       std::unique_ptr<LiveClock> clock)
    : connect_(std::move(connect)),
      policy_(policy),
      stop_(std::move(stop)),
      clock_(clock ? std::move(clock) : make_live_clock()),
      since_(clock_->now()) {
  take(std::move(feed));
}

LiveSource::LiveSource(SourceInfo info, Connect connect, const ReconnectPolicy& policy,
                       std::stop_source stop, std::unique_ptr<LiveClock> clock)
    : connect_(std::move(connect)),
      policy_(policy),
      stop_(std::move(stop)),
      clock_(clock ? std::move(clock) : make_live_clock()),
      info_(std::move(info)),
      since_(clock_->now()) {
  info_.live = true;
}

void LiveSource::take(std::unique_ptr<LiveFeed> feed) {
  feed_ = std::move(feed);
  times_.begin_connection();
  if (std::exchange(was_connected_, true)) return;
  info_ = feed_->info();
  info_.live = true;
  info_.frames.reset();
}

std::optional<Frame> LiveSource::read() {
  std::optional<LivePicture> picture;
  while (!(picture = read_picture()))
    if (stop_.stop_requested() || !connect_again()) return std::nullopt;
  broken_.add(picture->broken);
  const time_point now = clock_->now();
  const LiveTimes::Time time = times_.next(now, picture->time);
  Frame frame{.image = std::move(picture->image), .index = next_index_++, .pts = time.pts};
  if (frame.index == 0)
    frame.discontinuity = Discontinuity::start;
  else if (attempts_ > 0)
    frame.discontinuity = Discontinuity::reconnect;
  if (frame.discontinuity != Discontinuity::none)
    info_.decoder = feed_->info().decoder;  // known since the connection's first picture
  else if (time.gap || picture->follows_damage)
    frame.discontinuity = Discontinuity::gap;
  attempts_ = 0;
  note_picture(now);
  return frame;
}

std::optional<SourceState> LiveSource::state() const {
  const time_point now = clock_->now();
  const MutexLock lock(state_mutex_);
  SourceState state = state_;
  state.lasts = std::max(now - since_, time_point::duration(0));
  return state;
}

void LiveSource::note_picture(time_point now) {
  using Connection = SourceState::Connection;
  const MutexLock lock(state_mutex_);
  if (state_.connection == Connection::running) return;
  state_.connection = Connection::running;
  state_.attempts = 0;
  since_ = now;
}

void LiveSource::note_attempt() {
  const MutexLock lock(state_mutex_);
  ++state_.attempts;
}

/// `nullopt` if the feed is lost or the source was interrupted.
std::optional<LivePicture> LiveSource::read_picture() {
  if (!feed_ || stop_.stop_requested()) return std::nullopt;
  try {
    LivePicture picture = feed_->next();
    if (!stop_.stop_requested()) return picture;
  } catch (const SourceError& error) {
    lose(error.what());
  }
  return std::nullopt;
}

void LiveSource::lose(const std::string& why) {
  lost_because_ = why;
  {
    using Connection = SourceState::Connection;
    const MutexLock lock(state_mutex_);
    state_.last_failure = without_passwords(why);
    if (state_.connection == Connection::running) {
      state_.connection = Connection::reconnecting;
      ++state_.losses;
      since_ = clock_->now();
    }
  }
  // Closed before the next one is opened: many cameras serve only a few connections at a time.
  feed_.reset();
}

/// One attempt, after its delay; false if the source was interrupted. Throws SourceError if no
/// attempts are left.
bool LiveSource::connect_again() {
  const int failed = was_connected_ ? attempts_ : attempts_ - 1;  // the first is no retry
  if (failed >= policy_.max_attempts)
    throw SourceError(
        ErrorCode::source_read,
        info_.description +
            (was_connected_ ? " sent no more frames after " + std::to_string(next_index_)
                            : std::string(" could not be reached")) +
            " (" + lost_because_ + ")" +
            (failed > 0 ? "; " + counted(failed, "attempt") + " to reconnect failed"
                        : std::string()) +
            "; check the camera and its connection, then open the stream again");
  if (was_connected_ && failed == 0)
    log(LogLevel::warning, info_.description + " is lost after " + counted(next_index_, "frame") +
                               " (" + lost_because_ + "); reconnecting");
  else if (!was_connected_ && failed == 0)
    log(LogLevel::warning,
        info_.description + " cannot be reached (" + lost_because_ + "); trying again");
  ++attempts_;
  note_attempt();
  if (failed >= 0) clock_->wait(policy_.delay(failed + 1, clock_->chance()), stop_.get_token());
  if (stop_.stop_requested()) return false;
  try {
    take(connect_(stop_.get_token()));
  } catch (const SourceError& error) {
    lose(error.what());
  }
  return true;
}

}  // namespace vcap
