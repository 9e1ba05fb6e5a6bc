// SPDX-License-Identifier: Apache-2.0
#include "records/message_spool.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "files/write_all.hpp"
#include "records/segment_file.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/model/uuid.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLeastSpool = 64 << 10;
constexpr std::uint64_t kSegmentsInSpool = 16;
constexpr std::size_t kReadAtOnce = 1 << 20;
constexpr std::string_view kSpoolMark = "vcap.spool/1 ";
constexpr std::string_view kSegmentEnding = ".messages";
constexpr int kSegmentDigits = 20;

/// Reasons for losses, as in MessageSpool::Counts.
constexpr const char* kLostToBound = "full";
constexpr const char* kLostToSize = "too large";
constexpr const char* kLostToDamage = "damaged";

std::string reason_of(int error) { return std::generic_category().message(error); }

std::string read_small(int file) {
  std::array<char, 256> text{};
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

/// The number at the start of the text.
std::optional<std::uint64_t> leading_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

/// A number of twenty digits, so that names are in the order of their numbers.
std::string in_digits(std::uint64_t number) {
  std::string digits = std::to_string(number);
  return digits.insert(0, kSegmentDigits - digits.size(), '0');
}

/// Writes all bytes at that place; returns errno, or 0.
int write_at(int file, std::string_view bytes, std::uint64_t place) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(place));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return ENOSPC;  // a regular file takes some, or says why not
    bytes.remove_prefix(static_cast<std::size_t>(count));
    place += static_cast<std::uint64_t>(count);
  }
  return 0;
}

}  // namespace

MessageSpool::MessageSpool(std::string folder, std::uint64_t max_bytes)
    : folder_(std::move(folder)),
      max_bytes_(max_bytes),
      segment_bytes_(max_bytes / kSegmentsInSpool) {
  if (max_bytes < kLeastSpool)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "SpoolSettings::max_bytes: " + std::to_string(max_bytes) +
                              " is not at least " + std::to_string(kLeastSpool));
  open_folder();
  std::uint64_t cut_off = 0;
  {
    const MutexLock lock(mutex_);
    find_segments();
    if (segments_.empty())
      begin_segment({});
    else
      cut_off = open_last_segment();
    const std::uint64_t first = segments_.begin()->first;
    const std::uint64_t sent = leading_number(read_small(sent_.get())).value_or(0);
    confirmed_ = std::clamp(sent, first - 1, next_ - 1);
    next_read_ = read_end_ = confirmed_ + 1;
  }
  if (cut_off > 0)
    log(LogLevel::warning, "spool " + folder_ + ": an earlier run did not end it; " +
                               counted(cut_off, "byte") + " after the last message cut off");
}

MessageSpool::~MessageSpool() = default;

void MessageSpool::open_folder() {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  directory_ = FileDescriptor(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory_)
    fail_open("cannot be opened: " + reason_of(errno) + "; create it, or check its permissions");
  lock_ = FileDescriptor(::openat(directory_.get(), "spool", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  sent_ = FileDescriptor(::openat(directory_.get(), "sent", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock_ || !sent_)
    fail_open("cannot be written: " + reason_of(errno) + "; check its permissions");
  while (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) break;  // a file system without locks
    fail_open(
        "is in use by another run or publisher, which has locked it; wait until it has ended, or "
        "give another folder");
  }
  std::string text = read_small(lock_.get());
  if (!text.ends_with('\n') && std::string_view(kSpoolMark).starts_with(text.substr(0, 13))) {
    text = std::string(kSpoolMark) + Uuid::random().to_string() + '\n';
    int error = write_at(lock_.get(), text, 0);
    // A message that was sent must not come again under another id, also after a power cut.
    if (error == 0 && ::fdatasync(lock_.get()) != 0) error = errno;
    if (error != 0) fail_open("cannot be written: " + reason_of(error) + "; free some space");
  }
  if (!text.starts_with(kSpoolMark) || !text.ends_with('\n'))
    fail_open("has a file \"spool\" of another format; give another folder");
  id_ = text.substr(kSpoolMark.size(), text.size() - kSpoolMark.size() - 1);
}

std::string MessageSpool::path_of(std::uint64_t first) const {
  return folder_ + '/' + in_digits(first).append(kSegmentEnding);
}

void MessageSpool::find_segments() {
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, failed)) {
    const std::string name = entry.path().filename().string();
    const auto first = leading_number(name);
    if (!first || *first == 0 || name != in_digits(*first).append(kSegmentEnding)) continue;
    const std::uint64_t size = entry.file_size(failed);
    segments_[*first] = failed ? 0 : size;
    bytes_ += segments_[*first];
  }
  if (failed) fail_open("cannot be read: " + failed.message());
}

/// Cuts off what follows its last whole message, and returns the bytes of that.
std::uint64_t MessageSpool::open_last_segment() {
  const auto& [first, size] = *std::prev(segments_.end());
  last_ = std::make_shared<FileDescriptor>(::open(path_of(first).c_str(), O_RDWR | O_CLOEXEC));
  next_ = first;
  if (!*last_) fail_open("has a segment that cannot be opened: " + reason_of(errno));
  std::string head(kSegmentHead, '\0');
  const ssize_t count = ::pread(last_->get(), head.data(), head.size(), 0);
  head.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  const auto place = read_segment_head(head, first);
  if (!place) {  // a power cut has damaged it
    begin_segment({});
    return 0;
  }
  place_ = *place;
  SegmentReader reader(last_->get(), kSegmentHead, static_cast<std::int64_t>(size));
  try {
    while (const auto found = reader.next()) {
      if (found->message.sequence != next_) break;
      place_ = found->place;
      ++next_;
    }
  } catch (const std::system_error& error) {
    fail_open("cannot be read: " + error.code().message());
  }
  const auto whole = static_cast<std::uint64_t>(reader.offset());
  const std::uint64_t cut_off = size - whole;
  if (cut_off > 0 && ::ftruncate(last_->get(), static_cast<off_t>(whole)) != 0)
    fail_open(reason_of(errno));
  bytes_ -= cut_off;
  segments_[first] = whole;
  is_changed_ = has_new_files_ = true;  // perhaps not stored
  return cut_off;
}

/// Replaces an empty segment of the same number.
void MessageSpool::begin_segment(SpoolPlace place) {
  const std::string head = segment_head(next_, place);
  const std::string name = folder_ + "/next.part";
  auto file = std::make_shared<FileDescriptor>(
      ::open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!*file) fail_write(errno);
  int error = write_at(file->get(), head, 0);
  if (error == 0 && ::rename(name.c_str(), path_of(next_).c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(name.c_str());
    fail_write(error);
  }
  if (last_ && is_changed_) unstored_.push_back(std::move(last_));
  last_ = std::move(file);
  is_changed_ = has_new_files_ = true;
  std::uint64_t& size = segments_[next_];
  bytes_ += head.size() - size;
  size = head.size();
  place_ = place;
}

void MessageSpool::remove_oldest() {
  const auto oldest = segments_.begin();
  ::unlink(path_of(oldest->first).c_str());
  bytes_ -= oldest->second;
  segments_.erase(oldest);
}

/// What was read of it may be delivered yet, so rewind() counts that.
void MessageSpool::drop_oldest() {
  const std::uint64_t first = segments_.begin()->first;
  const std::uint64_t end = std::next(segments_.begin())->first;
  const std::uint64_t unread = std::max(first, next_read_);
  if (end > unread) {
    lost_[kLostToBound] += end - unread;
    next_read_ = end;
  }
  remove_oldest();
}

void MessageSpool::append(std::string_view stream_id, std::string_view body, SpoolPlace place) {
  const MutexLock lock(mutex_);
  if (place == SpoolPlace{}) place = place_;
  const std::string bytes = message_bytes(next_, stream_id, body, place);
  if (bytes.size() > max_bytes_ / 4) {
    ++lost_[kLostToSize];
    place_ = place;
    return;
  }
  const std::uint64_t last_size = std::prev(segments_.end())->second;
  if (last_size > kSegmentHead && last_size + bytes.size() > segment_bytes_) begin_segment(place_);
  while (bytes_ + bytes.size() > max_bytes_ && segments_.size() > 1) drop_oldest();
  std::uint64_t& size = std::prev(segments_.end())->second;
  if (const int error = write_at(last_->get(), bytes, size); error != 0) {
    // A rest that cannot be cut off is written over, or cut off when the spool is opened.
    static_cast<void>(::ftruncate(last_->get(), static_cast<off_t>(size)) == 0);
    fail_write(error);
  }
  size += bytes.size();
  bytes_ += bytes.size();
  ++next_;
  place_ = place;
  is_changed_ = true;
}

SpoolPlace MessageSpool::place() const {
  const MutexLock lock(mutex_);
  return place_;
}

void MessageSpool::set_place(SpoolPlace place) {
  const MutexLock lock(mutex_);
  if (place != place_) begin_segment(place);
}

bool MessageSpool::has_unread() const {
  const MutexLock lock(mutex_);
  return next_read_ < next_;
}

MessageSpool::Part MessageSpool::next_part() {
  const auto segment = std::prev(segments_.upper_bound(next_read_));
  if (reading_.first != segment->first || reading_.sequence > next_read_ || !reading_.file) {
    reading_ = {.file = std::make_shared<FileDescriptor>(
                    ::open(path_of(segment->first).c_str(), O_RDONLY | O_CLOEXEC)),
                .offset = kSegmentHead,
                .first = segment->first};
    if (!*reading_.file) fail_write(errno);
  }
  reading_.end = static_cast<std::int64_t>(segment->second);
  reading_.sequence = next_read_;
  return reading_;
}

/// Gives up the rest of a segment that a power cut or other code has damaged.
void MessageSpool::skip_damage(const Part& part) {
  const auto next = segments_.upper_bound(part.first);
  const std::uint64_t end = next != segments_.end() ? next->first : next_;
  lost_[kLostToDamage] += end - next_read_;
  next_read_ = end;
  reading_ = {};
}

std::vector<SpooledMessage> MessageSpool::read(std::size_t most) {
  std::vector<SpooledMessage> messages;
  while (messages.empty()) {
    Part part;
    {
      const MutexLock lock(mutex_);
      if (next_read_ >= next_) return {};
      part = next_part();
    }
    SegmentReader reader(part.file->get(), part.offset, part.end);
    try {
      for (std::size_t size = 0; messages.size() < most && size < kReadAtOnce;) {
        auto found = reader.next();
        if (!found) break;
        if (found->message.sequence < part.sequence) continue;  // read before a rewind
        size += found->message.body.size();
        messages.push_back(std::move(found->message));
      }
    } catch (const std::system_error& error) {
      fail_write(error.code().value());
    }
    const MutexLock lock(mutex_);
    if (next_read_ != part.sequence) {  // dropped meanwhile
      messages.clear();
    } else if (messages.empty() || messages.front().sequence != part.sequence) {
      messages.clear();
      skip_damage(part);
    } else {
      confirmed_ = next_read_ - 1;
      next_read_ = read_end_ = messages.back().sequence + 1;
      reading_.offset = reader.offset();
      reading_.sequence = next_read_;
    }
  }
  return messages;
}

void MessageSpool::store() {
  std::vector<std::shared_ptr<FileDescriptor>> files;
  bool has_new_files = false;
  {
    const MutexLock lock(mutex_);
    files.swap(unstored_);
    if (std::exchange(is_changed_, false)) files.push_back(last_);
    has_new_files = std::exchange(has_new_files_, false);
  }
  int error = 0;
  for (const auto& file : files)
    if (::fdatasync(file->get()) != 0) error = errno;
  if (has_new_files && ::fsync(directory_.get()) != 0) error = errno;
  if (error == 0) return;
  {
    const MutexLock lock(mutex_);
    unstored_.insert(unstored_.end(), files.begin(), files.end());
    has_new_files_ = has_new_files_ || has_new_files;
  }
  fail_write(error);
}

void MessageSpool::confirm(std::uint64_t sequence) {
  const MutexLock lock(mutex_);
  if (sequence <= confirmed_) return;
  confirmed_ = sequence;
  // If the disk does not take it, the messages are sent again, which readers notice.
  static_cast<void>(write_at(sent_.get(), in_digits(sequence) + '\n', 0));
  while (segments_.size() > 1 && std::next(segments_.begin())->first <= sequence + 1)
    remove_oldest();
}

void MessageSpool::rewind() {
  const MutexLock lock(mutex_);
  const std::uint64_t first = segments_.begin()->first;
  const std::uint64_t dropped = std::min(first, read_end_);
  if (dropped > confirmed_ + 1) lost_[kLostToBound] += dropped - (confirmed_ + 1);
  confirmed_ = std::max(confirmed_, dropped - 1);
  next_read_ = std::max(confirmed_ + 1, first);
  read_end_ = next_read_;
  confirmed_ = next_read_ - 1;
  reading_ = {};
}

MessageSpool::Counts MessageSpool::counts() const {
  const MutexLock lock(mutex_);
  return {.waiting = (next_ - next_read_) + (read_end_ - (confirmed_ + 1)),
          .bytes = bytes_,
          .lost = lost_};
}

void MessageSpool::fail_open(const std::string& why) const {
  throw OutputError(ErrorCode::output_open, "spool " + folder_ + ' ' + why);
}

void MessageSpool::fail_write(int error) const {
  throw OutputError(ErrorCode::output_write, "spool " + folder_ + " cannot be written or read: " +
                                                 reason_of(error) + "; free some space");
}

}  // namespace vcap
