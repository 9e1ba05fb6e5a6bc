// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "files/file_descriptor.hpp"
#include "vcap/records/frame_record.hpp"

namespace vcap {

/// Text that waits outside memory, in a file without a name in the folder for temporary files. Made
/// when it is first needed; the system removes it with the process. Thread safety:
/// thread-compatible.
class SpillFile {
 public:
  struct Piece {
    std::int64_t place = 0;
    std::size_t size = 0;
  };

  /// Throws OutputError (output_open, output_write).
  Piece write(std::string_view text);
  /// Throws OutputError (output_write).
  std::string read(const Piece& piece) const;

 private:
  FileDescriptor file_;
  std::int64_t end_ = 0;
};

/// About how many bytes the record takes in memory, without pixels. Thread-safe.
std::size_t weight_of(const FrameRecord& record);

/// Records that wait, first in, first out; in memory, and in part in a file. Thread safety:
/// thread-compatible.
class RecordQueue {
 public:
  /// Without the pixels.
  void push(const FrameRecord& record);
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  /// The first one, which must exist. Reads it back if necessary.
  const FrameRecord& front(const SpillFile& file);
  FrameRecord pop(const SpillFile& file);

  /// About how many bytes of memory spill() would free.
  std::size_t weight() const noexcept { return weight_; }
  /// Writes what waits in memory to the file, except what was read back from it.
  void spill(SpillFile& file);

 private:
  void fill_head(const SpillFile& file);

  std::deque<FrameRecord> head_;          ///< read back, or taken from `tail_`
  std::deque<SpillFile::Piece> spilled_;  ///< after `head_`
  std::deque<FrameRecord> tail_;          ///< after `spilled_`
  std::size_t size_ = 0;
  std::size_t weight_ = 0;  ///< of `tail_`
};

}  // namespace vcap
