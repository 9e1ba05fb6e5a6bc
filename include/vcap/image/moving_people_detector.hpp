// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"
#include "vcap/image/background_model.hpp"
#include "vcap/image/height_model.hpp"
#include "vcap/image/people_crops.hpp"
#include "vcap/image/silhouette_fit.hpp"
#include "vcap/image/tiling.hpp"

namespace vcap {

/// Runs a network that detects people: for each picture a list of the people on it, their boxes in
/// pixels of that picture. The pictures are 8-bit BGR, of different sizes, and must not be written
/// to. All pictures come in one call, so that they can be a batch. Its exceptions reach the caller.
/// [within detect() or search(), on the caller's thread]
using PersonNetwork =
    std::function<std::vector<std::vector<PersonBox>>(std::vector<cv::Mat> pictures)>;

/// The settings of a MovingPeopleDetector and of its parts. Shares are within 0…1. The defaults
/// were chosen on 20 frames of one clip (tests/data/vtest/people_development.json). Thread safety:
/// value.
struct MovingPeopleSettings {
  BackgroundSettings background{};
  HeightSettings heights{};
  BlobSettings blobs{};
  CropSettings crops{};
  SilhouetteSettings silhouettes{};
  Tiling tiling{.tile = {160, 160}, .overlap = 0.5};  ///< best is a tile twice as high as a person

  /// How far a pixel is from the background, 0…255, to belong to a blob and to a silhouette.
  int blob_threshold = 20, silhouette_threshold = 25;
  /// If a larger share of the picture is foreground, the camera moves or the light changes.
  double max_foreground = 0.35;
  /// After this many such frames in a row, everything is learnt again, ≥ 1.
  int new_view_frames = 5;
  /// A box with a smaller share of foreground is not a moving person.
  double min_box_foreground = 0.3;
  /// A box of the first look is ignored unless its height, in heights of a person there, is within
  /// these bounds, > 0.
  double min_height = 0.65, max_height = 1.4;
  /// Boxes that overlap by more (IoU) are joined to one person: in crops, and in tiles.
  double max_overlap = 0.35, max_tile_overlap = 0.3;
  double sure_evidence = 0.6;       ///< a person with less evidence is looked at a second time
  double min_learning_score = 0.7;  ///< of a box that the height model learns from
  /// The time between two pictures that the height model learns from, ≥ 0.
  std::chrono::nanoseconds learning_interval = std::chrono::milliseconds(400);
};

/// Finds people who move in front of a fixed camera, also distant and half hidden ones. It combines
/// a network, which by itself misses small people, with what the scene shows over time. One object
/// serves one stream:
///
///     std::vector<PersonBox> people = detector.detect(frame.image, frame.pts, network);
///
/// It learns the background (BackgroundModel). It learns how tall people are at each place
/// (HeightModel) from people who walk alone. Then, for each picture:
///
/// 1. first look: the network sees crops around what differs from the background (crops_around);
/// 2. silhouettes of the height that is right at their place are fitted to the foreground
///    (SilhouetteFit), with the network's boxes as evidence;
/// 3. second look: the network sees each unsure person with the others painted over.
///
/// Before it is_calibrated(), the network searches tiles instead: of the whole picture until the
/// background is known, then those in which something moves. It also searches the whole picture
/// while the camera moves. If the camera goes on moving, or if the size of the picture changes,
/// everything is learnt again.
///
/// It does not find people who stand still until they are background (BackgroundModel says when).
/// For these, and if the camera moves all the time, use search(). It is slower and finds fewer of
/// the small and hidden people. In a dense crowd, few people are told apart.
///
/// Life cycle: made at the stream's start. A copy is independent of the original. If the network
/// throws, the picture counts as seen, and the next one can be given. Memory: that of the
/// BackgroundModel. The result depends only on pictures, times and network. Sources: those of its
/// parts; their combination and the second look are vcap's own
/// (docs/adr/0008-people-by-background-and-silhouettes.md). Thread safety: thread-compatible.
class VCAP_EXPORT MovingPeopleDetector {
 public:
  /// Throws InvalidArgument that names the setting, its value and what is allowed.
  explicit MovingPeopleDetector(const MovingPeopleSettings& settings = {});

  /// The people on the stream's next picture, 8-bit BGR, by falling score. Boxes are in pixels of
  /// the picture, around what is visible of a person; only those from tiles may reach beyond it.
  /// `pts` is the picture's time in the stream. The detector learns when `pts` changes, forwards or
  /// backwards; while `pts` stays the same, it learns nothing.
  ///
  /// The network is called at most twice, and not at all if it has nothing to look at. The first
  /// look has at most CropSettings::max_crops pictures, the second look one for each unsure person.
  ///
  /// Throws InvalidArgument for a picture that is empty or of another type, or a network that is an
  /// empty function; BatchError (batch_result_count) if the network does not give one list for each
  /// picture; EngineError (model_output) if a box is not finite or a score not within 0…1.
  std::vector<PersonBox> detect(const cv::Mat& picture, std::chrono::nanoseconds pts,
                                const PersonNetwork& network);

  /// The people on a single picture, by falling score: the network searches all tiles of the whole
  /// picture (settings().tiling). Neither uses nor changes what was learnt. Throws like detect().
  std::vector<PersonBox> search(const cv::Mat& picture, const PersonNetwork& network) const;

  /// Uses other tiles from the next picture on. Throws InvalidArgument like Tiling::tiles().
  void set_tiling(const Tiling& tiling);
  /// Forgets everything learnt, for example after the camera was turned.
  void reset();

  /// Whether background and heights are known.
  bool is_calibrated() const noexcept { return background_.is_ready() && heights_.is_ready(); }
  const BackgroundModel& background() const& noexcept { return background_; }
  BackgroundModel background() && { return std::move(background_); }
  const HeightModel& heights() const& noexcept { return heights_; }
  HeightModel heights() && { return std::move(heights_); }
  const MovingPeopleSettings& settings() const& noexcept { return settings_; }
  MovingPeopleSettings settings() && { return std::move(settings_); }

 private:
  std::vector<PersonBox> detect_moving(const cv::Mat& picture, std::chrono::nanoseconds pts,
                                       const std::vector<Foreground>& foregrounds,
                                       const PersonNetwork& network);
  bool note_camera_motion(const Foreground& moving);
  std::vector<PersonBox> first_look(const cv::Mat& picture, const Foreground& moving,
                                    std::span<const cv::Rect> blobs,
                                    const PersonNetwork& network) const;
  void second_look(const cv::Mat& picture, std::vector<FittedPerson>& people,
                   const PersonNetwork& network) const;
  std::vector<PersonBox> search_moving(const cv::Mat& picture, const Foreground& moving,
                                       std::span<const cv::Rect> blobs,
                                       const PersonNetwork& network) const;
  void learn(std::chrono::nanoseconds pts, const Foreground& silhouettes,
             std::span<const cv::Rect> blobs, std::span<const PersonBox> boxes);

  MovingPeopleSettings settings_;
  SilhouetteFit fit_;
  BackgroundModel background_;
  HeightModel heights_;
  cv::Size size_{};  // of the last picture
  std::optional<std::chrono::nanoseconds> learnt_at_{};
  int moving_frames_ = 0;  // in a row, in which the camera moved
};

}  // namespace vcap
