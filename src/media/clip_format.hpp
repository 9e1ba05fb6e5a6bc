// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
}

#include <filesystem>
#include <string>
#include <string_view>

#include "vcap/media/video_encoding.hpp"

namespace vcap {

/// Container, codec and quality of a clip, which fit together. Thread safety: value.
struct ClipFormat {
  std::string output{};              ///< for messages, such as "output clip.mp4"
  const char* container = nullptr;   ///< libavformat's name of the muxer
  bool fixed_rate = false;           ///< the container has a frame rate in place of times
  VideoCodec codec{};                ///< not `automatic`
  const AVCodec* encoder = nullptr;  ///< not null
  int quality = 0;
};

/// Checks all that can be known before the first picture. Throws OutputError (output_open) if the
/// extension is unknown or this FFmpeg lacks the encoder, and InvalidArgument if codec or quality
/// are not allowed. Thread-safe.
ClipFormat clip_format(const std::filesystem::path& path, const VideoEncoding& encoding);

/// The encoder of that name. Throws OutputError (output_open) if this FFmpeg lacks it.
/// `output`, `codec`: for the message. Thread-safe.
const AVCodec& find_encoder(const char* name, const std::string& output, std::string_view codec);

}  // namespace vcap
