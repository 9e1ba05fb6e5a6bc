// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_annotations.hpp"
#include "files/file_descriptor.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// A message in a spool. Thread safety: value.
struct SpooledMessage {
  std::uint64_t sequence = 0;  ///< from 1; the next message of the spool has the next number
  std::string stream_id{};
  std::string body{};  ///< a JSON object
};

/// How far a spool has taken the lines of a file, such as those of an event journal. Thread safety:
/// value.
struct SpoolPlace {
  std::uint64_t file = 0;      ///< its inode; 0: no file
  std::uint64_t position = 0;  ///< in bytes

  bool operator==(const SpoolPlace&) const = default;
};

/// Messages on the disk that wait until they are sent, in a folder of their own.
///
/// The folder has files of messages (segments), which are only appended to, a file `spool` with the
/// id and the lock, and a file `sent` with the number of the last message that was confirmed. A
/// message is whole with its checksum; if a process is killed while it writes one, the next one
/// cuts it off. Whole messages survive the end of the process in any way, and with store() also a
/// power cut.
///
/// A message that would exceed `max_bytes` removes the oldest segment first, a sixteenth of the
/// bound, so the oldest messages are lost, and counted. A segment is also removed when all its
/// messages are confirmed.
///
/// One thread may read, confirm and rewind, others append meanwhile: no lock is held while messages
/// are read or stored. Thread safety: thread-safe, but only one thread may read.
class VCAP_EXPORT MessageSpool {
 public:
  /// Each message that was appended and is not confirmed is either lost or waiting.
  struct Counts {
    std::uint64_t waiting = 0;
    std::uint64_t bytes = 0;                    ///< of all segments
    std::map<std::string, std::uint64_t> lost;  ///< by reason: "full", "too large", "damaged"
  };

  /// Opens the folder, or creates it. Throws OutputError (output_open) if it cannot be created or
  /// written, has another format, or another process has locked it; InvalidArgument if `max_bytes`
  /// is less than 64 KiB.
  MessageSpool(std::string folder, std::uint64_t max_bytes);
  ~MessageSpool();
  MessageSpool(const MessageSpool&) = delete;
  MessageSpool& operator=(const MessageSpool&) = delete;

  const std::string& folder() const noexcept { return folder_; }
  /// A UUID that the folder keeps.
  const std::string& id() const noexcept { return id_; }

  /// A message of more than a quarter of `max_bytes` is lost. `place`: how far its file is taken
  /// with this message; the default keeps the last one. Throws OutputError (output_write) if the
  /// disk does not take it; then nothing has changed.
  void append(std::string_view stream_id, std::string_view body, SpoolPlace place = {})
      VCAP_EXCLUDES(mutex_);
  SpoolPlace place() const VCAP_EXCLUDES(mutex_);
  /// Notes a place without a message. Throws OutputError (output_write).
  void set_place(SpoolPlace place) VCAP_EXCLUDES(mutex_);

  /// Whether read() would give messages.
  bool has_unread() const VCAP_EXCLUDES(mutex_);
  /// The next messages, at most `most`, and about 1 MiB. Before the next call, confirm() all of
  /// them, or rewind(). Throws OutputError (output_write) if a file cannot be read.
  std::vector<SpooledMessage> read(std::size_t most) VCAP_EXCLUDES(mutex_);
  /// Waits until the disk has stored all that was appended so far. Messages are sent after that, so
  /// that no number is given twice. Throws OutputError (output_write).
  void store() VCAP_EXCLUDES(mutex_);
  /// All messages up to this one are delivered, or not to be sent.
  void confirm(std::uint64_t sequence) VCAP_EXCLUDES(mutex_);
  /// read() continues after the last confirmed message.
  void rewind() VCAP_EXCLUDES(mutex_);

  Counts counts() const VCAP_EXCLUDES(mutex_);

 private:
  /// What read() reads at a time.
  struct Part {
    std::shared_ptr<FileDescriptor> file{};
    std::int64_t offset = 0;
    std::int64_t end = 0;
    std::uint64_t first = 0;     ///< of the segment
    std::uint64_t sequence = 0;  ///< of the first message that is wanted
  };

  void open_folder();
  void find_segments() VCAP_REQUIRES(mutex_);
  std::uint64_t open_last_segment() VCAP_REQUIRES(mutex_);
  void begin_segment(SpoolPlace place) VCAP_REQUIRES(mutex_);
  void remove_oldest() VCAP_REQUIRES(mutex_);
  void drop_oldest() VCAP_REQUIRES(mutex_);
  void skip_damage(const Part& part) VCAP_REQUIRES(mutex_);
  Part next_part() VCAP_REQUIRES(mutex_);
  std::string path_of(std::uint64_t first) const;
  [[noreturn]] void fail_open(const std::string& why) const;
  [[noreturn]] void fail_write(int error) const;

  const std::string folder_;
  const std::uint64_t max_bytes_;
  const std::uint64_t segment_bytes_;
  std::string id_;
  FileDescriptor directory_;
  FileDescriptor lock_;
  FileDescriptor sent_;

  mutable Mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> segments_
      VCAP_GUARDED_BY(mutex_);  ///< size by the number of the first message; never empty
  std::shared_ptr<FileDescriptor> last_ VCAP_GUARDED_BY(mutex_);  ///< the segment appended to
  std::uint64_t bytes_ VCAP_GUARDED_BY(mutex_) = 0;
  std::uint64_t next_ VCAP_GUARDED_BY(mutex_) = 1;       ///< the number of the next message
  std::uint64_t next_read_ VCAP_GUARDED_BY(mutex_) = 1;  ///< of the next one that is read
  std::uint64_t confirmed_ VCAP_GUARDED_BY(mutex_) = 0;  ///< or lost
  std::uint64_t read_end_ VCAP_GUARDED_BY(mutex_) = 1;   ///< after the last one that was read
  Part reading_ VCAP_GUARDED_BY(mutex_);
  SpoolPlace place_ VCAP_GUARDED_BY(mutex_);
  std::map<std::string, std::uint64_t> lost_ VCAP_GUARDED_BY(mutex_);
  /// Files that store() has to store, besides the last segment if that has changed.
  std::vector<std::shared_ptr<FileDescriptor>> unstored_ VCAP_GUARDED_BY(mutex_);
  bool is_changed_ VCAP_GUARDED_BY(mutex_) = false;
  bool has_new_files_ VCAP_GUARDED_BY(mutex_) = false;
};

}  // namespace vcap
