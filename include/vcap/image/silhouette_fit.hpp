// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"
#include "vcap/image/background_model.hpp"
#include "vcap/image/height_model.hpp"
#include "vcap/model/bounding_box.hpp"

namespace vcap {

/// An upright person, in pixels of the picture. Thread safety: value.
struct Silhouette {
  double x = 0;       ///< of the middle
  double feet = 0;    ///< y of the bottom edge
  double height = 0;  ///< from feet to head

  bool operator==(const Silhouette&) const = default;
};

/// A person that a detector found. Thread safety: value.
struct PersonBox {
  BoundingBox box{};  ///< in pixels of the picture
  double score = 0;   ///< in 0…1

  bool operator==(const PersonBox&) const = default;
};

/// A person that a SilhouetteFit found. Thread safety: value.
struct FittedPerson {
  Silhouette silhouette{};
  /// How much better the mask is explained with this person than without: nats for each pixel of
  /// the mask that the person is expected to cover. 3 is a clear case, 0.3 is hardly anything.
  double gain = 0;
  double evidence = 0;  ///< how well a detector's box fits the silhouette, in 0…1
  BoundingBox box{};    ///< around what is visible of the person, within the picture

  bool operator==(const FittedPerson&) const = default;
};

/// The constants of a SilhouetteFit. Lengths are shares of a person's height unless stated
/// otherwise. Thread safety: value.
struct SilhouetteSettings {
  double noise = 0.03;       ///< the chance that a pixel is set without a person, > 0 and < 1
  double min_gain = 0.3;     ///< the minimum gain of a person
  double min_support = 0.7;  ///< and the minimum gain + evidence_weight · evidence
  double evidence_weight = 1.5;
  double min_visible = 0.33;  ///< the minimum part of the silhouette that lies within the picture
  double grid = 0.12;         ///< distance of the places that are tried first, > 0
  std::vector<double> heights{0.9, 0.95, 1.0};  ///< factors of the HeightModel's height, all tried
  int max_people = 12;                          ///< in one blob
  std::size_t max_candidates = 4000;  ///< in one blob; in large ones the grid becomes coarser
  double box_width = 0.36;            ///< of the box that is compared with a detector's
  double gain_score = 0.5;            ///< the score that a gain of 3 brings without evidence, 0…1
};

/// Explains a foreground mask by people. It finds the upright silhouettes that together make the
/// mask most likely, each about as tall as a HeightModel says for its place. So it separates people
/// who partly hide each other, unlike blobs and a detector's boxes.
///
///     const SilhouetteFit fit;
///     for (const FittedPerson& person : fit.fit(foreground, blobs, heights, boxes))
///       if (fit.score(person) > 0.5) …
///
/// A pixel is set with the probability 1 − (1 − noise)·Π(1 − tᵢ); tᵢ is the probability that person
/// i covers it. In each blob, the silhouette that explains the most is moved to the best place
/// nearby and added, until one gains too little. Then each is removed and fitted again next to the
/// others, twice. Deterministic.
///
/// Source: people as a greedy explanation of the foreground by silhouettes of a known size, C.
/// Beleznai, B. Frühstück, H. Bischof, "Human detection in groups using a fast mean shift
/// procedure", ICIP 2004, and J. Rittscher, P. H. Tu, N. Krahnstoever, "Simultaneous estimation of
/// segmentation and shape", CVPR 2005; the likelihood, the search and the use of a detector's boxes
/// are vcap's own. Thread-safe.
class VCAP_EXPORT SilhouetteFit {
 public:
  /// Throws InvalidArgument that names the setting, its value and what is allowed.
  explicit SilhouetteFit(SilhouetteSettings settings = {});

  /// The people in the mask, blob by blob. `blobs` are the parts of the picture that are searched
  /// (moving_blobs()). `boxes` are what a detector found; it may be empty. Each box supports one
  /// person. Throws InvalidArgument if the height model is not ready or the foreground's scale is
  /// below 1. A mask without pixels has no people.
  std::vector<FittedPerson> fit(const Foreground& foreground, std::span<const cv::Rect> blobs,
                                const HeightModel& heights,
                                std::span<const PersonBox> boxes = {}) const;

  /// How well the best of the boxes fits the silhouette, in 0…1: its score, times a factor that
  /// rises from 0 at an IoU of 0.3 to 1 at 0.65.
  double evidence(const Silhouette& silhouette, std::span<const PersonBox> boxes) const;

  /// The confidence that the person is there, in 0…1, from evidence and gain.
  double score(const FittedPerson& person) const noexcept;

  /// A part of the picture in which the other people are painted over with the background, so that
  /// a detector sees only `people[index]`. `crop` may reach beyond the picture and is black there.
  /// `background` is a BackgroundModel's, `scale` its scale. Throws InvalidArgument for an index
  /// out of range, an empty crop, or a picture or background that is not 8-bit BGR.
  cv::Mat isolated(const cv::Mat& picture, const cv::Mat& background, int scale,
                   std::span<const FittedPerson> people, std::size_t index,
                   const cv::Rect& crop) const;

 private:
  SilhouetteSettings settings_;
};

}  // namespace vcap
