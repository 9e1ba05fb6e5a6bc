// SPDX-License-Identifier: Apache-2.0
#include "view/record_queue.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "files/strict_json.hpp"
#include "records/record_line.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// A piece is read back as a whole, for each stream; a larger record is a piece of its own.
constexpr std::size_t kPieceSize = std::size_t{32} << 10;

std::string error_of(int number) { return std::generic_category().message(number); }

FileDescriptor open_spill_file() {
  std::error_code unknown;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(unknown);
  std::string name = ((unknown ? "/tmp" : folder) / "vcap-XXXXXX").string();
  FileDescriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (!file)
    throw OutputError(ErrorCode::output_open, "temporary file " + name +
                                                  " cannot be made: " + error_of(errno) +
                                                  "; set TMPDIR to a folder with room");
  ::unlink(name.c_str());
  return file;
}

std::size_t weight_of_nodes(const std::vector<DetectionNode>& nodes) {
  // A node, four points, an attribute and some extra data.
  constexpr std::size_t kNode = 700;
  constexpr std::size_t kAttribute = 150;
  std::size_t weight = 0;
  for (const DetectionNode& node : nodes)
    weight += kNode + node.coords.size() * sizeof(cv::Point2d) +
              node.attributes.size() * kAttribute + node.keypoints.size() * sizeof(Keypoint) +
              (node.encoding ? node.encoding->size() * sizeof(float) : 0) +
              weight_of_nodes(node.children);
  return weight;
}

}  // namespace

SpillFile::Piece SpillFile::write(std::string_view text) {
  if (!file_) file_ = open_spill_file();
  const Piece piece{.place = end_, .size = text.size()};
  while (!text.empty()) {
    const ssize_t count = ::pwrite(file_.get(), text.data(), text.size(), end_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      throw OutputError(ErrorCode::output_write,
                        "a temporary file cannot be written: " + error_of(errno) +
                            "; set TMPDIR to a folder with room");
    text.remove_prefix(static_cast<std::size_t>(count));
    end_ += count;
  }
  return piece;
}

std::string SpillFile::read(const Piece& piece) const {
  std::string text(piece.size, '\0');
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::pread(file_.get(), text.data() + done, text.size() - done,
                                  piece.place + static_cast<std::int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      throw OutputError(ErrorCode::output_write, "a temporary file cannot be read: " +
                                                     (count < 0 ? error_of(errno) : "it is cut"));
    done += static_cast<std::size_t>(count);
  }
  return text;
}

std::size_t weight_of(const FrameRecord& record) {
  constexpr std::size_t kRecord = 600;
  constexpr std::size_t kMessage = 300;
  return kRecord + weight_of_nodes(record.objects) +
         kMessage * (record.drops.size() + record.errors.size() + record.warnings.size());
}

void RecordQueue::push(const FrameRecord& record) {
  FrameRecord& own = tail_.emplace_back(record);
  own.frame.image = cv::Mat();
  own.frame.pictures = Pictures();
  weight_ += weight_of(own);
  ++size_;
}

const FrameRecord& RecordQueue::front(const SpillFile& file) {
  if (head_.empty()) fill_head(file);
  return head_.front();
}

FrameRecord RecordQueue::pop(const SpillFile& file) {
  if (head_.empty()) fill_head(file);
  FrameRecord record = std::move(head_.front());
  head_.pop_front();
  --size_;
  return record;
}

void RecordQueue::fill_head(const SpillFile& file) {
  if (spilled_.empty()) {
    head_.swap(tail_);
    weight_ = 0;
    return;
  }
  const std::string lines = file.read(spilled_.front());
  spilled_.pop_front();
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at);
    const std::string_view line = std::string_view(lines).substr(at, end - at);
    head_.push_back(parse_strictly(line, kMostRecordLevels).get<FrameRecord>());
    at = end + 1;
  }
}

void RecordQueue::spill(SpillFile& file) {
  std::string lines;
  for (const FrameRecord& record : tail_) {
    lines += record_line(record);
    if (lines.size() < kPieceSize) continue;
    spilled_.push_back(file.write(lines));
    lines.clear();
  }
  if (!lines.empty()) spilled_.push_back(file.write(lines));
  tail_.clear();
  weight_ = 0;
}

}  // namespace vcap
