// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <vector>

#include "support/clip_writer.hpp"

namespace vcap::test {

/// A form of clip: its container, codec and order of pictures.
struct Form {
  const char* name;
  const char* file;
  bool is_indexed;  ///< the places of its pictures are known without decoding
  ClipPlan plan;
};

inline std::ostream& operator<<(std::ostream& out, const Form& form) { return out << form.name; }

inline std::vector<Form> clip_forms() {
  return {{"ClosedGroups", "clip.mp4", true, {.options = b_frames(false)}},
          {"OpenGroups", "clip.mp4", true, {.options = b_frames(true)}},
          {"OpenGroupsInMatroska", "clip.mkv", true, {.options = b_frames(true)}},
          {"OpenGroupsInATransportStream", "clip.ts", true, {.options = b_frames(true)}},
          {"WithoutTimes", "clip.h264", false, {.options = b_frames(false)}},
          {"GradualRefresh",
           "clip.mp4",
           true,
           {.options = {{"x264-params", "keyint=17:intra-refresh=1:bframes=0:threads=1"}}}},
          {"Mpeg4WithBFrames",
           "clip.avi",
           false,
           {.encoder = "mpeg4", .options = {{"bf", "2"}, {"g", "13"}}}},
          {"Mpeg2InATransportStream",
           "clip.ts",
           true,
           {.encoder = "mpeg2video", .options = {{"bf", "2"}, {"g", "13"}}}},
          {"MotionJpegOfFullRange",
           "clip.avi",
           true,
           {.encoder = "mjpeg", .frames = 20, .form = AV_PIX_FMT_YUVJ420P}},
          {"WidthOfNoMultiple",
           "clip.mkv",
           true,
           {.encoder = "mjpeg", .size = {150, 86}, .frames = 5, .form = AV_PIX_FMT_YUVJ420P}}};
}

}  // namespace vcap::test
