// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/base/export.hpp"
#include "vcap/image/background_model.hpp"
#include "vcap/image/height_model.hpp"
#include "vcap/image/silhouette_fit.hpp"

namespace vcap {

/// What counts as a blob. In pixels of the picture. Thread safety: value.
struct BlobSettings {
  int open = 4;           ///< thinner parts are noise; exact to a pixel of the mask
  cv::Size close{2, 10};  ///< gaps up to this are closed, as at legs and heads
  int min_height = 18;    ///< of the box around it
  int min_area = 60;      ///< of its pixels
};

/// The boxes around the connected parts of a mask, in pixels of the picture; the largest first, of
/// equal ones the upper, then the left one. Thread-safe.
VCAP_EXPORT std::vector<cv::Rect> moving_blobs(const Foreground& foreground,
                                               const BlobSettings& settings = {});

/// How crops lie around blobs. Thread safety: value.
struct CropSettings {
  double side = 2;             ///< of a crop, in heights of a person
  int min_side = 72;           ///< in pixels: networks find nothing in smaller crops
  double max_side = 5.0 / 9;   ///< as a share of the picture's height
  double step = 0.5;           ///< between crops of one blob, as a share of the side
  std::size_t max_crops = 64;  ///< of a picture, for the first blobs
};

/// Square crops around the blobs, each about two persons high, which suits detectors. A large blob
/// has several. A crop is left out if it lies well within an earlier one of about the same size.
/// Crops may reach beyond the picture (crop_padded()). A height model that is not ready takes each
/// blob for one person. Throws InvalidArgument if side, min_side or max_side is not positive, or if
/// step is not within 0.05 to 1. Thread-safe.
VCAP_EXPORT std::vector<cv::Rect> crops_around(std::span<const cv::Rect> blobs,
                                               const HeightModel& heights, cv::Size picture,
                                               const CropSettings& settings = {});
/// The crop around one person.
VCAP_EXPORT cv::Rect crop_around(const Silhouette& silhouette, const CropSettings& settings = {});

/// A part of the picture: a view if it lies within, else a copy that is black beyond the picture.
/// Throws InvalidArgument if the picture or the rectangle is empty. Thread-safe.
VCAP_EXPORT cv::Mat crop_padded(const cv::Mat& picture, const cv::Rect& rect);

/// Adds to `heights` the people who are alone in a blob and detected with confidence. A box counts
/// if its score is above `min_score`, its IoU with the blob is above 0.6, and the blob is not at
/// the border of the picture. Feet and height are those of the mask in the blob, which are more
/// exact than the box. Returns how many it added. Thread-safe for different models.
VCAP_EXPORT std::size_t learn_heights(HeightModel& heights, const Foreground& foreground,
                                      std::span<const cv::Rect> blobs,
                                      std::span<const PersonBox> boxes, double min_score = 0.7);

/// Joins boxes of the same person. It takes them by falling score; each becomes the mean, weighted
/// by score, of all boxes that overlap it by more than `max_overlap` (IoU) and are not joined yet.
/// It keeps its score. Source: the blending of V. Bazarevsky et al., "BlazeFace: Sub-millisecond
/// Neural Face Detection on Mobile GPUs", CVPR workshop 2019. Thread-safe.
VCAP_EXPORT std::vector<PersonBox> join_boxes(std::vector<PersonBox> boxes, double max_overlap);

}  // namespace vcap
