// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "files/file_list.hpp"
#include "records/export_names.hpp"
#include "records/files_below.hpp"
#include "records/readers.hpp"
#include "records/voc_file.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

/// The files in the natural order of their paths below the folder.
std::vector<fs::path> voc_files(const fs::path& path) {
  std::error_code unknown;
  if (!fs::is_directory(path, unknown)) {
    static_cast<void>(InputFile(path.string()).open());  // throws if it does not exist
    return {path};
  }
  const fs::path own = path / "Annotations";
  const fs::path folder = fs::is_directory(own, unknown) ? own : path;
  std::vector<fs::path> files;
  each_file_below(folder, [&files](const fs::path& file, const fs::path& below) {
    if (below.extension() == ".xml") files.push_back(file);
  });
  if (files.empty())
    throw InvalidArgument(ErrorCode::invalid_argument,
                          path.string() +
                              " cannot be read as Pascal VOC: there is no .xml file in it; name "
                              "the folder of the annotations, or the one that has Annotations/");
  std::ranges::sort(files, [](const fs::path& a, const fs::path& b) {
    return natural_less(a.native(), b.native());
  });
  return files;
}

class VocReader final : public RecordReader {
 public:
  explicit VocReader(const fs::path& path) : path_(path), files_(voc_files(path)) {
    const fs::path folder = fs::absolute(files_.front()).parent_path();
    stream_ = (folder.filename() == "Annotations" ? folder.parent_path() : folder).filename();
  }

  std::optional<FrameRecord> read() override {
    if (next_ == files_.size()) {
      say_what_is_left_out();
      return std::nullopt;
    }
    const fs::path& path = files_[next_++];
    VocFile file = read_voc_file(InputFile(path.string()));
    for (const auto& [what, count] : file.left_out) left_out_[what] += count;
    FrameRecord record{.stream_id = file.folder.empty() ? stream_ : file.folder,
                       .resolution = file.size.empty() ? cv::Size() : file.size};
    record.frame.source_file = std::move(file.filename);
    number(path.stem().string(), record);
    record.objects = std::move(file.objects);
    return record;
  }

 private:
  /// The frame's index is its place among those of its stream. make_voc_sink() names a file after
  /// the stream and the index if a frame has no source_file; then the name has the index.
  void number(const std::string& name, FrameRecord& record) {
    Frame& frame = record.frame;
    std::int64_t& next = next_index_[record.stream_id];
    frame.index = next;
    const std::string prefix = safe_name(record.stream_id) + "-";
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    constexpr std::size_t kFewest = 9, kMost = 15;
    const std::size_t digits = name.size() - std::min(prefix.size(), name.size());
    if (name.starts_with(prefix) && digits >= kFewest && digits <= kMost &&
        std::ranges::all_of(name.substr(prefix.size()), is_digit)) {
      if (frame.source_file == name + ".jpg") frame.source_file.clear();  // made up
      frame.index = std::max(next, std::int64_t{std::stoll(name.substr(prefix.size()))});
    }
    next = frame.index + 1;
    frame.pts = pts_of_frame(frame.index);
  }

  void say_what_is_left_out() {
    std::string list;
    for (const auto& [what, count] : std::exchange(left_out_, {}))
      list += (list.empty() ? "" : ", ") + printable(what) + ": " + std::to_string(count);
    if (!list.empty())
      log(LogLevel::warning,
          path_.string() + ": records do not hold these elements, which are left out: " + list);
  }

  const fs::path path_;
  const std::vector<fs::path> files_;
  std::string stream_;  ///< of a file that names no folder
  std::map<std::string, std::int64_t> next_index_;
  std::map<std::string, std::int64_t> left_out_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<RecordReader> open_voc_records(const std::string& path) {
  return std::make_unique<VocReader>(path);
}

}  // namespace vcap
