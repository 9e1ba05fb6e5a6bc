// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "vcap/base/export.hpp"

namespace vcap {

/// What a clip's pictures are compressed with. The extension of the clip's file limits the choice:
/// .mp4 takes all but `mjpeg`, .mkv takes all, .avi takes `mpeg4` and `mjpeg`.
enum class VideoCodec {
  automatic,  ///< `h264`; in .avi `mjpeg`
  h264,       ///< H.264 by libx264
  h265,       ///< H.265 by libx265: smaller, and several times the work
  vp9,        ///< VP9 by libvpx
  av1,        ///< AV1 by libaom: the smallest, and the most work
  mpeg4,      ///< MPEG-4 part 2: the least work
  mjpeg       ///< Motion JPEG: the largest; each picture is a keyframe
};

/// The name of the enumerator. Thread-safe.
VCAP_EXPORT std::string_view to_string(VideoCodec codec) noexcept;

/// The codec of that name. Throws InvalidArgument, which lists the names. Thread-safe.
VCAP_EXPORT VideoCodec video_codec(std::string_view name);

/// How a clip is compressed. Thread safety: value.
struct VideoEncoding {
  VideoCodec codec = VideoCodec::automatic;
  /// Constant quality: pictures of any content look equally good, and take as many bytes as they
  /// need. A lower number gives better pictures and a larger file. `nullopt`: the codec's default.
  ///
  /// | codec | range | default | |
  /// |---|---|---|---|
  /// | h264 | 0 to 51 | 23 | constant rate factor of libx264; 0 is lossless |
  /// | h265 | 0 to 51 | 28 | constant rate factor of libx265 |
  /// | vp9 | 0 to 63 | 32 | constrained quality level of libvpx |
  /// | av1 | 0 to 63 | 35 | constrained quality level of libaom |
  /// | mpeg4, mjpeg | 1 to 31 | 4 | quantizer |
  std::optional<int> quality{};
};

}  // namespace vcap
