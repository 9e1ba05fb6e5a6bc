// SPDX-License-Identifier: Apache-2.0
//
// Finds people in front of a fixed camera, including far and half hidden ones. A network looks at
// moving regions, and silhouettes with the height of people at that place are fitted to them
// (vcap::MovingPeopleDetector). It does not find people who stand still for long. docs/models.md
// says who else is missed, and what to do about it.
#include <cmath>
#include <vcap/backends/detector_backend.hpp>
#include <vcap/capsule.hpp>

namespace {

using vcap::PersonBox;

// [state]
struct Scene final : vcap::BaseStreamState {
  vcap::MovingPeopleDetector people{};
};
// [/state]

// The network's points give the size of a person better than its box. The height is 1.82 times the
// distance from the hip to the circle around the body, measured on people 60 to 110 pixels tall.
PersonBox person_of(const vcap::Detection& detection) {
  const cv::Point2d hip = detection.keypoints[0].point, rim = detection.keypoints[1].point;
  const double height = 1.82 * std::hypot(rim.x - hip.x, rim.y - hip.y), width = 0.345 * height;
  return {{hip.x - width / 2, hip.y - height / 2, hip.x + width / 2, hip.y + height / 2},
          detection.confidence};
}

class Backend final : public vcap::DetectorBackend {
 public:
  using DetectorBackend::DetectorBackend;

  // [process]
  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes,
                                     const vcap::OptionValues& options,
                                     vcap::BaseStreamState& state) override {
    vcap::MovingPeopleDetector& people = vcap::state_of<Scene>(state).people;
    const auto side = options.get<int>("tile_size");
    people.set_tiling({.tile = {side, side}, .overlap = options.get<double>("tile_overlap")});
    const vcap::PersonNetwork network = [this](std::vector<cv::Mat> pictures) {
      return people_on(std::move(pictures));
    };
    const std::vector<PersonBox> found = options.get<bool>("static_camera")
                                             ? people.detect(frame.image, frame.pts, network)
                                             : people.search(frame.image, network);
    return nodes_of(found, frame.image.size(), options.get<double>("threshold"));
  }
  // [/process]

 private:
  // All pictures in one call, so that their requests run side by side.
  std::vector<std::vector<PersonBox>> people_on(std::vector<cv::Mat> pictures) {
    std::vector<std::vector<PersonBox>> people;
    for (const vcap::Detections& found : predict_all(std::move(pictures))) {
      people.emplace_back();
      for (const vcap::Detection& one : found) people.back().push_back(person_of(one));
    }
    return people;
  }

  vcap::DetectionNodes nodes_of(const std::vector<PersonBox>& people, cv::Size picture,
                                double threshold) const {
    vcap::DetectionNodes nodes = vcap::DetectionNodes::all();
    for (const auto& [box, score] : people) {
      const cv::Rect2d part = cv::Rect2d(box.x1, box.y1, box.width(), box.height()) &
                              cv::Rect2d({}, cv::Size2d(picture));
      if (score >= threshold && !part.empty())
        nodes.add({.name = labels()[0],
                   .coords = vcap::rect_to_coords(part),
                   .extra_data = {{"detection_confidence", score}}});
    }
    return nodes;
  }
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    using enum vcap::Discontinuity;
    return {.name = "detector_person",
            .version = 1,
            .description =
                "Finds people who move in front of a fixed camera, including small and half "
                "hidden ones. Does not find people who stand still for long",
            .input_type = {.size = vcap::NodeDescription::Size::none},
            .output_type = {.size = vcap::NodeDescription::Size::all,
                            .detections = {"person"},
                            .extra_data = {"detection_confidence"}},
            .options = options(),
            .config_schema = vcap::ModelSpec::config_schema(),
            .stream_state = vcap::make_stream_state<Scene>(),
            .keeps_state_at = {gap}};
  }

  static vcap::Options options() {
    vcap::Options options = vcap::common_detector_options();
    options["static_camera"] = vcap::BoolOption{
        .default_value = true,
        .description =
            "True if the camera does not move: learns the background and searches where "
            "something moves. False: searches the whole picture in tiles, which takes longer "
            "and finds fewer people, but finds people who stand still too"};
    options["tile_size"] = vcap::IntOption{
        .default_value = 160,
        .min = 64,
        .max = 4096,
        .description = "The side of a tile in pixels; best is about twice a person's height"};
    options["tile_overlap"] =
        vcap::FloatOption{.default_value = 0.5,
                          .min = 0,
                          .max = 0.9,
                          .description = "The share of a tile that a neighbouring tile shows too"};
    return options;
  }

  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles& files,
                                              const std::string& device) override {
    const auto spec = vcap::ModelSpec::read(files, "model.json", config());
    return std::make_unique<Backend>(files, spec, device);
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
