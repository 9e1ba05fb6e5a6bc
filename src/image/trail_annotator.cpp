// SPDX-License-Identifier: Apache-2.0
#include "vcap/image/trail_annotator.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <opencv2/imgproc.hpp>

#include "base/text.hpp"
#include "image/drawing.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using std::chrono::nanoseconds;

void check_at_least(std::size_t value, std::size_t least, const std::string& setting) {
  if (value < least)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "TrailAnnotator: " + setting + " is " + std::to_string(value) +
                              "; give at least " + std::to_string(least));
}

}  // namespace

/// The trails by their tracks.
class TrailAnnotator::Trails {
 public:
  struct Point {
    cv::Point at;
    nanoseconds when;
  };
  struct Trail {
    std::deque<Point> points;
    cv::Scalar color;
  };

  void clear() {
    trails_.clear();
    last_.reset();
  }
  std::size_t size() const noexcept { return trails_.size(); }

  void draw(cv::Mat& image, nanoseconds now, nanoseconds length, int width) const {
    for (const auto& [track, trail] : trails_)
      for (std::size_t i = 1; i < trail.points.size(); ++i) {
        const double age = double((now - trail.points[i].when).count()) / double(length.count());
        const int thickness = std::max(1, static_cast<int>(std::lround(width * (1 - age))));
        cv::line(image, trail.points[i - 1].at, trail.points[i].at, trail.color, thickness,
                 cv::LINE_AA);
      }
  }

  /// Forgets what is older than `length`, and everything if the time has gone back.
  void begin_frame(nanoseconds now, nanoseconds length) {
    if (last_ && now < *last_) trails_.clear();
    last_ = now;
    for (auto trail = trails_.begin(); trail != trails_.end();) {
      std::deque<Point>& points = trail->second.points;
      while (!points.empty() && now - points.front().when > length) points.pop_front();
      trail = points.empty() ? trails_.erase(trail) : std::next(trail);
    }
  }

  void add(const Uuid& track, Point point, const cv::Scalar& color, std::size_t max_points) {
    Trail& trail = trails_[track];
    trail.color = color;
    trail.points.push_back(point);
    if (trail.points.size() > max_points) trail.points.pop_front();
  }

  /// Keeps the tracks that were seen last.
  void keep(std::size_t tracks) {
    if (trails_.size() <= tracks) return;
    std::vector<std::pair<nanoseconds, Uuid>> by_time;
    for (const auto& [track, trail] : trails_)
      by_time.emplace_back(trail.points.back().when, track);
    std::ranges::sort(by_time);
    by_time.resize(by_time.size() - tracks);
    for (const auto& [when, track] : by_time) trails_.erase(track);
  }

 private:
  std::map<Uuid, Trail> trails_;
  std::optional<nanoseconds> last_;
};

TrailAnnotator::TrailAnnotator(TrailSettings settings)
    : settings_(std::move(settings)), trails_(std::make_unique<Trails>()) {
  check_style(settings_.style, "TrailAnnotator");
  if (settings_.length.count() <= 0)
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "TrailAnnotator: the length is " +
                              std::to_string(settings_.length.count()) + " ns; it must be > 0");
  check_at_least(settings_.max_tracks, 1, "max_tracks");
  check_at_least(settings_.max_points, 2, "max_points");
}

TrailAnnotator::~TrailAnnotator() = default;

std::size_t TrailAnnotator::tracks() const noexcept { return trails_->size(); }

void TrailAnnotator::reset() { trails_->clear(); }

void TrailAnnotator::draw(cv::Mat& image, std::span<const DetectionNode> nodes,
                          const Frame& frame) {
  if (frame.discontinuity != Discontinuity::none) trails_->clear();
  trails_->begin_frame(frame.pts, settings_.length);
  visit(nodes, settings_.style, [&](const DetectionNode& node) {
    if (!node.track_id) return;
    trails_->add(*node.track_id, {pixel(anchor_of(node.bbox(), settings_.anchor)), frame.pts},
                 color_of(node, settings_.style.color_by), settings_.max_points);
  });
  trails_->keep(settings_.max_tracks);
  const int width = 2 * line_width(scale_for(settings_.style, image.size()));
  trails_->draw(image, frame.pts, settings_.length, width);
}

}  // namespace vcap
