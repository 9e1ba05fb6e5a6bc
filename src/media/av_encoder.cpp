// SPDX-License-Identifier: Apache-2.0
#include "media/av_encoder.hpp"

#include <algorithm>
#include <map>
#include <new>
#include <string>
#include <utility>

#include "base/cores.hpp"
#include "base/text.hpp"
#include "media/av_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// Two halve the time that a frame waits for its encoder. More would only take cores from capsules.
constexpr int kMostThreads = 2;
/// A reader that jumps into the clip decodes at most that many pictures before its own.
constexpr int kMostPicturesOfAGroup = 250;
/// MPEG-4 has no finer times.
constexpr int kFinestRate = 65535;

AVPixelFormat form_of(VideoCodec codec) {
  return codec == VideoCodec::mjpeg ? AV_PIX_FMT_YUVJ420P : AV_PIX_FMT_YUV420P;
}

/// Options of the encoders that look at no later pictures, and take a few milliseconds for one.
std::map<std::string, std::string> options_of(const ClipFormat& format, int threads) {
  const std::string quality = std::to_string(format.quality);
  switch (format.codec) {
    case VideoCodec::h264:
      // Whole pictures in parallel: threads on slices of one gain less.
      return {{"preset", "superfast"},
              {"tune", "zerolatency"},
              {"x264-params", "sliced-threads=0"},
              {"forced-idr", "1"},
              {"crf", quality}};
    case VideoCodec::h265:
      // libx265 writes its log to standard error, past libav's.
      return {{"preset", "superfast"},
              {"tune", "zerolatency"},
              {"x265-params",
               "log-level=none:pools=" + (threads > 1 ? std::to_string(threads) : "none")},
              {"forced-idr", "1"},
              {"crf", quality}};
    case VideoCodec::vp9:
      return {{"deadline", "realtime"}, {"cpu-used", "8"}, {"lag-in-frames", "0"},
              {"row-mt", "1"},          {"b", "0"},        {"crf", quality}};
    case VideoCodec::av1:
      return {{"usage", "realtime"}, {"cpu-used", "8"}, {"lag-in-frames", "0"},
              {"row-mt", "1"},       {"b", "0"},        {"crf", quality}};
    default:
      return {};  // a quantizer, see the constructor
  }
}

}  // namespace

AvEncoder::AvEncoder(ClipFormat format, cv::Size picture, double frames_per_second,
                     bool global_header)
    : format_(std::move(format)),
      converter_(picture, form_of(format_.codec)),
      codec_(avcodec_alloc_context3(format_.encoder)),
      frame_(av_frame_alloc()) {
  if (!codec_ || !frame_) throw std::bad_alloc();
  const bool is_full_range = format_.codec == VideoCodec::mjpeg;
  codec_->width = converter_.size().width;
  codec_->height = converter_.size().height;
  codec_->pix_fmt = form_of(format_.codec);
  // BT.601 at every size: readers that ignore the matrix a clip declares, such as OpenCV, assume
  // it.
  codec_->colorspace = is_full_range ? AVCOL_SPC_BT470BG : AVCOL_SPC_SMPTE170M;
  codec_->color_range = is_full_range ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
  // Encoders get numbers in place of times: some have coarse times, or none beyond a day.
  codec_->framerate = av_d2q(frames_per_second, kFinestRate);
  codec_->time_base = av_inv_q(codec_->framerate);
  codec_->gop_size = kMostPicturesOfAGroup;
  codec_->max_b_frames = 0;
  codec_->thread_count = std::min(kMostThreads, static_cast<int>(cores()));
  if (global_header) codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  if (format_.codec == VideoCodec::mpeg4 || format_.codec == VideoCodec::mjpeg) {
    codec_->flags |= AV_CODEC_FLAG_QSCALE;
    codec_->global_quality = format_.quality * FF_QP2LAMBDA;
  }
  AVDictionary* options = nullptr;
  for (const auto& [name, value] : options_of(format_, codec_->thread_count))
    av_dict_set(&options, name.c_str(), value.c_str(), 0);
  const int opened = avcodec_open2(codec_.get(), format_.encoder, &options);
  av_dict_free(&options);
  if (opened < 0)
    throw OutputError(ErrorCode::output_write,
                      format_.output + " cannot be encoded: " + format_.encoder->name +
                          " does not take " + std::to_string(codec_->width) + " × " +
                          std::to_string(codec_->height) + " pixels at " +
                          number_text(frames_per_second) + " frames per second (" +
                          av_error_text(opened) + "); choose another codec");
  frame_->format = codec_->pix_fmt;
  frame_->width = codec_->width;
  frame_->height = codec_->height;
  frame_->colorspace = codec_->colorspace;
  frame_->color_range = codec_->color_range;
  frame_->quality = codec_->global_quality;
  check(av_frame_get_buffer(frame_.get(), 0));
}

void AvEncoder::check(int result) const {
  if (result == AVERROR(ENOMEM)) throw std::bad_alloc();
  if (result < 0)
    throw OutputError(ErrorCode::output_write,
                      format_.output + " cannot be encoded further: " + format_.encoder->name +
                          " failed with " + av_error_text(result));
}

void AvEncoder::send(const cv::Mat& picture, bool key) {
  check(av_frame_make_writable(frame_.get()));  // the encoder may still read the last picture
  converter_.convert(picture, *frame_);
  frame_->pts = pictures_++;
  frame_->pict_type = key ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE;
  check(avcodec_send_frame(codec_.get(), frame_.get()));
}

void AvEncoder::end() { check(avcodec_send_frame(codec_.get(), nullptr)); }

bool AvEncoder::receive(AVPacket& packet) {
  const int got = avcodec_receive_packet(codec_.get(), &packet);
  if (got == AVERROR(EAGAIN) || got == AVERROR_EOF) return false;
  check(got);
  return true;
}

}  // namespace vcap
