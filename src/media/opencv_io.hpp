// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <opencv2/core/mat.hpp>

#include "media/webcam_device.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// Still images and webcams through OpenCV's imgcodecs and videoio.
///
/// These two bring some 100 further libraries into a process, such as GDAL and GStreamer. So they
/// are linked by a library of their own, libvcap_opencv_io, which is loaded when it is first used.
/// Thread safety: thread-safe.
class VCAP_EXPORT OpenCvIo {
 public:
  OpenCvIo() = default;
  OpenCvIo(const OpenCvIo&) = delete;
  OpenCvIo& operator=(const OpenCvIo&) = delete;
  virtual ~OpenCvIo();

  /// The image converted to 8-bit BGR and turned as its EXIF orientation says. Empty if it is
  /// broken or of an unknown format. Throws cv::Exception.
  virtual cv::Mat read_image(const std::filesystem::path& file) const = 0;
  /// The same for the bytes of a file.
  virtual cv::Mat decode_image(std::span<const unsigned char> bytes) const = 0;
  /// The image as a file of the extension, ".jpg" or ".png". `quality`: of JPEG, 1 to 100. Throws
  /// OutputError (output_write).
  virtual std::vector<unsigned char> encode_image(const cv::Mat& image,
                                                  const std::string& extension,
                                                  int quality) const = 0;
  /// By Video4Linux. Null if it cannot be opened.
  virtual std::unique_ptr<WebcamDevice> open_webcam(int index) const = 0;
};

/// Loads libvcap_opencv_io the first time. Throws SourceError (source_open) if it cannot be loaded.
/// Thread-safe.
VCAP_EXPORT const OpenCvIo& opencv_io();

}  // namespace vcap
