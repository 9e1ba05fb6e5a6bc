// SPDX-License-Identifier: Apache-2.0
#include "records/frame_objects.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "records/readers.hpp"
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

void add_names(const std::vector<DetectionNode>& nodes, std::set<std::string>& names) {
  for (const DetectionNode& node : nodes) {
    names.insert(node.name);
    add_names(node.children, names);
  }
}

/// How a record is called in a message.
std::string label(const FrameRecord& record) {
  const std::string frame = "frame " + std::to_string(record.frame.index);
  return record.frame.source_file.empty() ? frame : frame + " (" + record.frame.source_file + ")";
}

}  // namespace

GivenObjects::GivenObjects(ObjectsFile file, const Check& check)
    : input_(std::move(file.path)), read_(file.read), names_(std::move(file.names)) {
  check_kind();
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
    add_names(record->objects, names);
    record->objects = taken(std::move(record->objects));
    try {
      check(record->objects);
    } catch (const Error& error) {
      input_.fail(label(*record), error.what());
    }
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

void GivenObjects::check_kind() const {
  std::error_code unknown;
  if (!fs::exists(input_.path(), unknown)) static_cast<void>(input_.open());  // throws
  if (fs::is_regular_file(input_.path(), unknown) || fs::is_directory(input_.path(), unknown))
    return;
  throw SourceError(ErrorCode::source_open,
                    input_.path() +
                        " is neither a regular file nor a folder, and objects are read "
                        "twice; store them in a file first");
}

bool GivenObjects::counts_labels(const FrameRecord& record) const {
  // The numbers in the names that vcap writes into a folder of VOC leave no source_file.
  if (read_.format == RecordFormat::voc) return !record.frame.source_file.empty();
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
    : given_(std::move(given)), stream_(std::move(stream)), frames_(frames) {
  if (!given_->kept()) {
    reader_ = given_->open();
    return;
  }
  for (const FrameRecord& record : *given_->kept())
    if (record.stream_id == stream_) waiting_.push_back(&record);
  if (std::ranges::none_of(
          waiting_, [](const FrameRecord* record) { return record->frame.source_file.empty(); }))
    for (const FrameRecord* const record : waiting_)
      images_.emplace(name_in_folder(record->frame.source_file), OfImage{.record = record});
  std::ranges::stable_sort(waiting_, std::greater(),
                           [](const FrameRecord* record) { return record->frame.index; });
}

std::vector<DetectionNode> FrameObjects::of(const Frame& frame) {
  if (frame.is_null) return {};
  if (seen_++ == 0) choose_way(frame);
  std::optional<FrameRecord> record;
  if (!by_image_)
    record = record_at(frame.index);
  else if (const FrameRecord* const found = record_of_image(frame))
    record = *found;
  if (!record) return {};
  ++found_;
  check(*record, frame);
  return std::move(record->objects);
}

/// By the first frame: whether records are found by image or by index.
void FrameObjects::choose_way(const Frame& frame) {
  by_image_ = !images_.empty() && !frame.source_file.empty();
  if (by_image_ || waiting_.empty() || !given_->counts_labels(*waiting_.front())) {
    if (!by_image_) images_.clear();
    return;
  }
  images_.clear();
  if (!frame.source_file.empty())
    given_->file().fail("",
                        "its labels do not name the images of the source; put the folder images "
                        "beside the folder labels, or give a frames.csv");
  if (frames_ != static_cast<std::int64_t>(waiting_.size()))
    given_->file().fail("", "it has labels of " + counted(waiting_.size(), "frame") +
                                ", and the source has " +
                                (frames_ ? std::to_string(*frames_) : "an unknown number") +
                                ", so it does not say which frame has which; give a label file "
                                "for each frame, an empty one if it has no objects, or a "
                                "frames.csv");
}

/// Null if there is none.
const FrameRecord* FrameObjects::record_of_image(const Frame& frame) {
  const std::string& image = frame.source_file;
  std::vector<OfImage*> fitting;
  const auto [begin, end] = images_.equal_range(name_in_folder(image));
  for (auto one = begin; one != end; ++one)
    if (is_same_image(one->second.record->frame.source_file, image))
      fitting.push_back(&one->second);
  const auto keep = [&fitting](auto is_right) {
    if (fitting.size() > 1 && std::ranges::any_of(fitting, is_right))
      std::erase_if(fitting, [&](const OfImage* one) { return !is_right(one); });
  };
  keep([&](const OfImage* one) { return one->record->frame.source_file == image; });
  const auto name_of = [](const OfImage* one) { return one->record->frame.source_file; };
  if (std::ranges::adjacent_find(fitting, std::not_equal_to(), name_of) == fitting.end())
    keep([&](const OfImage* one) { return one->record->frame.index == frame.index; });
  constexpr const char* kRemedy =
      "; name images by their paths in the source, or give a glob as the source that keeps the "
      "folders (\"images/*/*.jpg\")";
  if (fitting.empty()) return nullptr;
  if (fitting.size() > 1)
    given_->file().fail("", "image " + quote(image) + " of the source may be " +
                                quote(fitting[0]->record->frame.source_file) + " or " +
                                quote(fitting[1]->record->frame.source_file) + kRemedy);
  OfImage& found = *fitting.front();
  if (found.image.empty()) found.image = image;
  if (found.image != image)
    given_->file().fail("", "image " + quote(found.record->frame.source_file) + " may be " +
                                quote(found.image) + " or " + quote(image) + " of the source" +
                                kRemedy);
  return found.record;
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
  // A time that a file does not say is that of 25 frames a second; images and MOT have no others.
  constexpr std::chrono::milliseconds kMostApart(500);
  const auto apart = std::chrono::abs(record.frame.pts - frame.pts);
  if (given_->format() == RecordFormat::mot || !frame.source_file.empty() || apart <= kMostApart ||
      record.frame.pts == pts_of_frame(record.frame.index))
    return;
  const auto text = [](std::chrono::nanoseconds time) {
    return number_text(std::chrono::duration<double>(time).count()) + " s";
  };
  given_->file().fail(label(record), "it has the time " + text(record.frame.pts) +
                                         ", and the frame of the source has " + text(frame.pts) +
                                         "; give the source that the objects were found in, read "
                                         "from its beginning and with every frame");
}

void FrameObjects::note_unused(const FrameRecord& record) {
  if (!record.objects.empty() && unused_++ == 0) first_unused_ = label(record);
}

void FrameObjects::finish(const std::function<bool()>& stop) {
  for (const auto& [name, one] : std::exchange(images_, {}))
    if (one.image.empty()) note_unused(*one.record);
  if (seen_ == 0 || !by_image_) {
    if (seen_ == 0 && unused_ > 0) waiting_.clear();  // counted by their images
    if (ahead_) note_unused(*std::exchange(ahead_, std::nullopt));
    while (const std::optional<FrameRecord> record = next()) {
      if (stop()) return;
      note_unused(*record);
    }
  }
  if (unused_ == 0) return;
  log(LogLevel::warning, given_->file().path() + ": " + counted(unused_, "frame") +
                             " with objects of stream " + printable(stream_) +
                             " had no frame in the source and were left out, the first is " +
                             first_unused_);
}

void FrameObjects::note_if_unused() const {
  if (seen_ == 0 || found_ > 0) return;
  log(LogLevel::warning, given_->file().path() + ": it has no objects for the " +
                             counted(seen_, "frame") + " of stream " + printable(stream_) +
                             " so far");
}

}  // namespace vcap
