// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <span>

#include "base/text.hpp"
#include "files/staged_folder.hpp"
#include "media/opencv_io.hpp"
#include "records/csv.hpp"
#include "records/export_names.hpp"
#include "records/export_sink.hpp"
#include "records/spool.hpp"
#include "vcap/base/error.hpp"
#include "vcap/image/crop_nodes.hpp"
#include "vcap/records/export_sinks.hpp"

namespace vcap {
namespace {

/// All of a record but its crops is not held, and nobody expects it to be.
constexpr HeldFields kCropsHold{.format = "a folder of crops",
                                .unbounded = true,
                                .detection_bbox = true,
                                .keypoints = true,
                                .keypoint_details = true,
                                .track_ids = true,
                                .encoding = true,
                                .extra_data = true};

void check(const CropExport& how) {
  if (how.quality < 1 || how.quality > 100)
    throw InvalidArgument(
        ErrorCode::invalid_argument,
        "the quality of crops is " + std::to_string(how.quality) + "; it must be from 1 to 100");
  if (!(how.padding >= 0 && how.padding <= 1000))
    throw InvalidArgument(
        ErrorCode::invalid_argument,
        "the padding of crops is " + number_text(how.padding) + " %; it must be from 0 to 1000");
}

class CropSink final : public ExportSink {
 public:
  CropSink(const std::string& path, const CropExport& how)
      : ExportSink(path, kCropsHold),
        how_(how),
        folder_(path, StagedFolder::Sync::at_commit),
        labels_(folder_.target().parent_path()) {
    labels_.write("file,label\n");
  }

  bool needs_pixels() const override { return true; }

 private:
  void add(const FrameRecord& record) override {
    if (record.frame.image.empty()) {
      if (!record.objects.empty()) losses().add("nodes of frames without pixels (frames)");
      return;
    }
    char number[32];
    std::snprintf(number, sizeof number, "%09lld", static_cast<long long>(record.frame.index));
    const std::string begin = names_.stream(record.stream_id) + '/' +
                              (record.group ? "g" + std::to_string(*record.group) + "-" : "") +
                              number;
    add_nodes(record.frame.image, record.objects, begin);
  }

  void complete() override {
    folder_.write_blocks("labels.csv",
                         [this](const StagedFolder::Take& take) { labels_.read(take); });
    folder_.commit();
  }

  /// `begin`: what the files' names begin with: the place of the parent.
  void add_nodes(const cv::Mat& image, const std::vector<DetectionNode>& nodes,
                 const std::string& begin) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::string place = begin + "-" + std::to_string(i);
      add_crop(image, nodes[i], place);
      add_nodes(image, nodes[i].children, place);
    }
  }

  void add_crop(const cv::Mat& image, const DetectionNode& node, const std::string& place) {
    const double padding = how_.padding;
    const NodeCrops crop = crop_nodes(
        image, DetectionNodes::single(without_children(node)), [padding](const DetectionNode& one) {
          return Crop::from_node(one).pad_percent(
              {.top = padding, .bottom = padding, .left = padding, .right = padding});
        });
    if (crop.images.empty()) return losses().add("nodes without pixels in the frame");
    const std::string extension = how_.png ? ".png" : ".jpg";
    constexpr std::size_t kMostName = 60;
    constexpr std::size_t kMostPlace = 150;  // of nodes that are nested deeply
    const std::string file = free_name(folder_, place.substr(0, kMostPlace) + "-",
                                       safe_name(node.name, kMostName), extension);
    const std::vector<unsigned char> bytes =
        opencv_io().encode_image(crop.images.front(), extension, how_.quality);
    const std::int64_t before = labels_.size();
    labels_.write(csv_field(file) + ',' + csv_field(node.name) + '\n');
    try {
      folder_.write(file, std::as_bytes(std::span(bytes)));
    } catch (...) {
      labels_.cut(before);
      throw;
    }
  }

  static DetectionNode without_children(const DetectionNode& node) {
    return {.name = node.name, .coords = node.coords};
  }

  const CropExport how_;
  StagedFolder folder_;
  Spool labels_;
  FrameNames names_;
};

}  // namespace

std::unique_ptr<Sink> make_crop_sink(const std::string& path, const CropExport& how) {
  check(how);
  return std::make_unique<CropSink>(path, how);
}

}  // namespace vcap
