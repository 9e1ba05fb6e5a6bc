// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "files/output_file.hpp"
#include "files/staged_folder.hpp"
#include "records/export_names.hpp"
#include "records/export_sink.hpp"
#include "records/spool.hpp"
#include "records/track_numbers.hpp"
#include "vcap/records/export_sinks.hpp"

namespace vcap {
namespace {

/// A name as a line of a file.
std::string as_line(const std::string& name) {
  std::string line = valid_utf8(name);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line + '\n';
}

/// The part of a MOT sink that does not depend on where the lines go.
class MotSink : public ExportSink {
 public:
  explicit MotSink(const std::string& path) : ExportSink(path, kMotHolds) {}

 protected:
  const std::vector<std::string>& classes() const noexcept { return classes_; }
  const std::string& stream() const { return *stream_; }
  bool has_records() const noexcept { return stream_.has_value(); }
  std::int64_t frames() const noexcept { return frames_; }
  /// In nanoseconds; `nullopt` if frames do not follow each other evenly.
  std::optional<double> step() const { return is_even_ ? step_ : std::nullopt; }
  cv::Size size() const noexcept { return size_; }
  std::int64_t frames_with_objects() const noexcept { return filled_; }

 private:
  virtual void put(const std::string& text) = 0;

  void add(const FrameRecord& record) override {
    if (stream_ && *stream_ != record.stream_id)
      fail("holds stream " + quote(*stream_) + ", and a record of stream " +
           quote(record.stream_id) + " came; MOT holds one stream, so give each its own output");
    std::string text;
    for (const DetectionNode& node : record.objects) add_node(record, node, text);
    put(text);
    stream_ = record.stream_id;
    note_frame(record);
    if (!text.empty()) filled_ = std::max(filled_, record.frame.index + 1);
  }

  void note_frame(const FrameRecord& record) {
    const std::int64_t index = record.frame.index;
    if (index > frames_)
      losses().add("frames without a record, which become frames without objects", index - frames_);
    if (index < frames_) losses().add("the order of frames");
    frames_ = std::max(frames_, index + 1);
    note_time(index, record.frame.pts);
    const cv::Size size =
        record.frame.image.empty() ? record.resolution : record.frame.image.size();
    if (size.empty()) return;
    if (size_.empty()) size_ = size;
    if (size != size_) losses().add("frames of another size than the first");
  }

  /// The rate holds the times if each is its index times the step, within a microsecond.
  void note_time(std::int64_t index, std::chrono::nanoseconds pts) {
    const auto time = static_cast<double>(pts.count());
    if (!step_ && index > 0) step_ = time / static_cast<double>(index);
    const double expected = step_.value_or(0) * static_cast<double>(index);
    is_even_ = is_even_ && std::abs(time - expected) < 1000 && (!step_ || *step_ > 0);
    if (!is_even_) losses().add("pts that are not at an even rate (frames)");
  }

  void add_node(const FrameRecord& record, const DetectionNode& node, std::string& text) {
    if (!node.coords.empty()) add_line(record, node, text);
    for (const DetectionNode& child : node.children) add_node(record, child, text);
  }

  void add_line(const FrameRecord& record, const DetectionNode& node, std::string& text) {
    const cv::Vec4d box = node.bbox().xywh();
    if (!std::isfinite(box[0] + box[1] + box[2] + box[3]))
      return losses().add("objects whose outline is not finite");
    const auto confidence = node.confidence();
    if (!confidence) losses().add("unknown confidence, for which 1 is written (objects)");
    text += std::to_string(record.frame.index + 1) + ',';
    text += node.track_id ? std::to_string(tracks_.number(record.stream_id, *node.track_id))
                          : std::string("-1");
    for (const double value : box.val) text += ',' + plain_number(value);
    text += ',' + plain_number(confidence && std::isfinite(*confidence) ? *confidence : 1);
    text += ',' + std::to_string(class_of(node.name)) + ',' + visibility(node) + '\n';
  }

  std::size_t class_of(const std::string& name) {
    const auto [place, is_new] = numbers_.try_emplace(name, classes_.size() + 1);
    if (is_new) classes_.push_back(name);
    return place->second;
  }

  static std::string visibility(const DetectionNode& node) {
    if (!node.extra_data.is_object()) return "-1";
    const auto found = node.extra_data->find("visibility");
    const bool is_known = found != node.extra_data->end() && found->is_number() &&
                          std::isfinite(found->get<double>());
    return is_known ? plain_number(found->get<double>()) : "-1";
  }

  std::optional<std::string> stream_;
  std::vector<std::string> classes_;  ///< in the order of their appearance; numbers from 1
  std::map<std::string, std::size_t> numbers_;
  TrackNumbers tracks_;
  std::int64_t frames_ = 0;
  std::int64_t filled_ = 0;  ///< up to the last frame with an object
  std::optional<double> step_;
  bool is_even_ = true;
  cv::Size size_;
};

/// The lines alone.
class MotFileSink final : public MotSink {
 public:
  explicit MotFileSink(const std::string& path)
      : MotSink(path), file_(path, OutputFile::Target::any, OutputFile::Unfinished::kept) {}

 private:
  void put(const std::string& text) override {
    if (!text.empty()) file_.write(file_.is_torn() ? "\n" + text : text);
  }
  std::string remains() const override { return file_.remains(); }

  void complete() override {
    std::string names;
    constexpr std::size_t kMostNamed = 20;
    for (std::size_t i = 0; i < std::min(classes().size(), kMostNamed); ++i)
      names += (i == 0 ? "" : ", ") + std::to_string(i + 1) + " = " + quote(classes()[i]);
    if (classes().size() > kMostNamed) names += ", …";
    if (!names.empty())
      losses().add("the names of classes (" + names + ")",
                   static_cast<std::int64_t>(classes().size()));
    if (const std::int64_t empty = frames() - frames_with_objects(); empty > 0)
      losses().add("frames without objects after the last object", empty);
    if (!size().empty()) losses().add("the frames' size");
    constexpr double kAssumed = 1e9 / 25;
    if (step() && std::abs(*step() - kAssumed) > 1) losses().add("the frame rate");
    file_.commit();
  }

  OutputFile file_;
};

/// The folder of a sequence.
class MotFolderSink final : public MotSink {
 public:
  explicit MotFolderSink(const std::string& path)
      : MotSink(path),
        folder_(path, StagedFolder::Sync::at_commit),
        lines_(folder_.target().parent_path()) {}

 private:
  void put(const std::string& text) override { lines_.write(text); }

  void complete() override {
    folder_.write_blocks("gt/gt.txt",
                         [this](const StagedFolder::Take& take) { lines_.read(take); });
    std::string labels;
    for (const std::string& name : classes()) labels += as_line(name);
    write_file("gt/labels.txt", labels);
    std::string info = "[Sequence]\n";
    if (has_records()) info += "name=" + as_line(stream());
    if (step()) info += "frameRate=" + plain_number(1e9 / *step()) + '\n';
    info += "seqLength=" + std::to_string(frames()) + '\n';
    if (!size().empty())
      info += "imWidth=" + std::to_string(size().width) +
              "\nimHeight=" + std::to_string(size().height) + '\n';
    write_file("seqinfo.ini", info);
    folder_.commit();
  }

  void write_file(std::string_view name, const std::string& text) {
    folder_.write(name, std::as_bytes(std::span(text.data(), text.size())));
  }

  StagedFolder folder_;
  Spool lines_;
};

}  // namespace

std::unique_ptr<Sink> make_mot_sink(const std::string& path) {
  if (path == "-" || std::filesystem::path(path).extension() == ".txt")
    return std::make_unique<MotFileSink>(path);
  return std::make_unique<MotFolderSink>(path);
}

}  // namespace vcap
