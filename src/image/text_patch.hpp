// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <opencv2/core/mat.hpp>

namespace vcap {

/// The sizes of text at one scale, in pixels. Thread safety: value.
class TextStyle {
 public:
  explicit TextStyle(double scale);

  /// Of a line, with the patch's margins.
  int width(const std::string& line) const;
  /// Of a patch with these lines.
  cv::Size size(const std::vector<std::string>& lines) const;
  /// How many lines fit into this height.
  int lines_in(int height) const { return height / line_height_; }
  int line_height() const { return line_height_; }

  /// Shortens the line until it fits into the width; empty if not even the ".." fits.
  std::string fitted(std::string line, int width) const;

  /// Writes the lines on a patch of the colour, in black or white. The patch must be within the
  /// image.
  void draw(cv::Mat& image, const cv::Rect& patch, const std::vector<std::string>& lines,
            const cv::Scalar& color) const;

 private:
  double font_scale_;
  int thickness_, margin_;
  int ascent_ = 0, line_height_ = 0;
};

/// The text in printable ASCII, the only characters of OpenCV's fonts: one '?' for any other
/// character of UTF-8. Cut after more characters than an image shows.
std::string shown_text(const std::string& text);

}  // namespace vcap
