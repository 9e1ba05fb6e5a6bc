// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/image/annotator_style.hpp"
#include "vcap/model/bounding_box.hpp"
#include "vcap/model/detection_node.hpp"

namespace vcap {

/// Throws InvalidArgument if the style's scale is out of range. `who` begins the message.
void check_style(const AnnotatorStyle& style, std::string_view who);
/// Throws InvalidArgument if the value is not within low…high, or is NaN.
void check_setting(double value, double low, double high, std::string_view who,
                   std::string_view setting);
/// Throws InvalidArgument if the image is empty or not 8-bit BGR.
void check_canvas(const cv::Mat& image, std::string_view who);

/// The style's scale, or the one that suits the image.
double scale_for(const AnnotatorStyle& style, cv::Size image);
/// The thickness of outlines at this scale, in pixels.
int line_width(double scale);

/// A coordinate as a pixel. It is clamped to a distance that is far beyond any image, and within
/// the range of OpenCV's fixed-point numbers for drawing.
int pixel(double x);
cv::Point pixel(cv::Point2d point);
/// The pixels that the box touches, at least one.
cv::Rect pixels_of(const BoundingBox& box);
/// The pixels of the image that the box touches, made larger by that share of it on each side.
cv::Rect region_of(const BoundingBox& box, double margin, cv::Size image);

/// The regions without those that lie within others.
std::vector<cv::Rect> outer_regions(std::vector<cv::Rect> regions);

/// Draws a line with finite coordinates. Only what is within the image takes time.
void draw_line(cv::Mat& image, cv::Point2d from, cv::Point2d to, const cv::Scalar& color,
               int width);
/// Draws the outline of a polygon with finite coordinates. Only what is within the image takes
/// time.
void draw_outline(cv::Mat& image, const Coords& coords, const cv::Scalar& color, int width);
/// Fills a polygon with finite coordinates, which is clipped to the image first (I. E. Sutherland,
/// G. W. Hodgman, "Reentrant polygon clipping", CACM 17 (1), 1974): OpenCV takes time for every
/// line that it has beyond the image.
void fill_polygon(cv::Mat& image, const Coords& coords, const cv::Scalar& color);

/// Whether the node has coords, and all of them are finite.
bool is_drawable(const DetectionNode& node);
bool is_upright_box(const Coords& coords, const BoundingBox& box);
cv::Scalar color_of(const DetectionNode& node, ColorBy by);
cv::Point2d anchor_of(const BoundingBox& box, NodeAnchor anchor);

/// Mixes the layer into the image: `opacity` is the layer's share. Where both are the same, the
/// image stays as it is.
void mix(cv::Mat& image, const cv::Mat& layer, double opacity);

/// Visits the nodes that the style selects, parents before children, whatever their coords.
template <class Nodes, class Action>
void visit_all(const Nodes& nodes, const AnnotatorStyle& style, const Action& action) {
  for (const DetectionNode& node : nodes) {
    if (style.names.empty() || std::ranges::find(style.names, node.name) != style.names.end())
      action(node);
    if (style.children) visit_all(node.children, style, action);
  }
}

/// The same for nodes that can be drawn.
template <class Nodes, class Action>
void visit(const Nodes& nodes, const AnnotatorStyle& style, const Action& action) {
  visit_all(nodes, style, [&action](const DetectionNode& node) {
    if (is_drawable(node)) action(node);
  });
}

}  // namespace vcap
