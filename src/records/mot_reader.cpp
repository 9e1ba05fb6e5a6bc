// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <string_view>
#include <system_error>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "records/mot_lines.hpp"
#include "records/readers.hpp"
#include "records/track_numbers.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

/// More frames than a source has; a typing error in a frame's number must not give as many records.
constexpr std::int64_t kMostMotFrames = 100'000'000;

/// The classes of MOT16 and MOT17, from 1 (Milan et al., "MOT16: A Benchmark for Multi-Object
/// Tracking", 2016).
constexpr std::array<const char*, 13> kMotClasses{
    "pedestrian", "person_on_vehicle",      "car",           "bicycle",
    "motorbike",  "non_motorized_vehicle",  "static_person", "distractor",
    "occluder",   "occluder_on_the_ground", "occluder_full", "reflection",
    "crowd"};

/// The files of a sequence.
struct MotFiles {
  fs::path lines{};
  fs::path labels{};
  fs::path info{};
};

MotFiles files_of(const fs::path& path) {
  std::error_code unknown;
  if (!fs::is_directory(path, unknown)) {
    const fs::path folder = path.parent_path();
    return {path, folder / "labels.txt", folder / ".." / "seqinfo.ini"};
  }
  for (const char* const name : {"gt/gt.txt", "det/det.txt", "gt.txt"})
    if (fs::exists(path / name, unknown))
      return {path / name, (path / name).parent_path() / "labels.txt", path / "seqinfo.ini"};
  throw SourceError(ErrorCode::source_open,
                    "folder " + path.string() +
                        " has no gt/gt.txt, det/det.txt or gt.txt, as a sequence of MOT Challenge "
                        "has; name its file");
}

/// What seqinfo.ini says.
struct MotInfo {
  std::optional<std::string> name{};
  double rate = 25;
  std::int64_t length = 0;
  cv::Size size{};
};

int mot_side(const InputFile& input, std::string_view text, std::string_view key,
             const std::string& place) {
  const std::int64_t side = input.integer_in(text, key, place);
  if (side < 0 || side > std::numeric_limits<int>::max())
    input.fail(place, std::string(key) + " is " + std::to_string(side) + "; it must be >= 0");
  return static_cast<int>(side);
}

MotInfo read_info(const fs::path& path) {
  MotInfo info;
  std::error_code unknown;
  if (!fs::exists(path, unknown)) return info;
  const InputFile input(path.string());
  input.each_line([&](std::string_view line, std::size_t number) {
    const std::string place = "line " + std::to_string(number);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) return;  // a section
    const std::string_view key = line.substr(0, equals);
    const std::string_view value = line.substr(equals + 1);
    if (key == "name") info.name = value;
    if (key == "frameRate") info.rate = input.number_in(value, key, place);
    if (key == "seqLength") info.length = input.integer_in(value, key, place);
    if (key == "imWidth") info.size.width = mot_side(input, value, key, place);
    if (key == "imHeight") info.size.height = mot_side(input, value, key, place);
    if (!(info.rate > 0) || info.length < 0 || info.length > kMostMotFrames)
      input.fail(place, std::string(key) + " is " + quote(value) +
                            "; frameRate must be > 0, and seqLength from 0 to " +
                            std::to_string(kMostMotFrames));
  });
  return info;
}

/// A record for each frame from the first to the last, also if it has no lines.
class MotReader final : public RecordReader {
 public:
  explicit MotReader(const std::string& path) : MotReader(path, files_of(path)) {}

  std::optional<FrameRecord> read() override {
    if (frame_ >= info_.length) return std::nullopt;
    FrameRecord record{.stream_id = stream_, .resolution = info_.size};
    record.frame.index = frame_;
    record.frame.pts =
        std::chrono::nanoseconds(std::llround(static_cast<double>(frame_) * 1e9 / info_.rate));
    MotIds ids;
    for (; next_ < objects_.size() && objects_[next_].frame == frame_; ++next_) {
      const Object& object = objects_[next_];
      if (object.id != -1)
        ids.add(input_, {.place = "line " + std::to_string(object.line),
                         .frame = object.frame,
                         .id = object.id});
      record.objects.push_back(node_of(object));
    }
    ++frame_;
    return record;
  }

 private:
  struct Object {
    std::int64_t frame = 0, id = 0;
    std::size_t line = 0;
    std::optional<std::int64_t> class_number{};
    BoundingBox box{};
    double confidence = 1;
    double visibility = -1;
  };

  MotReader(const std::string& path, const MotFiles& files)
      : input_(files.lines.string()),
        info_(read_info(files.info)),
        stream_(info_.name.value_or(stream_name(path))) {
    read_labels(files.labels);
    input_.each_line([&](std::string_view text, std::size_t number) {
      const MotLine line = read_mot_line(input_, text, number, 6);
      if (line.frame >= kMostMotFrames)
        input_.fail(line.place, "frame is " + std::to_string(line.frame + 1) + "; at most " +
                                    std::to_string(kMostMotFrames) + " are read");
      const bool has_visibility = line.values.size() == 9;
      objects_.push_back({.frame = line.frame,
                          .id = line.id,
                          .line = number,
                          .class_number = line.class_number,
                          .box = line.box,
                          .confidence = line.values.size() > 6 ? line.values[6] : 1,
                          .visibility = has_visibility ? line.values[8] : -1});
      info_.length = std::max(info_.length, line.frame + 1);
    });
    std::ranges::stable_sort(objects_, {}, &Object::frame);
  }

  /// The sequence's folder, or the file's own name.
  static std::string stream_name(const fs::path& path) {
    const fs::path whole = fs::absolute(path).lexically_normal();
    if (whole.filename() == "gt.txt" || whole.filename() == "det.txt")
      return whole.parent_path().parent_path().filename().string();
    return (whole.has_filename() ? whole : whole.parent_path()).stem().string();
  }

  void read_labels(const fs::path& path) {
    std::error_code unknown;
    if (!fs::exists(path, unknown)) return;
    std::ifstream file = InputFile(path.string()).open();
    for (std::string line; std::getline(file, line);) {
      if (line.ends_with('\r')) line.pop_back();
      labels_.push_back(line);
    }
    has_labels_ = true;
  }

  std::string name_of(const Object& object) const {
    if (!object.class_number) return "object";
    const std::int64_t number = *object.class_number;
    const auto place = static_cast<std::size_t>(number - 1);
    if (has_labels_ && number > 0 && place < labels_.size()) return labels_[place];
    if (!has_labels_ && number > 0 && place < kMotClasses.size()) return kMotClasses[place];
    return "class_" + std::to_string(number);
  }

  DetectionNode node_of(const Object& object) const {
    DetectionNode node{.name = name_of(object), .coords = rect_to_coords(object.box)};
    node.extra_data["confidence"] = object.confidence;
    if (object.visibility != -1) node.extra_data["visibility"] = object.visibility;
    if (object.id != -1) node.track_id = uuid_of_track(object.id);
    return node;
  }

  const InputFile input_;
  MotInfo info_;
  const std::string stream_;
  std::vector<std::string> labels_;
  bool has_labels_ = false;
  std::vector<Object> objects_;  ///< by frame
  std::size_t next_ = 0;
  std::int64_t frame_ = 0;
};

}  // namespace

std::unique_ptr<RecordReader> open_mot_records(const std::string& path) {
  return std::make_unique<MotReader>(path);
}

}  // namespace vcap
