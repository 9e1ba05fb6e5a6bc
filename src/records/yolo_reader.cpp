// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "files/file_list.hpp"
#include "media/image_size.hpp"
#include "records/csv.hpp"
#include "records/files_below.hpp"
#include "records/frame_table.hpp"
#include "records/readers.hpp"
#include "records/yolo_names.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

/// Labels of trainers end exactly at the frame's edge; rounding may put them a little beyond it.
constexpr double kMostBeyond = 0.01;

struct NaturalLess {
  bool operator()(const std::string& a, const std::string& b) const { return natural_less(a, b); }
};

/// The files of a frame; either may be missing.
struct YoloFrame {
  fs::path labels{};
  fs::path image{};
  std::string image_name{};  ///< below the folder of images
};

/// By their paths below the folders of labels and images, without extension.
using YoloFrames = std::map<std::string, YoloFrame, NaturalLess>;

std::string without_extension(fs::path path) { return path.replace_extension().string(); }

/// The fields of one line.
std::vector<double> yolo_values(const InputFile& input, std::string_view line,
                                const std::string& place) {
  std::vector<double> values;
  for (std::size_t at = 0; (at = line.find_first_not_of(" \t", at)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    values.push_back(input.number_in(line.substr(at, end - at),
                                     "number " + std::to_string(values.size() + 1), place));
    at = end;
  }
  return values;
}

class YoloReader final : public RecordReader {
 public:
  YoloReader(const fs::path& root, cv::Size frame_size)
      : root_(root), frame_size_(frame_size), stream_(stream_name(root)) {
    names_ = read_yolo_names(root_);
    std::error_code unknown;
    if (const fs::path table = root_ / "frames.csv"; fs::exists(table, unknown)) {
      table_.emplace(table.string());
      const auto header = table_->read();
      if (!header) table_->input().fail("", "it is empty; its first line must name the columns");
      columns_.emplace(table_->input(), *header);
      if (!columns_->has("file") || !columns_->has("frame_index"))
        table_->input().fail("line 1", "the columns file and frame_index are needed");
    } else {
      find_frames();
      next_ = frames_.begin();
    }
  }

  std::optional<FrameRecord> read() override { return table_ ? read_row() : read_file(); }

 private:
  static std::string stream_name(const fs::path& root) {
    const fs::path whole = fs::absolute(root).lexically_normal();
    return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
  }

  void find_frames() {
    std::error_code unknown;
    const bool has_folder = fs::is_directory(root_ / "labels", unknown);
    const fs::path labels = has_folder ? root_ / "labels" : root_;
    each_file_below(labels, [&](const fs::path& file, const fs::path& below) {
      if (file.extension() == ".txt" && below != "classes.txt")
        frames_[without_extension(below)].labels = file;
    });
    if (!fs::is_directory(root_ / "images", unknown)) return;
    each_file_below(root_ / "images", [&](const fs::path& file, const fs::path& below) {
      const std::string name = without_extension(below);
      const auto known = frames_.find(name);
      if (known == frames_.end() && !read_image_size(file)) return;  // no image
      YoloFrame& frame = known == frames_.end() ? frames_[name] : known->second;
      frame.image = file;
      frame.image_name = below.string();
    });
  }

  std::optional<FrameRecord> read_row() {
    const auto row = table_->read();
    if (!row) return std::nullopt;
    const std::string place = table_->place();
    FrameRecord record = read_frame_fields(table_->input(), place, *columns_, *row, stream_);
    const fs::path file(columns_->field(*row, "file"));
    // A table of somebody else must not name files outside of the folder.
    if (file.empty() || file.is_absolute() || std::ranges::find(file, "..") != file.end())
      table_->input().fail(
          place, "file is " + quote(file.native()) + "; it must be a path below this folder");
    read_labels(root_ / file, record);
    return record;
  }

  std::optional<FrameRecord> read_file() {
    if (next_ == frames_.end()) return std::nullopt;
    const YoloFrame& frame = (next_++)->second;
    FrameRecord record{.stream_id = stream_, .resolution = frame_size_};
    record.frame.index = index_++;
    record.frame.pts = pts_of_frame(record.frame.index);
    record.frame.source_file = frame.image_name;
    if (!frame.image.empty()) record.resolution = size_of(frame.image);
    if (!frame.labels.empty()) read_labels(frame.labels, record);
    return record;
  }

  static cv::Size size_of(const fs::path& image) {
    const auto size = read_image_size(image);
    constexpr std::uint64_t most = 1'000'000;
    if (!size || size->width > most || size->height > most)
      throw SourceError(ErrorCode::source_read,
                        "image " + image.string() +
                            " cannot be read, and so the size of its frame is not known; repair or "
                            "remove it");
    return {static_cast<int>(size->width), static_cast<int>(size->height)};
  }

  void read_labels(const fs::path& path, FrameRecord& record) const {
    const InputFile input(path.string());
    input.each_line([&](std::string_view line, std::size_t number) {
      const std::string place = "line " + std::to_string(number);
      if (record.resolution.empty())
        input.fail(place,
                   "the frame's size in pixels is not known; put the images into the folder "
                   "images, give a frames.csv, or set the size (--frame-size)");
      record.objects.push_back(
          node_of(input, yolo_values(input, line, place), place, record.resolution));
    });
  }

  /// "class cx cy w h", "class x y x y x y …", each with the confidence behind it or not.
  DetectionNode node_of(const InputFile& input, const std::vector<double>& values,
                        const std::string& place, cv::Size size) const {
    const std::size_t count = values.size();
    if (count < 5)
      input.fail(place, "it has " + counted(count, "number") +
                            "; a label is \"class cx cy w h\" or \"class x y x y x y …\", each "
                            "with the confidence behind it or not");
    const bool has_confidence = count % 2 == 0;
    DetectionNode node{.name = name_of(input, values[0], place)};
    for (std::size_t i = 1; i < count - (has_confidence ? 1 : 0); ++i)
      if (values[i] < -kMostBeyond || values[i] > 1 + kMostBeyond)
        input.fail(place, "number " + std::to_string(i + 1) + " is " + number_text(values[i]) +
                              "; coordinates are parts of the frame's width and height, from 0 to "
                              "1");
    if (count <= 6) {
      const double width = values[3] * size.width;
      const double height = values[4] * size.height;
      node.coords =
          rect_to_coords(input.box(values[1] * size.width - width / 2,
                                   values[2] * size.height - height / 2, width, height, place));
    } else {
      for (std::size_t i = 1; i + 1 < count; i += 2)
        node.coords.emplace_back(values[i] * size.width, values[i + 1] * size.height);
    }
    if (has_confidence) node.extra_data["confidence"] = values.back();
    return node;
  }

  std::string name_of(const InputFile& input, double value, const std::string& place) const {
    if (value != std::floor(value) || value < 0 || value > 1e9)
      input.fail(place, "the class is " + number_text(value) + "; it must be a whole number >= 0");
    const auto number = static_cast<std::int64_t>(value);
    const auto name = names_.find(number);
    if (name != names_.end()) return name->second;
    if (!names_.empty())
      input.fail(place, "the class " + std::to_string(number) + " is not among the " +
                            counted(names_.size(), "name") + " of the folder's classes");
    return "class_" + std::to_string(number);
  }

  const fs::path root_;
  const cv::Size frame_size_;
  const std::string stream_;
  std::map<std::int64_t, std::string> names_;
  std::optional<CsvReader> table_;  ///< frames.csv
  std::optional<TableColumns> columns_;
  YoloFrames frames_;  ///< without a table
  YoloFrames::const_iterator next_;
  std::int64_t index_ = 0;
};

}  // namespace

std::unique_ptr<RecordReader> open_yolo_records(const std::string& path, cv::Size frame_size) {
  std::error_code unknown;
  fs::path root(path);
  if (!fs::is_directory(root, unknown)) {
    if (root.extension() != ".yaml" && root.extension() != ".yml")
      throw SourceError(ErrorCode::source_open,
                        path +
                            " cannot be read as YOLO: it is not a folder; name the folder of "
                            "the labels, or its data.yaml");
    static_cast<void>(InputFile(path).open());  // throws if it does not exist
    root = root.has_parent_path() ? root.parent_path() : fs::path(".");
  }
  return std::make_unique<YoloReader>(root, frame_size);
}

}  // namespace vcap
