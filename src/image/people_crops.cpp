// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/people_crops.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <opencv2/imgproc.hpp>

#include "base/text.hpp"
#include "image/frame_check.hpp"
#include "image/overlap.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// Sides of crops are multiples of this, so that people of about one size have crops of one size.
constexpr int kSideUnit = 8;
// How crops lie along an axis of a large blob, in sides of a crop.
struct CropAxis {
  double one;      // a blob up to this has one crop
  double covered;  // of the blob that the two outermost crops cover by themselves
  double margin;   // from an end of the blob to the centre of the outermost crop
  double reach;    // how far from its centre a crop covers the blob
};
constexpr CropAxis kColumns{.one = 0.5, .covered = 0.35, .margin = 0.2, .reach = 0.25};
constexpr CropAxis kRows{.one = 0.7, .covered = 0.6, .margin = 0.3, .reach = 0.35};
// A crop is left out if an earlier one of about its size shows its part of the blob well inside.
constexpr double kLikeFrom = 0.72, kLikeTo = 1.38, kInside = 0.12;

constexpr double kAlone = 0.6;  ///< IoU of a box and a blob that is one person
constexpr int kBorder = 4;  ///< picture pixels from the border: the person may continue beyond it
constexpr int kRowPixels = 3;  ///< picture pixels of the mask that a row of a person has at least

void require_crops(bool is_allowed, const std::string& what) {
  if (!is_allowed) throw InvalidArgument(ErrorCode::invalid_argument, "crops of people: " + what);
}

void check(const CropSettings& settings) {
  require_crops(std::isfinite(settings.side) && settings.side > 0,
                "side " + number_text(settings.side) + " is not a number above 0");
  require_crops(settings.min_side >= 1,
                "min_side " + std::to_string(settings.min_side) + " is not 1 or more");
  require_crops(std::isfinite(settings.max_side) && settings.max_side > 0,
                "max_side " + number_text(settings.max_side) + " is not a number above 0");
  require_crops(settings.step >= 0.05 && settings.step <= 1,
                "step " + number_text(settings.step) + " is not within 0.05 to 1");
}

int side_of(double height, const CropSettings& settings) {
  return kSideUnit * static_cast<int>(std::nearbyint(settings.side * height / kSideUnit));
}

cv::Rect square(double x, double y, int side) {
  return {static_cast<int>(std::nearbyint(x - side / 2.0)),
          static_cast<int>(std::nearbyint(y - side / 2.0)), side, side};
}

/// The centre of a crop along one axis, and the part of the blob that it covers.
struct BlobPart {
  double centre, from, to;
};

std::vector<BlobPart> spans(double begin, double length, int side, const CropAxis& axis,
                            double step) {
  const double end = begin + length;
  const int count = static_cast<int>(std::ceil((length - axis.covered * side) / (step * side)));
  if (length <= axis.one * side || count <= 1) return {{begin + length / 2, begin, end}};
  std::vector<BlobPart> result;
  for (int i = 0; i < count; ++i) {
    const double centre =
        begin + axis.margin * side + (length - 2 * axis.margin * side) * i / (count - 1);
    result.push_back({centre, std::max(begin, centre - axis.reach * side),
                      std::min(end, centre + axis.reach * side)});
  }
  return result;
}

/// Whether a crop shows the part well inside.
bool shows(const cv::Rect& crop, int side, const BlobPart& columns, const BlobPart& rows) {
  const double margin = kInside * crop.width;
  return side >= kLikeFrom * crop.width && side <= kLikeTo * crop.width &&
         columns.from >= crop.x + margin && columns.to <= crop.x + crop.width - margin &&
         rows.from >= crop.y + margin && rows.to <= crop.y + crop.height - margin;
}

/// Erodes and dilates, or dilates and erodes, by a rectangle. The mask does not shift, even if a
/// side is even: the second step uses the reflected element of the first.
void open_or_close(cv::Mat& mask, cv::Size size, cv::MorphTypes first) {
  size = {std::max(1, size.width), std::max(1, size.height)};
  const cv::Mat element = cv::getStructuringElement(cv::MORPH_RECT, size);
  const cv::Point anchor(size.width / 2, size.height / 2);
  cv::Mat between;
  cv::morphologyEx(mask, between, first, element, anchor);
  mask.release();  // the caller's pixels must not change
  cv::morphologyEx(between, mask, first == cv::MORPH_ERODE ? cv::MORPH_DILATE : cv::MORPH_ERODE,
                   element, cv::Point(size) - cv::Point(1, 1) - anchor);
}

/// Feet and height of the only person in a blob.
std::optional<cv::Point2d> measure(const Foreground& foreground, const cv::Rect& blob) {
  const int scale = foreground.scale;
  const cv::Rect part =
      cv::Rect(blob.tl() / scale, blob.size() / scale) & cv::Rect({}, foreground.mask.size());
  std::optional<int> first, last;
  for (int y = 0; y < part.height; ++y) {
    if (cv::countNonZero(foreground.mask(cv::Rect(part.x, part.y + y, part.width, 1))) * scale <
        kRowPixels)
      continue;
    if (!first) first = y;
    last = y;
  }
  if (!first) return std::nullopt;
  return cv::Point2d(scale * (part.y + *last + 1.0), scale * (*last + 1.0 - *first));
}

}  // namespace

std::vector<cv::Rect> moving_blobs(const Foreground& foreground, const BlobSettings& settings) {
  const int scale = foreground.scale;
  require_crops(scale >= 1,
                "the foreground's scale " + std::to_string(scale) + " is not 1 or more");
  if (foreground.mask.empty()) return {};
  cv::Mat mask = foreground.mask;
  open_or_close(mask, cv::Size(settings.open, settings.open) / scale, cv::MORPH_ERODE);
  open_or_close(mask, settings.close / scale, cv::MORPH_DILATE);
  cv::Mat1i labels, stats;
  cv::Mat1d centres;
  const int count = cv::connectedComponentsWithStats(mask, labels, stats, centres, 8);
  std::vector<cv::Rect> blobs;
  for (int i = 1; i < count; ++i) {  // 0 is the background
    const cv::Rect box(scale * stats(i, cv::CC_STAT_LEFT), scale * stats(i, cv::CC_STAT_TOP),
                       scale * stats(i, cv::CC_STAT_WIDTH), scale * stats(i, cv::CC_STAT_HEIGHT));
    if (box.height >= settings.min_height &&
        stats(i, cv::CC_STAT_AREA) * scale * scale >= settings.min_area)
      blobs.push_back(box);
  }
  std::ranges::sort(blobs, {},
                    [](const cv::Rect& box) { return std::tuple(-box.area(), box.y, box.x); });
  return blobs;
}

std::vector<cv::Rect> crops_around(std::span<const cv::Rect> blobs, const HeightModel& heights,
                                   cv::Size picture, const CropSettings& settings) {
  check(settings);
  const int most =
      std::max(settings.min_side, static_cast<int>(settings.max_side * picture.height));
  std::vector<cv::Rect> crops;
  for (const cv::Rect& blob : blobs) {
    const double height = heights.is_ready() ? heights.height_at(blob.br().y) : blob.height;
    const int side = std::clamp(side_of(height, settings), settings.min_side, most);
    const auto columns = spans(blob.x, blob.width, side, kColumns, settings.step);
    const auto rows = spans(blob.y, blob.height, side, kRows, settings.step);
    for (const BlobPart& row : rows)
      for (const BlobPart& column : columns) {
        if (crops.size() >= settings.max_crops) return crops;
        if (std::ranges::none_of(
                crops, [&](const cv::Rect& crop) { return shows(crop, side, column, row); }))
          crops.push_back(square(column.centre, row.centre, side));
      }
  }
  return crops;
}

cv::Rect crop_around(const Silhouette& silhouette, const CropSettings& settings) {
  check(settings);
  return square(silhouette.x, silhouette.feet - silhouette.height / 2,
                std::max(kSideUnit, side_of(silhouette.height, settings)));
}

cv::Mat crop_padded(const cv::Mat& picture, const cv::Rect& rect) {
  check_frame(picture, "crop");
  check_size(rect.size(), "crop");
  const cv::Rect inside = rect & cv::Rect({}, picture.size());
  if (inside == rect) return picture(rect);
  cv::Mat padded(rect.size(), picture.type(), cv::Scalar());
  if (!inside.empty()) picture(inside).copyTo(padded(inside - rect.tl()));
  return padded;
}

std::size_t learn_heights(HeightModel& heights, const Foreground& foreground,
                          std::span<const cv::Rect> blobs, std::span<const PersonBox> boxes,
                          double min_score) {
  const cv::Size picture = foreground.mask.size() * foreground.scale;
  std::size_t count = 0;
  for (const cv::Rect& blob : blobs) {
    if (blob.x <= kBorder || blob.y <= kBorder || blob.br().x >= picture.width - kBorder ||
        blob.br().y >= picture.height - kBorder)
      continue;
    const BoundingBox around{double(blob.x), double(blob.y), double(blob.br().x),
                             double(blob.br().y)};
    const bool is_person = std::ranges::any_of(boxes, [&](const PersonBox& person) {
      return person.score > min_score && overlap(person.box, around) > kAlone;
    });
    const auto sample = is_person ? measure(foreground, blob) : std::nullopt;
    if (!sample) continue;
    heights.add(sample->x, sample->y);
    ++count;
  }
  return count;
}

std::vector<PersonBox> join_boxes(std::vector<PersonBox> boxes, double max_overlap) {
  require_crops(max_overlap >= 0 && max_overlap <= 1,
                "max_overlap " + number_text(max_overlap) + " is not within 0 to 1");
  std::ranges::stable_sort(boxes, std::ranges::greater{}, &PersonBox::score);
  std::vector<bool> is_taken(boxes.size());
  std::vector<PersonBox> joined;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (is_taken[i]) continue;
    BoundingBox sum;
    double weights = 0;
    for (std::size_t j = i; j < boxes.size(); ++j) {
      if (j != i && (is_taken[j] || !(overlap(boxes[i].box, boxes[j].box) > max_overlap))) continue;
      is_taken[j] = true;
      const double weight = boxes[j].score;
      const BoundingBox& box = boxes[j].box;
      weights += weight;
      sum.x1 += weight * box.x1, sum.y1 += weight * box.y1;
      sum.x2 += weight * box.x2, sum.y2 += weight * box.y2;
    }
    const auto mean = [weights](double value) { return value / weights; };
    joined.push_back({weights > 0
                          ? BoundingBox{mean(sum.x1), mean(sum.y1), mean(sum.x2), mean(sum.y2)}
                          : boxes[i].box,
                      boxes[i].score});
  }
  return joined;
}

}  // namespace vcap
