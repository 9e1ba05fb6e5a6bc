// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <opencv2/core/types.hpp>

#include "vcap/base/export.hpp"
#include "vcap/model/frame.hpp"

namespace vcap {

/// What is known of a source before its first frame. Thread safety: value.
struct SourceInfo {
  std::string description{};             ///< such as "file vtest.avi"
  cv::Size size{};                       ///< 0 × 0 where unknown
  double frames_per_second = 0;          ///< 0 where unknown
  std::optional<std::int64_t> frames{};  ///< absent where unknown or endless
  bool live = false;                     ///< it does not wait for its reader
};

/// Where a stream's frames come from. Hosts may derive their own.
///
/// Owned by one stream, which reads it from one thread of its own. Thread safety:
/// thread-compatible, interrupt() excepted, which may be called at any time.
class VCAP_EXPORT Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source();

  virtual SourceInfo info() const = 0;
  /// The next frame; nothing at the end. Index, pts and discontinuity are set; the first frame
  /// has `start`. Pixels of a frame once given are never written again. Throws SourceError.
  /// [source thread]
  virtual std::optional<Frame> read() = 0;
  /// Makes a read() that waits, and every later one, end soon. [any thread]
  virtual void interrupt() noexcept;
};

/// Opens what an operator names: a video or image file, a webcam's index ("0"), an rtsp/http(s)
/// URL, a folder of images, or a glob of them ("shots/*.png"), both in the natural order of their
/// names ("2" before "10"). Webcams and endless URLs are live: their end is an error, and where a
/// camera falls silent an interrupt takes up to 5 s. Throws SourceError (source_open) naming it and
/// the remedy; (source_empty) where it has no frame.
VCAP_EXPORT std::unique_ptr<Source> open_source(const std::string& name);

}  // namespace vcap
