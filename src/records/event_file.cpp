// SPDX-License-Identifier: Apache-2.0
#include "records/event_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "records/event_line.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

std::string system_text(int error) { return std::generic_category().message(error); }

/// What the record of an event that a killed process left open says of its clip.
void keep_clip(EventRecord& record, bool is_there) {
  record.clip_cut = is_there;
  if (is_there) return;
  record.clip.clear();
  record.clip_start.reset();
}

/// The open events of a journal. Keeps no others, since a journal may be long.
class OpenEvents {
 public:
  void add(EventRecord record) {
    const Uuid id = record.event.id;
    if (record.phase == EventChange::Phase::end)
      open_.erase(id);
    else
      open_.emplace(id, std::pair(count_++, std::move(record)));
  }
  /// In the order of their begins.
  std::vector<EventRecord> take() {
    std::map<std::size_t, EventRecord> in_order;
    for (auto& [id, entry] : open_) in_order.insert(std::move(entry));
    std::vector<EventRecord> records;
    records.reserve(in_order.size());
    for (auto& [place, record] : in_order) records.push_back(std::move(record));
    return records;
  }

 private:
  std::map<Uuid, std::pair<std::size_t, EventRecord>> open_;
  std::size_t count_ = 0;
};

}  // namespace

EventFile::EventFile(std::string path, bool sync,
                     const std::function<bool(const std::string& clip)>& has_clip)
    : path_(std::move(path)), sync_(sync) {
  open();
  repair(has_clip);
}

void EventFile::open() {
  if (path_ == "-")
    fail_open("cannot be standard output, since it is read again at the next start; give a file");
  file_ = FileDescriptor(
      ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666));
  if (!file_ && errno == ENOENT)
    fail_open("cannot be created: its folder does not exist; create it first");
  if (!file_ && errno == EISDIR) fail_open("is a folder; give the name of a file");
  if (!file_) fail_open("cannot be opened: " + system_text(errno) + "; check its permissions");
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0 || !S_ISREG(status.st_mode))
    fail_open("is not a regular file; give another path");
  inode_ = status.st_ino;
  while (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) break;  // a file system without locks
    fail_open(
        "is being written by another run or sink, which has locked it; wait until it has ended, or "
        "give another path");
  }
}

void EventFile::repair(const std::function<bool(const std::string& clip)>& has_clip) {
  std::string text;
  try {
    text = read_from_start(file_.get());
  } catch (const std::system_error& error) {
    fail_open("cannot be read: " + error.code().message());
  }
  OpenEvents events;
  std::size_t damaged = 0;
  const std::size_t whole = walk_event_lines(
      text, {.on_record =
                 [&](EventRecord record) {
                   const bool is_there = !record.clip.empty() && has_clip && has_clip(record.clip);
                   keep_clip(record, is_there);
                   events.add(std::move(record));
                 },
             .on_damaged = [&](std::size_t) { ++damaged; }});
  if (damaged > 0 && damaged == static_cast<std::size_t>(std::ranges::count(text, '\n')))
    fail_open(
        "has no line that is an event record, so it seems to be another file; give the path of "
        "an event journal, or of a new file");
  if (whole == 0 && !text.empty() && !text.starts_with('{'))
    fail_open("is not an event journal; give the path of one, or of a new file");
  end_ = found_end_ = static_cast<std::int64_t>(whole);
  if (whole < text.size() && ::ftruncate(file_.get(), end_) != 0)
    fail_open("ends with a part of a line, which cannot be cut off: " + system_text(errno));
  std::string lines;
  std::size_t interrupted = 0;
  for (EventRecord& record : events.take()) {
    record.phase = EventChange::Phase::end;
    record.event.reason = EventEnd::interrupted;
    lines += event_line(record);
    ++interrupted;
  }
  if (interrupted + damaged > 0 || whole < text.size())
    log(LogLevel::warning,
        "event journal " + path_ + ": an earlier run did not end it" +
            (whole < text.size() ? "; a part of a last line was cut off" : "") +
            (interrupted > 0
                 ? "; " + counted(interrupted, "open event") + " ended now, as interrupted"
                 : "") +
            (damaged > 0 ? "; " + counted(damaged, "line") + " damaged, kept and not used" : ""));
  append(lines);
}

void EventFile::append(std::string& lines) {
  if (lines.empty()) return;
  if (torn_ && ::ftruncate(file_.get(), end_) != 0) fail_write(errno);
  torn_ = false;
  std::size_t written = 0;
  int error = 0;
  while (written < lines.size() && error == 0) {
    const ssize_t count = ::write(file_.get(), lines.data() + written, lines.size() - written);
    if (count > 0) written += static_cast<std::size_t>(count);
    if (count == 0) error = ENOSPC;  // a regular file takes some, or says why not
    if (count < 0 && errno != EINTR) error = errno;
  }
  // Only whole lines stay.
  const std::size_t newline = written == 0 ? lines.npos : lines.rfind('\n', written - 1);
  const std::size_t whole = newline == lines.npos ? 0 : newline + 1;
  end_ += static_cast<std::int64_t>(whole);
  lines.erase(0, whole);
  torn_ = written > whole && ::ftruncate(file_.get(), end_) != 0;
  if (error != 0) fail_write(error);
  if (sync_) store();
}

void EventFile::store() {
  if (::fdatasync(file_.get()) != 0) fail_write(errno);
}

void EventFile::fail_open(const std::string& why) const {
  throw OutputError(ErrorCode::output_open, "event journal " + path_ + ' ' + why);
}

void EventFile::fail_write(int error) const {
  throw OutputError(ErrorCode::output_write,
                    "event journal " + path_ + " cannot be written further: " + system_text(error) +
                        (error == EBADF ? "; its descriptor was closed by other code in this "
                                          "process, such as a capsule"
                                        : "; free some space") +
                        "; its lines are whole, and what is open ends as interrupted when it is "
                        "opened again");
}

}  // namespace vcap
