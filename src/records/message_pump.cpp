// SPDX-License-Identifier: Apache-2.0
#include "records/message_pump.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/steady_clock.hpp"
#include "base/text.hpp"
#include "files/write_all.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

constexpr std::size_t kMostAtOnce = 100;
constexpr std::uint64_t kMostSetAside = std::uint64_t{16} << 20;
/// How long close() waits for a sender that was told to stop.
constexpr std::chrono::seconds kLongestStop{2};

void require_range(const char* field, std::chrono::nanoseconds value,
                   std::chrono::nanoseconds least) {
  if (value >= least && value <= std::chrono::hours(24)) return;
  throw InvalidArgument(ErrorCode::invalid_argument,
                        std::string("PublishPolicy::") + field + ": " +
                            std::to_string(value.count()) + " ns is not within " +
                            std::to_string(least.count()) + " ns to 1 day");
}

PublishPolicy checked(PublishPolicy policy) {
  constexpr std::chrono::milliseconds kLeastPause{1};
  require_range("end_wait", policy.end_wait, std::chrono::nanoseconds(0));
  require_range("first_pause", policy.first_pause, kLeastPause);
  require_range("longest_pause", policy.longest_pause, kLeastPause);
  if (!policy.clock) policy.clock = std::make_shared<detail::SteadyClock>();
  return policy;
}

/// The object with the further field `message`.
OutgoingMessage outgoing(const std::string& spool, SpooledMessage message) {
  const std::string number = std::to_string(message.sequence);
  std::string body = std::move(message.body);
  body.pop_back();  // its closing brace
  if (body.find_last_not_of(" \t\n{") != body.npos) body += ',';
  body += R"("message":{"spool":")" + spool + R"(","sequence":)" + number + "}}";
  return {.sequence = message.sequence,
          .id = spool + '-' + number,
          .stream_id = std::move(message.stream_id),
          .body = std::move(body)};
}

/// A server that closes a connection must not end the host. Threads that the sender starts inherit
/// this.
void block_sigpipe() {
  sigset_t sigpipe;
  ::sigemptyset(&sigpipe);
  ::sigaddset(&sigpipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &sigpipe, nullptr);
}

}  // namespace

MessageSender::~MessageSender() = default;

std::shared_ptr<MessagePump> MessagePump::start(std::string name, const SpoolSettings& spool,
                                                std::unique_ptr<MessageSender> sender,
                                                PublishPolicy policy) {
  auto pump = std::make_shared<MessagePump>(std::move(name), spool, std::move(sender),
                                            checked(std::move(policy)));
  pump->begin_thread();
  return pump;
}

MessagePump::MessagePump(std::string name, const SpoolSettings& spool,
                         std::unique_ptr<MessageSender> sender, PublishPolicy policy)
    : name_(std::move(name)),
      policy_(std::move(policy)),
      spool_(spool.folder, spool.max_bytes),
      sender_(std::move(sender)),
      pause_(policy_.first_pause) {}

MessagePump::~MessagePump() = default;

void MessagePump::begin_thread() {
  const MutexLock lock(close_mutex_);
  thread_ = std::thread([self = shared_from_this()] { self->run(); });
}

void MessagePump::add(std::string_view stream_id, std::string_view body, SpoolPlace place) {
  check_open();
  spool_.append(stream_id, body, place);
  const MutexLock lock(mutex_);
  changed_.notify_all();
}

void MessagePump::add_or_lose(std::string_view stream_id, std::string_view body) {
  check_open();
  try {
    add(stream_id, body);
  } catch (const OutputError& error) {
    {
      const MutexLock lock(mutex_);
      stats_.last_failure = error.what();
      if (stats_.lost["disk"]++ > 0) return;
    }
    log(LogLevel::warning,
        name_ + ": " + error.what() + "; messages are lost until then, and counted");
  }
}

void MessagePump::check_open() const {
  const MutexLock lock(mutex_);
  if (!closing_ && !stopping_) return;
  throw OutputError(ErrorCode::output_write,
                    "the publisher to " + name_ +
                        " is closed already; close it after the last stream that writes to it");
}

void MessagePump::run() {
  block_sigpipe();
  while (await_messages())
    if (!send_some() && !pause()) break;
  const MutexLock lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

bool MessagePump::await_messages() {
  warn_of_losses();
  const MutexLock lock(mutex_);
  changed_.wait(mutex_, [this]() VCAP_REQUIRES(mutex_) {
    return stopping_ || closing_ || spool_.has_unread();
  });
  return !stopping_ && spool_.has_unread();
}

bool MessagePump::send_some() {
  std::vector<OutgoingMessage> messages;
  try {
    for (SpooledMessage& message : spool_.read(kMostAtOnce))
      messages.push_back(outgoing(spool_.id(), std::move(message)));
    if (messages.empty()) return true;
    spool_.store();
  } catch (const OutputError& error) {
    spool_.rewind();
    note_failure({.failure = error.what()});
    return false;
  }
  return settle(messages, attempt(messages));
}

MessageSender::Result MessagePump::attempt(const std::vector<OutgoingMessage>& messages) {
  try {
    return sender_->send(messages);
  } catch (...) {
    return {.failure = exception_text(std::current_exception())};
  }
}

bool MessagePump::settle(const std::vector<OutgoingMessage>& messages,
                         const MessageSender::Result& result) {
  for (const MessageSender::Loss& loss : result.lost) set_aside(loss.message, loss.reason);
  if (!result.lost.empty()) {
    const MutexLock lock(mutex_);
    stats_.delivered -= std::min<std::uint64_t>(stats_.delivered, result.lost.size());
    stats_.refused += result.lost.size();
  }
  std::uint64_t refused = 0;
  for (const MessageSender::Refusal& refusal : result.refused) {
    if (refusal.index >= result.settled) continue;  // it is sent again
    set_aside(messages[refusal.index], refusal.reason);
    ++refused;
  }
  if (result.settled > 0) {
    spool_.confirm(messages[result.settled - 1].sequence);
    note_success(result.settled - refused, refused);
  }
  if (result.settled == messages.size()) return true;
  spool_.rewind();
  note_failure(result);
  return false;
}

void MessagePump::set_aside(const OutgoingMessage& message, const std::string& reason) {
  const std::string path = spool_.folder() + "/refused.jsonl";
  std::string line = nlohmann::ordered_json{{"id", message.id}, {"reason", reason}}.dump(
      -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  line.pop_back();
  line += R"(,"record":)" + message.body + "}\n";
  if (!refused_file_) {
    refused_file_ =
        FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    struct stat status {};
    if (::fstat(refused_file_.get(), &status) != 0) status.st_size = 0;
    refused_bytes_ = static_cast<std::uint64_t>(status.st_size);
    // A process that was killed, or had a full disk, may have left a part of a line.
    char last = '\n';
    if (status.st_size > 0 && ::pread(refused_file_.get(), &last, 1, status.st_size - 1) == 1 &&
        last != '\n')
      line.insert(0, 1, '\n');
  }
  const bool fits = refused_bytes_ + line.size() <= kMostSetAside;
  const bool is_kept =
      fits && refused_file_ &&
      write_all(refused_file_.get(), std::as_bytes(std::span(line.data(), line.size())));
  if (is_kept)
    refused_bytes_ += line.size();
  else
    refused_file_ = FileDescriptor();  // a part of the line may be there
  log(LogLevel::warning, name_ + " refused message " + message.id + ": " + reason +
                             (is_kept ? "; it is kept in " + path
                                      : "; it is not kept, since " + path +
                                            (fits ? " cannot be written" : " has 16 MiB already")));
}

void MessagePump::note_failure(const MessageSender::Result& result) {
  {
    const MutexLock lock(mutex_);
    stats_.is_failing = true;
    stats_.last_failure = result.failure;
    least_pause_ = result.retry_after;
    if (stopping_) return;
    ++stats_.failed_attempts;
    if (failures_in_a_row_++ > 0) return;
  }
  log(LogLevel::warning, name_ + ": " + result.failure + "; messages wait in " + spool_.folder() +
                             ", and it is tried again until they are sent");
}

void MessagePump::note_success(std::uint64_t delivered, std::uint64_t refused) {
  {
    const MutexLock lock(mutex_);
    stats_.delivered += delivered;
    stats_.refused += refused;
    stats_.is_failing = false;
    pause_ = policy_.first_pause;
    has_tried_at_close_ = false;
    if (std::exchange(failures_in_a_row_, 0) == 0) return;
  }
  log(LogLevel::warning, name_ + " takes messages again");
}

/// Returns false if the thread must end instead.
bool MessagePump::pause() {
  warn_of_losses();
  const MutexLock lock(mutex_);
  const auto length = std::max<std::chrono::nanoseconds>(
      pause_, std::min<std::chrono::nanoseconds>(least_pause_, std::chrono::hours(1)));
  const Clock::time_point until = policy_.clock->now() + length;
  pause_ = std::min(pause_ * 2, std::max(policy_.longest_pause, policy_.first_pause));
  while (!closing_ && !stopping_ && policy_.clock->now() < until)
    changed_.wait_until(*policy_.clock, mutex_, until);
  if (!closing_) return !stopping_;
  return !stopping_ && !std::exchange(has_tried_at_close_, true);
}

void MessagePump::warn_of_losses() {
  const MessageSpool::Counts counts = spool_.counts();
  const auto full = counts.lost.find("full");
  if (full == counts.lost.end()) return;
  {
    const MutexLock lock(mutex_);
    if (std::exchange(warned_of_losses_, true)) return;
  }
  log(LogLevel::warning,
      name_ + ": spool " + spool_.folder() + " is full; the oldest messages are lost, and counted");
}

PublisherStats MessagePump::stats() const {
  const MessageSpool::Counts counts = spool_.counts();
  const MutexLock lock(mutex_);
  PublisherStats stats = stats_;
  stats.waiting = counts.waiting;
  stats.spool_bytes = counts.bytes;
  stats.lost.insert(counts.lost.begin(), counts.lost.end());
  return stats;
}

void MessagePump::begin_close() {
  const MutexLock lock(mutex_);
  if (std::exchange(closing_, true)) return;
  close_at_ = policy_.clock->now() + policy_.end_wait;
  changed_.notify_all();
}

void MessagePump::close() {
  begin_close();
  end(false);
}

void MessagePump::leave() { end(true); }

void MessagePump::end(bool at_once) {
  {
    const MutexLock lock(close_mutex_);
    if (!thread_.joinable()) return;
    end_thread(at_once);
  }
  const MessageSpool::Counts counts = spool_.counts();
  if (counts.waiting > 0)
    log(LogLevel::warning, name_ + ": " + counted(counts.waiting, "message") +
                               " not sent; they stay in " + spool_.folder() +
                               ", and are sent when it is opened again");
}

void MessagePump::end_thread(bool at_once) {
  {
    const MutexLock lock(mutex_);
    while (!at_once && !ended_ && policy_.clock->now() < close_at_)
      changed_.wait_until(*policy_.clock, mutex_, close_at_);
    stopping_ = true;
    changed_.notify_all();
  }
  sender_->stop();
  bool has_ended = false;
  {
    const MutexLock lock(mutex_);
    has_ended =
        changed_.wait_for(mutex_, kLongestStop, [this]() VCAP_REQUIRES(mutex_) { return ended_; });
  }
  if (has_ended)
    thread_.join();
  else
    thread_.detach();  // it owns this
}

}  // namespace vcap
