// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "vcap/image/draw_nodes.hpp"
#include "vcap/model/detection_node.hpp"

namespace vcap {

/// The text of a node's label under these options, line by line, in printable ASCII.
std::vector<std::string> label_lines(const DetectionNode& node, const DrawOptions& options);

/// Writes the lines on a patch of the colour at a box, as draw_nodes() describes; nothing if the
/// box is outside the image.
void draw_label(cv::Mat& image, std::vector<std::string> lines, cv::Rect box,
                const cv::Scalar& color, double scale);

}  // namespace vcap
