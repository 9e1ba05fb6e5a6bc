// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/buffer.h>
}

#include <memory>
#include <string>

namespace vcap {

/// A device of this machine that decodes video, as AVCodecContext::hw_device_ctx takes it.
struct AvHardware {
  struct Free {
    void operator()(AVBufferRef* reference) const noexcept { av_buffer_unref(&reference); }
  };

  std::unique_ptr<AVBufferRef, Free> device{};  ///< null if no device opened
  std::string name{};                           ///< such as "vaapi"
  std::string why_not{};                        ///< why there is no device
};

/// Opens the first device that works, of those that the decoder can use.
AvHardware open_hardware(const AVCodec& codec);

}  // namespace vcap
