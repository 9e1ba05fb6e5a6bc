// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include <opencv2/core/mat.hpp>

#include "media/webcam_device.hpp"
#include "vcap/base/export.hpp"

namespace vcap {

/// An open clip that pictures are encoded into; closed when it is destroyed.
/// Thread safety: thread-compatible.
class VCAP_EXPORT ClipWriter {
 public:
  ClipWriter() = default;
  ClipWriter(const ClipWriter&) = delete;
  ClipWriter& operator=(const ClipWriter&) = delete;
  virtual ~ClipWriter();

  /// A picture of the clip's size, 8-bit BGR. Throws cv::Exception. Does not report write errors.
  virtual void write(const cv::Mat& picture) = 0;
};

/// Still images, webcams and clips through OpenCV's imgcodecs and videoio.
///
/// These two bring some 100 further libraries into a process, such as GDAL and GStreamer. So they
/// are linked by a library of their own, libvcap_opencv_io, which is loaded when it is first used.
/// Thread safety: thread-safe.
class VCAP_EXPORT OpenCvIo {
 public:
  enum class Codec { mpeg4, mjpeg };

  OpenCvIo() = default;
  OpenCvIo(const OpenCvIo&) = delete;
  OpenCvIo& operator=(const OpenCvIo&) = delete;
  virtual ~OpenCvIo();

  /// The image as 8-bit BGR, whatever the file holds, turned as its EXIF orientation says. Empty if
  /// it is broken or of an unknown format. Throws cv::Exception.
  virtual cv::Mat read_image(const std::filesystem::path& file) const = 0;
  /// By Video4Linux. Null if it cannot be opened.
  virtual std::unique_ptr<WebcamDevice> open_webcam(int index) const = 0;
  /// Through libav. Null if no such clip can be made.
  virtual std::unique_ptr<ClipWriter> open_clip(const std::filesystem::path& file, Codec codec,
                                                double frames_per_second, cv::Size size) const = 0;
  /// Whether the clip has that many frames, at least 1, and its last one can be decoded.
  virtual bool is_whole(const std::filesystem::path& clip, std::int64_t frames) const = 0;
};

/// Loads libvcap_opencv_io the first time. Throws SourceError (source_open) if it cannot be loaded.
/// Thread-safe.
const OpenCvIo& opencv_io();

}  // namespace vcap
