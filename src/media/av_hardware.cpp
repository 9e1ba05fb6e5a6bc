// SPDX-License-Identifier: Apache-2.0
#include "media/av_hardware.hpp"

extern "C" {
#include <libavutil/dict.h>
#include <libavutil/error.h>
#include <libavutil/hwcontext.h>
}

namespace vcap {
namespace {

/// Null on failure; `failure` is then libav's error code.
AVBufferRef* open_device(AVHWDeviceType type, int& failure) {
  AVDictionary* options = nullptr;
  // Use the process's CUDA context, as capsules do. One more for each stream would take hundreds of
  // MB each. Other device types ignore the option.
  av_dict_set(&options, "primary_ctx", "1", 0);
  AVBufferRef* device = nullptr;
  failure = av_hwdevice_ctx_create(&device, type, nullptr, options, 0);
  av_dict_free(&options);
  return failure < 0 ? nullptr : device;
}

std::string reason_of(int failure) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  return av_strerror(failure, text, sizeof text) == 0 ? text : "error " + std::to_string(failure);
}

}  // namespace

AvHardware open_hardware(const AVCodec& codec) {
  AvHardware hardware;
  const AVCodecHWConfig* config = nullptr;
  for (int i = 0; (config = avcodec_get_hw_config(&codec, i)); ++i) {
    if ((config->methods & AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX) == 0) continue;
    const std::string name = av_hwdevice_get_type_name(config->device_type);
    int failure = 0;
    hardware.device.reset(open_device(config->device_type, failure));
    if (hardware.device) {
      hardware.name = name;
      hardware.why_not.clear();
      return hardware;
    }
    hardware.why_not += (hardware.why_not.empty() ? "" : ", ") + name + ": " + reason_of(failure);
  }
  if (hardware.why_not.empty())
    hardware.why_not = std::string("this FFmpeg's decoder ") + codec.name + " supports no hardware";
  return hardware;
}

}  // namespace vcap
