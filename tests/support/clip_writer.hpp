// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libavutil/opt.h>
}

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include <opencv2/core/types.hpp>

namespace vcap::test {

/// A clip that a test makes. Its pictures have detail, and each differs from the next.
struct ClipPlan {
  std::string encoder = "libx264";
  cv::Size size{160, 96};
  int frames = 60;
  int milliseconds = 40;                         ///< between two frames
  std::function<std::int64_t(int)> time{};       ///< of a frame, in ms; replaces `milliseconds`
  std::map<std::string, std::string> options{};  ///< of the encoder
  AVPixelFormat form = AV_PIX_FMT_YUV420P;
  AVColorSpace matrix = AVCOL_SPC_UNSPECIFIED;
  AVColorRange range = AVCOL_RANGE_UNSPECIFIED;
  double degrees = 0;  ///< of rotation when the clip is shown
};

/// x264 with B-frames, which are shown before a frame that they depend on, and a keyframe every 17.
inline std::map<std::string, std::string> b_frames(bool open_groups) {
  return {{"preset", "veryfast"},
          {"x264-params",
           "keyint=17:min-keyint=3:scenecut=0:bframes=3:b-pyramid=normal:b-adapt=0:"
           "ref=3:threads=1:open-gop=" +
               std::string(open_groups ? "1" : "0")}};
}

/// Encodes and writes one clip. The extension of the file sets the container.
class ClipWriter {
 public:
  ClipWriter(const std::filesystem::path& path, const ClipPlan& plan) : plan_(plan) {
    AVFormatContext* format = nullptr;
    check(avformat_alloc_output_context2(&format, nullptr, nullptr, path.c_str()), "container");
    format_.reset(format);
    open_encoder();
    open_file(path);
  }

  void write() {
    const std::unique_ptr<AVFrame, void (*)(AVFrame*)> frame(
        av_frame_alloc(), [](AVFrame* old) { av_frame_free(&old); });
    frame->format = plan_.form;
    frame->width = plan_.size.width;
    frame->height = plan_.size.height;
    check(av_frame_get_buffer(frame.get(), 0), "memory");
    for (int i = 0; i < plan_.frames; ++i) {
      check(av_frame_make_writable(frame.get()), "memory");
      paint(*frame, i);
      frame->pts = plan_.time ? plan_.time(i) : i;
      encode(frame.get());
    }
    encode(nullptr);
    check(av_write_trailer(format_.get()), "end");
  }

 private:
  struct FreeFormat {
    void operator()(AVFormatContext* old) const {
      if (old->pb) avio_closep(&old->pb);
      avformat_free_context(old);
    }
  };
  struct FreeCodec {
    void operator()(AVCodecContext* old) const { avcodec_free_context(&old); }
  };

  static int check(int result, const char* what) {
    if (result < 0) throw std::runtime_error(std::string("no test clip: ") + what);
    return result;
  }

  void open_encoder() {
    const AVCodec* encoder = avcodec_find_encoder_by_name(plan_.encoder.c_str());
    if (!encoder) throw std::runtime_error("no encoder " + plan_.encoder);
    codec_.reset(avcodec_alloc_context3(encoder));
    codec_->width = plan_.size.width;
    codec_->height = plan_.size.height;
    codec_->pix_fmt = plan_.form;
    codec_->colorspace = plan_.matrix;
    codec_->color_range = plan_.range;
    codec_->framerate = {1000 / plan_.milliseconds, 1};
    // Some containers and codecs need one frame per tick.
    codec_->time_base = AVRational{plan_.time ? 1 : plan_.milliseconds, 1000};
    codec_->thread_count = 1;
    if ((format_->oformat->flags & AVFMT_GLOBALHEADER) != 0)
      codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    AVDictionary* options = nullptr;
    for (const auto& [name, value] : plan_.options)
      av_dict_set(&options, name.c_str(), value.c_str(), 0);
    const int opened = avcodec_open2(codec_.get(), encoder, &options);
    av_dict_free(&options);
    check(opened, "encoder");
  }

  void open_file(const std::filesystem::path& path) {
    stream_ = avformat_new_stream(format_.get(), nullptr);
    stream_->time_base = codec_->time_base;
    stream_->avg_frame_rate = codec_->framerate;
    check(avcodec_parameters_from_context(stream_->codecpar, codec_.get()), "parameters");
    if (plan_.degrees != 0)
      av_display_rotation_set(reinterpret_cast<std::int32_t*>(av_stream_new_side_data(
                                  stream_, AV_PKT_DATA_DISPLAYMATRIX, 9 * sizeof(std::int32_t))),
                              plan_.degrees);
    check(avio_open(&format_->pb, path.c_str(), AVIO_FLAG_WRITE), "file");
    check(avformat_write_header(format_.get(), nullptr), "header");
  }

  void encode(const AVFrame* frame) {
    check(avcodec_send_frame(codec_.get(), frame), "frame");
    AVPacket* packet = av_packet_alloc();
    while (avcodec_receive_packet(codec_.get(), packet) >= 0) {
      av_packet_rescale_ts(packet, codec_->time_base, stream_->time_base);
      packet->stream_index = stream_->index;
      check(av_interleaved_write_frame(format_.get(), packet), "packet");
    }
    av_packet_free(&packet);
  }

  static void paint(AVFrame& frame, int number) {
    for (int y = 0; y < frame.height; ++y)
      for (int x = 0; x < frame.width; ++x)
        frame.data[0][y * frame.linesize[0] + x] =
            static_cast<std::uint8_t>(40 + ((x * 3 + y * 2 + number * 11) ^ (x * y / 16)) % 160);
    for (int plane = 1; plane < 3; ++plane)
      for (int y = 0; y < (frame.height + 1) / 2; ++y)
        for (int x = 0; x < (frame.width + 1) / 2; ++x)
          frame.data[plane][y * frame.linesize[plane] + x] =
              static_cast<std::uint8_t>(60 + (x * 2 + y * plane + number * 5) % 140);
  }

  const ClipPlan plan_;
  std::unique_ptr<AVFormatContext, FreeFormat> format_;
  std::unique_ptr<AVCodecContext, FreeCodec> codec_;
  AVStream* stream_ = nullptr;
};

inline void write_clip(const std::filesystem::path& path, const ClipPlan& plan) {
  ClipWriter(path, plan).write();
}

}  // namespace vcap::test
