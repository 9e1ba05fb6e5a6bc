// SPDX-License-Identifier: Apache-2.0
#include "vcap/backends/detector_backend.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "backends/spec_json.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

std::optional<Tiling> read_tiling(const nlohmann::json& output) {
  return spec::with_file("output", [&]() -> std::optional<Tiling> {
    const auto json = JsonView(output).find("tiling");
    if (!json) return std::nullopt;
    json->allow_fields({"tile", "overlap"});
    Tiling tiling;
    const auto sides = (*json)["tile"].elements();
    if (sides.size() != 2) (*json)["tile"].fail("a size, [width, height]");
    tiling.tile = {spec::whole<int>(sides[0], 1), spec::whole<int>(sides[1], 1)};
    if (const auto overlap = json->find("overlap")) tiling.overlap = overlap->number();
    return tiling;
  });
}

void move(Detection& detection, cv::Point by) {
  BoundingBox& box = detection.box;
  box = {box.x1 + by.x, box.y1 + by.y, box.x2 + by.x, box.y2 + by.y};
  for (Keypoint& keypoint : detection.keypoints) keypoint.point += cv::Point2d(by);
}

}  // namespace

DetectionNodes to_nodes(const Detections& detections, const std::vector<std::string>& labels) {
  DetectionNodes nodes = DetectionNodes::all();
  for (const Detection& detection : detections) {
    if (detection.label >= labels.size())
      throw EngineError(ErrorCode::model_output,
                        "the model found label " + std::to_string(detection.label) +
                            ", but there "
                            "are " +
                            std::to_string(labels.size()) +
                            " labels, counted from 0; give a name for each class in \"labels\"");
    nodes.add({.name = labels[detection.label],
               .coords = rect_to_coords(detection.box),
               .keypoints = detection.keypoints,
               .extra_data = {{"detection_confidence", detection.confidence}}});
  }
  return nodes;
}

DetectorBackend::DetectorBackend(const CapsuleFiles& files, const ModelSpec& spec,
                                 const std::string& device)
    : DetectorBackend(files, spec, device, make_detection_reader(spec)) {}

DetectorBackend::DetectorBackend(const CapsuleFiles& files, const ModelSpec& spec,
                                 const std::string& device, Reader reader)
    : ModelBackend(load_model(files, spec, device), std::move(reader)),
      labels_(spec.labels),
      tiling_(read_tiling(spec.output)) {}

DetectionNodes DetectorBackend::process_frame(const Frame& frame, DetectionNodes,
                                              const OptionValues& options, BaseStreamState&) {
  Detections found = tiling_ ? detect(frame.image, *tiling_) : detect(frame.image);
  if (options.contains("threshold")) {
    const double threshold = options.get<double>("threshold");
    std::erase_if(found, [=](const Detection& one) { return one.confidence < threshold; });
  }
  return to_nodes(found, labels_);
}

std::vector<Detections> DetectorBackend::detect(const cv::Mat& picture,
                                                std::span<const cv::Rect> parts) {
  std::vector<cv::Mat> pictures;
  for (const cv::Rect& part : parts) pictures.push_back(picture(part));
  std::vector<Detections> found = predict_all(std::move(pictures));
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (Detection& detection : found[i]) move(detection, parts[i].tl());
  return found;
}

Detections DetectorBackend::detect(const cv::Mat& picture, const Tiling& tiling,
                                   const TileMerge& merge) {
  const std::vector<cv::Rect> tiles = tiling.tiles(picture.size());
  Detections all;
  std::vector<TiledBox> boxes;
  std::vector<Detections> found = detect(picture, tiles);
  for (std::size_t tile = 0; tile < tiles.size(); ++tile)
    for (Detection& detection : found[tile]) {
      boxes.push_back({detection.box, detection.confidence, detection.label, tile});
      all.push_back(std::move(detection));
    }
  Detections merged;
  for (const std::size_t index : merge_tiles(boxes, tiles, merge))
    merged.push_back(std::move(all[index]));
  return merged;
}

}  // namespace vcap
