// SPDX-License-Identifier: Apache-2.0
#include "media/bgr_converter.hpp"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace vcap {
namespace {

/// swscale's fast paths omit the last pixels of a line unless its width is a multiple of this.
constexpr int kLinePixels = 64;

bool is_yuv(const AVFrame& frame) {
  const AVPixFmtDescriptor* form = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  return form && (form->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) == 0 &&
         form->nb_components >= 3;
}

/// Sets the picture's matrix and range in place of swscale's defaults.
void set_colours(SwsContext& context, const AVFrame& frame) {
  int* matrix = nullptr;
  int* out_matrix = nullptr;
  int full = 0;
  int out_full = 0;
  int brightness = 0;
  int contrast = 0;
  int saturation = 0;
  // The defaults take full range from the pixel format (yuvj420p), but not from the picture.
  if (sws_getColorspaceDetails(&context, &matrix, &full, &out_matrix, &out_full, &brightness,
                               &contrast, &saturation) < 0)
    return;
  if (frame.color_range == AVCOL_RANGE_JPEG) full = 1;
  sws_setColorspaceDetails(&context, sws_getCoefficients(frame.colorspace), full, out_matrix,
                           out_full, brightness, contrast, saturation);
}

}  // namespace

bool BgrConverter::prepare(const AVFrame& frame) {
  const Form form{frame.width, frame.height, frame.format, frame.colorspace, frame.color_range};
  if (context_ && form == form_) return true;
  context_.reset(sws_getContext(frame.width, frame.height, static_cast<AVPixelFormat>(frame.format),
                                frame.width, frame.height, AV_PIX_FMT_BGR24, SWS_BICUBIC, nullptr,
                                nullptr, nullptr));
  if (!context_) return false;
  if (is_yuv(frame)) set_colours(*context_, frame);
  form_ = form;
  return true;
}

cv::Mat BgrConverter::convert(const AVFrame& frame) {
  if (frame.width <= 0 || frame.height <= 0 || !prepare(frame)) return {};
  const int width = (frame.width + kLinePixels - 1) / kLinePixels * kLinePixels;
  cv::Mat image;
  cv::Mat& target = width == frame.width ? image : wide_;
  target.create(frame.height, width, CV_8UC3);
  std::uint8_t* const lines[] = {target.data, nullptr, nullptr, nullptr};
  const int steps[] = {static_cast<int>(target.step), 0, 0, 0};
  if (sws_scale(context_.get(), frame.data, frame.linesize, 0, frame.height, lines, steps) <= 0)
    return {};
  return width == frame.width ? image : wide_.colRange(0, frame.width).clone();
}

}  // namespace vcap
