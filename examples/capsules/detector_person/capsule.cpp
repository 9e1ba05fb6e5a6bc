// SPDX-License-Identifier: Apache-2.0
//
// Finds people before a fixed camera, the far and the half hidden ones too: a network looks at
// what moves, and silhouettes of the height that people have at that place are fitted to it. Before
// the capsule knows background and heights, and when the camera moves, the network searches the
// whole picture in tiles. Who stands still for long becomes background and is not seen any more.
#include <algorithm>
#include <cmath>
#include <vcap/backends/detector_backend.hpp>
#include <vcap/capsule.hpp>

namespace {

using vcap::FittedPerson;
using vcap::PersonBox;
using People = std::vector<PersonBox>;

constexpr int kBlobThreshold = 20, kFitThreshold = 25;  // of 255: how far from the background
constexpr double kMovingCamera = 0.35;  // of the picture: things in a scene rarely cover more
constexpr int kNewView = 5;             // so many such frames at a stretch: the camera has turned
constexpr double kSamePerson = 0.35, kSamePersonInTiles = 0.3;  // IoU
constexpr double kLeastForeground = 0.3;                        // of a box
constexpr double kShortest = 0.65, kTallest = 1.4;              // of the height at that place
constexpr double kSure = 0.6;  // with less evidence, a person is looked at once more
constexpr std::chrono::milliseconds kLearningInterval{400};

// [state]
struct Scene final : vcap::BaseStreamState {
  vcap::BackgroundModel background{};
  vcap::HeightModel heights{};
  cv::Size size{};
  std::chrono::nanoseconds learnt_at{-kLearningInterval};
  int frames_in_motion = 0;
};
// [/state]

// The network's points tell a person's size better than its box does: 1.82 times the distance from
// the hip to the circle around the body is the height; measured on people 60 to 110 pixels tall.
PersonBox person_of(const vcap::Detection& detection, cv::Point crop) {
  const cv::Point2d hip = detection.keypoints[0].point, rim = detection.keypoints[1].point;
  const double height = 1.82 * std::hypot(rim.x - hip.x, rim.y - hip.y), width = 0.345 * height;
  return {{crop.x + hip.x - width / 2, crop.y + hip.y - height / 2, crop.x + hip.x + width / 2,
           crop.y + hip.y + height / 2},
          detection.confidence};
}

class Backend final : public vcap::DetectorBackend {
 public:
  using DetectorBackend::DetectorBackend;

  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes,
                                     const vcap::OptionValues& options,
                                     vcap::BaseStreamState& state) override {
    People people = options.get<bool>("static_camera")
                        ? find(frame, options, dynamic_cast<Scene&>(state))
                        : search(frame.image, options);
    const double threshold = options.get<double>("threshold");
    std::ranges::stable_sort(people, std::ranges::greater{}, &PersonBox::score);
    vcap::DetectionNodes nodes = vcap::DetectionNodes::all();
    for (const auto& [box, score] : people) {
      const cv::Rect2d whole({}, cv::Size2d(frame.image.size()));
      const cv::Rect2d part = cv::Rect2d(box.x1, box.y1, box.width(), box.height()) & whole;
      if (score >= threshold && !part.empty())
        nodes.add({.name = labels()[0],
                   .coords = vcap::rect_to_coords(part),
                   .extra_data = {{"detection_confidence", score}}});
    }
    return nodes;
  }

 private:
  People find(const vcap::Frame& frame, const vcap::OptionValues& options, Scene& scene) {
    const cv::Mat& picture = frame.image;
    if (picture.size() != std::exchange(scene.size, picture.size())) scene.heights = vcap::HeightModel();
    scene.background.observe(picture, frame.pts);
    const auto foregrounds = scene.background.foregrounds(picture, {kBlobThreshold, kFitThreshold});
    const vcap::Foreground &moving = foregrounds[0], &silhouettes = foregrounds[1];
    const bool is_static = moving.share() < kMovingCamera;
    scene.frames_in_motion = is_static ? 0 : scene.frames_in_motion + 1;
    if (scene.frames_in_motion == kNewView) {
      scene.background.reset();
      scene.heights = vcap::HeightModel();
      scene.frames_in_motion = 0;
    }
    if (!is_static || !scene.background.is_ready()) return search(picture, options);

    const std::vector<cv::Rect> blobs = vcap::moving_blobs(moving);
    const bool is_calibrated = scene.heights.is_ready();
    const People boxes = is_calibrated ? look(picture, moving, blobs, scene.heights)
                                       : search(picture, options, moving, blobs);
    if (std::chrono::abs(frame.pts - scene.learnt_at) >= kLearningInterval) {
      scene.learnt_at = frame.pts;
      if (vcap::learn_heights(scene.heights, silhouettes, blobs, boxes) > 0)
        scene.heights.calibrate();
    }
    if (!is_calibrated) return boxes;
    std::vector<FittedPerson> fitted = fit_.fit(silhouettes, blobs, scene.heights, boxes);
    look_again(picture, scene.background, fitted);
    People people;
    for (const FittedPerson& person : fitted) people.push_back({person.box, fit_.score(person)});
    return people;
  }

  // All crops at once: they become requests side by side.
  std::vector<People> look_at(const std::vector<cv::Mat>& pictures,
                              std::span<const cv::Rect> crops) {
    const std::vector<vcap::Detections> found = predict_all(pictures);
    std::vector<People> people(found.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      for (const vcap::Detection& detection : found[i])
        people[i].push_back(person_of(detection, crops[i].tl()));
    return people;
  }
  People look_at(const cv::Mat& picture, std::span<const cv::Rect> crops, double max_overlap,
                 auto&& accept) {
    std::vector<cv::Mat> pictures;
    for (const cv::Rect& crop : crops) pictures.push_back(vcap::crop_padded(picture, crop));
    People all;
    for (const People& people : look_at(pictures, crops))
      std::ranges::copy_if(people, std::back_inserter(all), accept);
    return vcap::join_boxes(std::move(all), max_overlap);
  }

  // The first look, at crops around what moves.
  People look(const cv::Mat& picture, const vcap::Foreground& moving,
              const std::vector<cv::Rect>& blobs, const vcap::HeightModel& heights) {
    const auto crops = vcap::crops_around(blobs, heights, picture.size());
    return look_at(picture, crops, kSamePerson, [&](const PersonBox& person) {
      const double ratio = person.box.height() / heights.height_at(person.box.y2);
      return ratio > kShortest && ratio < kTallest && moving.share(person.box) >= kLeastForeground;
    });
  }

  // The second look, at each unsure person with the others painted over: it tells one of two apart.
  void look_again(const cv::Mat& picture, const vcap::BackgroundModel& background,
                  std::vector<FittedPerson>& people) {
    std::vector<cv::Mat> pictures;
    std::vector<cv::Rect> crops;
    std::vector<std::size_t> unsure;
    for (std::size_t i = 0; i < people.size(); ++i) {
      if (people[i].evidence >= kSure) continue;
      unsure.push_back(i);
      crops.push_back(vcap::crop_around(people[i].silhouette));
      pictures.push_back(fit_.isolated(picture, background.background(), background.scale(), people,
                                       i, crops.back()));
    }
    const std::vector<People> found = look_at(pictures, crops);
    for (std::size_t k = 0; k < unsure.size(); ++k) {
      FittedPerson& person = people[unsure[k]];
      person.evidence =
          std::max(person.evidence,
                   fit_.evidence(person.silhouette, vcap::join_boxes(found[k], kSamePerson)));
    }
  }

  // Tiles over the whole picture.
  People search(const cv::Mat& picture, const vcap::OptionValues& options) {
    return look_at(picture, tiles(picture, options), kSamePersonInTiles,
                   [](const PersonBox&) { return true; });
  }
  // Tiles over what moves in it.
  People search(const cv::Mat& picture, const vcap::OptionValues& options,
                const vcap::Foreground& moving, const std::vector<cv::Rect>& blobs) {
    std::vector<cv::Rect> some = tiles(picture, options);
    std::erase_if(some, [&](const cv::Rect& tile) {
      return std::ranges::none_of(blobs, [&](const cv::Rect& blob) {
        return 2 * (blob & tile).area() >= std::min(blob.area(), tile.area() / 2);
      });
    });
    return look_at(picture, some, kSamePersonInTiles, [&](const PersonBox& person) {
      return moving.share(person.box) >= kLeastForeground;
    });
  }
  static std::vector<cv::Rect> tiles(const cv::Mat& picture, const vcap::OptionValues& options) {
    const int side = static_cast<int>(options.get<std::int64_t>("tile_size"));
    const vcap::Tiling tiling{.tile = {side, side}, .overlap = options.get<double>("tile_overlap")};
    return tiling.tiles(picture.size());
  }

  const vcap::SilhouetteFit fit_{};
};

class Capsule final : public vcap::BaseCapsule {
 public:
  static vcap::CapsuleInfo info() {
    using enum vcap::Discontinuity;
    return {.name = "detector_person",
            .version = 1,
            .description =
                "Finds people who move before a fixed camera, small and half hidden ones "
                "too; of those who stand for long it sees nothing",
            .input_type = {.size = vcap::NodeDescription::Size::none},
            .output_type = {.size = vcap::NodeDescription::Size::all,
                            .detections = {"person"},
                            .extra_data = {"detection_confidence"}},
            .options = options(),
            .config_schema = {{"type", "object"},
                              {"properties", {{"engine", vcap::engine_config_schema()}}},
                              {"additionalProperties", false}},
            .stream_state = vcap::make_stream_state<Scene>(),
            .keeps_state_at = {gap}};
  }

  static vcap::Options options() {
    vcap::Options options = vcap::common_detector_options();
    options["static_camera"] = vcap::BoolOption{
        .default_value = true,
        .description =
            "The camera does not move: learn the background and look at what moves. "
            "Otherwise tiles over the whole picture are searched, which takes longer "
            "and finds fewer people, but also those who stand"};
    options["tile_size"] = vcap::IntOption{
        .default_value = 160,
        .min = 64,
        .max = 4096,
        .description = "The side of those tiles in pixels; best is about twice a person's height"};
    options["tile_overlap"] =
        vcap::FloatOption{.default_value = 0.5,
                          .min = 0,
                          .max = 0.9,
                          .description = "The share of a tile that its neighbours show too"};
    return options;
  }

  std::unique_ptr<vcap::Backend> load_backend(const vcap::CapsuleFiles& files,
                                              const std::string& device) override {
    vcap::ModelSpec spec = vcap::ModelSpec::read(files, "model.json");
    spec.apply(config());
    return std::make_unique<Backend>(files, spec, device);
  }
};

}  // namespace

VCAP_CAPSULE(Capsule)
