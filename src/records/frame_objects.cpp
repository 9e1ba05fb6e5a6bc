// SPDX-License-Identifier: Apache-2.0
#include "records/frame_objects.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;

std::string name_in_folder(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Whether the paths end in the same components: one may leave folders out.
bool is_same_image(const std::string& a, const std::string& b) {
  const auto [shorter, longer] = std::minmax(
      a, b, [](const std::string& one, const std::string& two) { return one.size() < two.size(); });
  return longer.ends_with(shorter) &&
         (longer.size() == shorter.size() || longer[longer.size() - shorter.size() - 1] == '/');
}

/// What the nodes that it is given have.
class SeenNodes {
 public:
  void add(const std::vector<DetectionNode>& nodes) {
    for (const DetectionNode& node : nodes) {
      names_.insert(node.name);
      for (const auto& [category, value] : node.attributes) attributes_[category].insert(value);
      for (const Keypoint& point : node.keypoints) keypoints_.insert(point.name);
      for (const auto& [key, value] : node.extra_data->items()) extra_data_.insert(key);
      encoded_ |= node.encoding.has_value();
      tracked_ |= node.track_id.has_value();
      add(node.children);
    }
  }
  NodeDescription description() const {
    NodeDescription nodes{.size = NodeDescription::Size::all,
                          .detections = {names_.begin(), names_.end()},
                          .encoded = encoded_,
                          .tracked = tracked_,
                          .keypoints = {keypoints_.begin(), keypoints_.end()},
                          .extra_data = {extra_data_.begin(), extra_data_.end()}};
    for (const auto& [category, values] : attributes_)
      nodes.attributes[category].assign(values.begin(), values.end());
    return nodes;
  }

 private:
  std::set<std::string> names_, keypoints_, extra_data_;
  std::map<std::string, std::set<std::string>> attributes_;
  bool encoded_ = false, tracked_ = false;
};

std::string size_text(cv::Size size) {
  return std::to_string(size.width) + " × " + std::to_string(size.height) + " pixels";
}

/// How a record is called in a message.
std::string label(const FrameRecord& record) {
  const std::string frame = "frame " + std::to_string(record.frame.index);
  return record.frame.source_file.empty() ? frame : frame + " (" + record.frame.source_file + ")";
}

}  // namespace

GivenObjects::GivenObjects(ObjectsFile file)
    : input_(std::move(file.path)), read_(file.read), names_(std::move(file.names)) {
  if (!read_.format) read_.format = guess_record_format(input_.path());
  SeenNodes seen;
  std::set<std::string> names;
  const auto reader = open();
  while (std::optional<FrameRecord> record = reader->read()) {
    if (record->group)
      input_.fail(label(*record),
                  "it is of group " + std::to_string(*record->group) +
                      ", and each group counts its frames from 0; take one (vcap convert --group)");
    streams_.insert(record->stream_id);
    for (const DetectionNode& node : record->objects) names.insert(node.name);
    record->objects = taken(std::move(record->objects));
    seen.add(record->objects);
    if (is_kept()) kept_.push_back(*std::move(record));
  }
  nodes_ = seen.description();
  if (!nodes_.detections.empty()) return;
  input_.fail("", names.empty()
                      ? "it has no objects"
                      : "it has no objects with a name that is taken; it has those with " +
                            quote_list(names));
}

bool GivenObjects::is_kept() const noexcept {
  return read_.format == RecordFormat::coco || read_.format == RecordFormat::yolo ||
         read_.format == RecordFormat::voc;
}

bool GivenObjects::counts_labels() const {
  if (read_.format != RecordFormat::yolo) return false;
  std::error_code unknown;
  const fs::path path = input_.path();
  return !fs::exists((fs::is_directory(path, unknown) ? path : path.parent_path()) / "frames.csv",
                     unknown);
}

std::vector<DetectionNode> GivenObjects::taken(std::vector<DetectionNode> objects) const {
  if (names_.empty()) return objects;
  std::erase_if(objects, [this](const DetectionNode& node) { return !names_.contains(node.name); });
  for (DetectionNode& node : objects) {
    node.name = names_.at(node.name);
    node.children = taken(std::move(node.children));
  }
  return objects;
}

FrameObjects::FrameObjects(std::shared_ptr<const GivenObjects> given, std::string stream,
                           std::optional<std::int64_t> frames)
    : given_(std::move(given)), stream_(std::move(stream)) {
  if (!given_->kept()) {
    reader_ = given_->open();
    return;
  }
  for (const FrameRecord& record : *given_->kept())
    if (record.stream_id == stream_) waiting_.push_back(&record);
  const bool has_images = std::ranges::none_of(
      waiting_, [](const FrameRecord* record) { return record->frame.source_file.empty(); });
  if (has_images) {
    for (const FrameRecord* const record : waiting_)
      images_.emplace(name_in_folder(record->frame.source_file), record);
  } else if (given_->counts_labels() && frames &&
             *frames != static_cast<std::int64_t>(waiting_.size())) {
    given_->file().fail("", "it has labels of " + counted(waiting_.size(), "frame") +
                                ", and the source has " + std::to_string(*frames) +
                                ", so it does not say which frame has which; give a label file "
                                "for each frame, an empty one if it has no objects, or a "
                                "frames.csv");
  }
  std::ranges::stable_sort(waiting_, std::greater(),
                           [](const FrameRecord* record) { return record->frame.index; });
}

std::vector<DetectionNode> FrameObjects::of(const Frame& frame) {
  if (frame.is_null) return {};
  std::optional<FrameRecord> record = record_of(frame);
  if (!record) return {};
  check(*record, frame);
  return std::move(record->objects);
}

std::optional<FrameRecord> FrameObjects::record_of(const Frame& frame) {
  if (!images_.empty() && !frame.source_file.empty()) {
    waiting_.clear();
    return record_of_image(frame.source_file);
  }
  images_.clear();
  return record_at(frame.index);
}

std::optional<FrameRecord> FrameObjects::record_of_image(const std::string& image) {
  auto [begin, end] = images_.equal_range(name_in_folder(image));
  auto found = end;
  for (auto one = begin; one != end; ++one) {
    if (!is_same_image(one->second->frame.source_file, image)) continue;
    if (found != end)
      given_->file().fail("", "image " + quote(image) + " of the source may be " +
                                  quote(found->second->frame.source_file) + " or " +
                                  quote(one->second->frame.source_file) +
                                  "; name images by their paths in the source");
    found = one;
  }
  if (found == end) return std::nullopt;
  FrameRecord record = *found->second;
  images_.erase(found);
  return record;
}

std::optional<FrameRecord> FrameObjects::record_at(std::int64_t index) {
  while (true) {
    if (!ahead_) ahead_ = next();
    if (!ahead_ || ahead_->frame.index > index) return std::nullopt;
    std::optional<FrameRecord> record = std::exchange(ahead_, std::nullopt);
    if (record->frame.index == index) return record;
    note_unused(*record);
  }
}

/// The next record of the stream.
std::optional<FrameRecord> FrameObjects::next() {
  std::optional<FrameRecord> record;
  if (reader_) {
    do {
      record = reader_->read();
    } while (record && record->stream_id != stream_);
    if (record) record->objects = given_->taken(std::move(record->objects));
  } else if (!waiting_.empty()) {
    record = *waiting_.back();
    waiting_.pop_back();
  }
  if (!record) return std::nullopt;
  if (record->frame.index <= last_)
    given_->file().fail(
        "", "stream " + stream_ + ": frame " + std::to_string(record->frame.index) +
                (record->frame.index == last_
                     ? " is there twice; give one of them"
                     : " comes after frame " + std::to_string(last_) + "; sort the file by frame"));
  last_ = record->frame.index;
  return record;
}

void FrameObjects::check(const FrameRecord& record, const Frame& frame) const {
  const cv::Size size = frame.image.size();
  if (!record.resolution.empty() && record.resolution != size)
    given_->file().fail(label(record), "it has " + size_text(record.resolution) +
                                           ", and the frame of the source has " + size_text(size) +
                                           "; give the source that the objects were found in");
  const std::string& image = record.frame.source_file;
  if (!image.empty() && !frame.source_file.empty() && !is_same_image(image, frame.source_file))
    given_->file().fail(label(record), "the frame of the source is image " +
                                           quote(frame.source_file) +
                                           "; give the source that the objects were found in");
}

void FrameObjects::note_unused(const FrameRecord& record) {
  if (!record.objects.empty() && unused_++ == 0) first_unused_ = label(record);
}

void FrameObjects::finish() {
  for (const auto& [name, record] : images_) note_unused(*record);
  if (!std::exchange(images_, {}).empty()) waiting_.clear();
  if (ahead_) note_unused(*std::exchange(ahead_, std::nullopt));
  while (const std::optional<FrameRecord> record = next()) note_unused(*record);
  if (unused_ == 0) return;
  log(LogLevel::warning,
      given_->file().path() + ": " + counted(unused_, "frame") + " with objects of stream " +
          stream_ + " had no frame in the source and were left out, the first is " + first_unused_);
}

}  // namespace vcap
