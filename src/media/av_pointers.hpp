// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
}

#include <memory>

namespace vcap {

struct FreeAvCodec {
  void operator()(AVCodecContext* context) const noexcept { avcodec_free_context(&context); }
};
struct FreeAvPacket {
  void operator()(AVPacket* packet) const noexcept { av_packet_free(&packet); }
};
struct FreeAvFrame {
  void operator()(AVFrame* frame) const noexcept { av_frame_free(&frame); }
};

using AvCodecPointer = std::unique_ptr<AVCodecContext, FreeAvCodec>;
using AvPacketPointer = std::unique_ptr<AVPacket, FreeAvPacket>;
using AvFramePointer = std::unique_ptr<AVFrame, FreeAvFrame>;

}  // namespace vcap
