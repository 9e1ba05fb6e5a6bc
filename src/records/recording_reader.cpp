// SPDX-License-Identifier: Apache-2.0
#include "records/recording_reader.hpp"

#include <filesystem>
#include <span>
#include <utility>

#include "files/digest.hpp"
#include "records/recording_files.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// A picture takes less than this if it is encoded without loss.
constexpr std::int64_t kMostPictureBytes = std::int64_t{1} << 30;

std::ifstream open_part(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw SourceError(ErrorCode::source_open,
                      path.string() +
                          " of a recording cannot be read; the folder must be whole, "
                          "as vcap run --record has written it");
  return file;
}

}  // namespace

RecordingReader::RecordingReader(const std::string& folder, const RecordedStream& stream,
                                 std::set<std::string> stand_ins)
    : frames_path_((std::filesystem::path(folder) / stream.folder / kFramesName).string()),
      stand_ins_(std::move(stand_ins)),
      frames_(open_part(frames_path_)) {
  if (stream.file) return;
  pictures_ = open_part(std::filesystem::path(folder) / stream.folder / kPicturesName);
  decoder_.emplace("recording " + folder + ", stream " + stream.id);
}

void RecordingReader::fail(const std::string& why) const {
  throw SourceError(ErrorCode::source_read, frames_path_ + ", line " + std::to_string(number_) +
                                                ": " + why + "; record again");
}

std::optional<RecordingLine> RecordingReader::read() {
  // A line without its end is what a killed run was writing.
  if (!std::getline(frames_, line_) || frames_.eof()) return std::nullopt;
  ++number_;
  try {
    return parse_recording_line(line_, stand_ins_);
  } catch (const InvalidArgument& error) {
    fail(error.what());
  }
}

cv::Mat RecordingReader::picture(const RecordingLine& line) {
  if (!line.picture) fail("the frame has no picture");
  const auto [offset, size, crc] = *line.picture;
  if (size > kMostPictureBytes) fail("the size of its picture is wrong");
  bytes_.resize(static_cast<std::size_t>(size));
  if (!pictures_.seekg(offset) || !pictures_.read(bytes_.data(), size))
    fail("the file of pictures is shorter than that");
  const std::span<const std::byte> bytes = std::as_bytes(std::span(bytes_));
  if (crc32(bytes) != crc) fail("its picture is damaged");
  return decoder_->decode(bytes, line.resolution);
}

}  // namespace vcap
