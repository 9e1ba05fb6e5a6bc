// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/moving_people_detector.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "image/frame_check.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

void require_people(bool is_allowed, const std::string& what) {
  if (!is_allowed)
    throw InvalidArgument(ErrorCode::invalid_argument, "moving people detector: " + what);
}

void require_people_within(const char* what, double value, double least, double most) {
  require_people(value >= least && value <= most, std::string(what) + " " + number_text(value) +
                                                      " is not within " + number_text(least) +
                                                      " to " + number_text(most));
}

/// Checks what the constructors of the parts do not check.
void check(const MovingPeopleSettings& settings) {
  const auto check_threshold = [](const char* what, int value) {
    require_people(value >= 0 && value <= 255,
                   std::string(what) + " " + std::to_string(value) + " is not within 0 to 255");
  };
  check_threshold("blob_threshold", settings.blob_threshold);
  check_threshold("silhouette_threshold", settings.silhouette_threshold);
  require_people_within("max_foreground", settings.max_foreground, 0, 1);
  require_people(
      settings.new_view_frames >= 1,
      "new_view_frames " + std::to_string(settings.new_view_frames) + " is not 1 or more");
  require_people_within("min_box_foreground", settings.min_box_foreground, 0, 1);
  require_people_within("min_height", settings.min_height, 0.01, 100);
  require_people_within("max_height", settings.max_height, settings.min_height, 100);
  require_people_within("max_overlap", settings.max_overlap, 0, 1);
  require_people_within("max_tile_overlap", settings.max_tile_overlap, 0, 1);
  require_people_within("sure_evidence", settings.sure_evidence, 0, 1);
  require_people_within("min_learning_score", settings.min_learning_score, 0, 1);
  require_people(settings.learning_interval.count() >= 0,
                 "learning_interval must be >= 0, got " +
                     std::to_string(settings.learning_interval.count()) + " ns");
  static_cast<void>(crops_around({}, HeightModel(), {1, 1}, settings.crops));
  static_cast<void>(settings.tiling.grid({1, 1}));
}

void check_call(const cv::Mat& picture, const PersonNetwork& network) {
  check_frame(picture, "moving people detector");
  require_people(picture.type() == CV_8UC3,
                 "the picture is not 8-bit BGR (CV_8UC3); convert it first");
  require_people(network != nullptr, "the network is an empty function; give a callable one");
}

void check_found(const PersonBox& person) {
  const BoundingBox& box = person.box;
  if (std::isfinite(box.x1) && std::isfinite(box.y1) && std::isfinite(box.x2) &&
      std::isfinite(box.y2) && person.score >= 0 && person.score <= 1)
    return;
  throw EngineError(ErrorCode::model_output,
                    "moving people detector: the network gave a box from " + number_text(box.x1) +
                        ", " + number_text(box.y1) + " to " + number_text(box.x2) + ", " +
                        number_text(box.y2) + " with a score of " + number_text(person.score) +
                        "; boxes must be finite, scores within 0 to 1");
}

/// What the network finds on each of the pictures, in pixels of the picture that `crops` were cut
/// from. Does not call the network if there are no pictures.
std::vector<std::vector<PersonBox>> ask(const PersonNetwork& network, std::vector<cv::Mat> pictures,
                                        std::span<const cv::Rect> crops) {
  if (pictures.empty()) return {};
  std::vector<std::vector<PersonBox>> found = network(std::move(pictures));
  if (found.size() != crops.size())
    throw BatchError(ErrorCode::batch_result_count,
                     "moving people detector: the network gave " + std::to_string(found.size()) +
                         " lists for " + std::to_string(crops.size()) +
                         " pictures; it must give one for each picture, empty if it shows nobody");
  for (std::size_t i = 0; i < found.size(); ++i)
    for (PersonBox& person : found[i]) {
      check_found(person);
      person.box.x1 += crops[i].x, person.box.x2 += crops[i].x;
      person.box.y1 += crops[i].y, person.box.y2 += crops[i].y;
    }
  return found;
}

/// The people in the crops that `accept` takes, each once.
template <class Accept>
std::vector<PersonBox> people_in_crops(const cv::Mat& picture, std::span<const cv::Rect> crops,
                                       const PersonNetwork& network, double max_overlap,
                                       const Accept& accept) {
  std::vector<cv::Mat> pictures;
  for (const cv::Rect& crop : crops) pictures.push_back(crop_padded(picture, crop));
  std::vector<PersonBox> all;
  for (const std::vector<PersonBox>& people : ask(network, std::move(pictures), crops))
    std::ranges::copy_if(people, std::back_inserter(all), accept);
  return join_boxes(std::move(all), max_overlap);
}

}  // namespace

MovingPeopleDetector::MovingPeopleDetector(const MovingPeopleSettings& settings)
    : settings_(settings),
      fit_(settings.silhouettes),
      background_(settings.background),
      heights_(settings.heights) {
  check(settings);
}

void MovingPeopleDetector::set_tiling(const Tiling& tiling) {
  static_cast<void>(tiling.grid({1, 1}));
  settings_.tiling = tiling;
}

void MovingPeopleDetector::reset() {
  background_.reset();
  heights_ = HeightModel(settings_.heights);
  moving_frames_ = 0;
}

std::vector<PersonBox> MovingPeopleDetector::detect(const cv::Mat& picture,
                                                    std::chrono::nanoseconds pts,
                                                    const PersonNetwork& network) {
  check_call(picture, network);
  if (picture.size() != std::exchange(size_, picture.size()))
    heights_ = HeightModel(settings_.heights);
  background_.observe(picture, pts);
  const std::vector<Foreground> foregrounds =
      background_.foregrounds(picture, {settings_.blob_threshold, settings_.silhouette_threshold});
  if (note_camera_motion(foregrounds[0]) || !background_.is_ready())
    return search(picture, network);
  return detect_moving(picture, pts, foregrounds, network);
}

/// Whether the camera moves in this frame. Forgets everything if it goes on moving.
bool MovingPeopleDetector::note_camera_motion(const Foreground& moving) {
  if (moving.share() < settings_.max_foreground) {
    moving_frames_ = 0;
    return false;
  }
  if (++moving_frames_ >= settings_.new_view_frames) reset();
  return true;
}

std::vector<PersonBox> MovingPeopleDetector::detect_moving(
    const cv::Mat& picture, std::chrono::nanoseconds pts,
    const std::vector<Foreground>& foregrounds, const PersonNetwork& network) {
  const Foreground &moving = foregrounds[0], &silhouettes = foregrounds[1];
  const std::vector<cv::Rect> blobs = moving_blobs(moving, settings_.blobs);
  if (!heights_.is_ready()) {
    std::vector<PersonBox> people = search_moving(picture, moving, blobs, network);
    learn(pts, silhouettes, blobs, people);
    return people;
  }
  const std::vector<PersonBox> boxes = first_look(picture, moving, blobs, network);
  learn(pts, silhouettes, blobs, boxes);
  std::vector<FittedPerson> fitted = fit_.fit(silhouettes, blobs, heights_, boxes);
  second_look(picture, fitted, network);
  std::vector<PersonBox> people;
  people.reserve(fitted.size());
  for (const FittedPerson& person : fitted) people.push_back({person.box, fit_.score(person)});
  std::ranges::stable_sort(people, std::ranges::greater{}, &PersonBox::score);
  return people;
}

std::vector<PersonBox> MovingPeopleDetector::first_look(const cv::Mat& picture,
                                                        const Foreground& moving,
                                                        std::span<const cv::Rect> blobs,
                                                        const PersonNetwork& network) const {
  const std::vector<cv::Rect> crops =
      crops_around(blobs, heights_, picture.size(), settings_.crops);
  return people_in_crops(
      picture, crops, network, settings_.max_overlap, [&](const PersonBox& person) {
        const double ratio = person.box.height() / heights_.height_at(person.box.y2);
        return ratio > settings_.min_height && ratio < settings_.max_height &&
               moving.share(person.box) >= settings_.min_box_foreground;
      });
}

/// The network often gives one box for two people side by side. So it gets a picture of each person
/// with little evidence, with the others painted over.
void MovingPeopleDetector::second_look(const cv::Mat& picture, std::vector<FittedPerson>& people,
                                       const PersonNetwork& network) const {
  std::vector<cv::Mat> pictures;
  std::vector<cv::Rect> crops;
  std::vector<std::size_t> unsure;
  for (std::size_t i = 0; i < people.size(); ++i) {
    if (people[i].evidence >= settings_.sure_evidence) continue;
    unsure.push_back(i);
    crops.push_back(crop_around(people[i].silhouette, settings_.crops));
    pictures.push_back(fit_.isolated(picture, background_.background(), background_.scale(), people,
                                     i, crops.back()));
  }
  std::vector<std::vector<PersonBox>> found = ask(network, std::move(pictures), crops);
  for (std::size_t k = 0; k < unsure.size(); ++k) {
    FittedPerson& person = people[unsure[k]];
    const auto boxes = join_boxes(std::move(found[k]), settings_.max_overlap);
    person.evidence = std::max(person.evidence, fit_.evidence(person.silhouette, boxes));
  }
}

std::vector<PersonBox> MovingPeopleDetector::search(const cv::Mat& picture,
                                                    const PersonNetwork& network) const {
  check_call(picture, network);
  return people_in_crops(picture, settings_.tiling.tiles(picture.size()), network,
                         settings_.max_tile_overlap, [](const PersonBox&) { return true; });
}

/// Searches the tiles that show half of a blob, or are half covered by one.
std::vector<PersonBox> MovingPeopleDetector::search_moving(const cv::Mat& picture,
                                                           const Foreground& moving,
                                                           std::span<const cv::Rect> blobs,
                                                           const PersonNetwork& network) const {
  std::vector<cv::Rect> tiles = settings_.tiling.tiles(picture.size());
  std::erase_if(tiles, [&](const cv::Rect& tile) {
    return std::ranges::none_of(blobs, [&](const cv::Rect& blob) {
      return 2 * (blob & tile).area() >= std::min(blob.area(), tile.area() / 2);
    });
  });
  return people_in_crops(picture, tiles, network, settings_.max_tile_overlap,
                         [&](const PersonBox& person) {
                           return moving.share(person.box) >= settings_.min_box_foreground;
                         });
}

/// Samples close to each other in time would all be of the same people at the same place.
void MovingPeopleDetector::learn(std::chrono::nanoseconds pts, const Foreground& silhouettes,
                                 std::span<const cv::Rect> blobs,
                                 std::span<const PersonBox> boxes) {
  if (learnt_at_ && std::chrono::abs(pts - *learnt_at_) < settings_.learning_interval) return;
  learnt_at_ = pts;
  if (learn_heights(heights_, silhouettes, blobs, boxes, settings_.min_learning_score) > 0)
    heights_.calibrate();
}

}  // namespace vcap
