// SPDX-License-Identifier: Apache-2.0
extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libswscale/swscale.h>
}

#include <chrono>
#include <functional>
#include <memory>
#include <opencv2/videoio.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "streams/parts.hpp"
#include "support/cpu_time.hpp"
#include "support/quantile.hpp"
#include "support/temporary_folder.hpp"
#include "support/video.hpp"
#include "vcap/records/sink.hpp"
#include "vcap/sources/source.hpp"

namespace vcap::bench::streams {
namespace {

constexpr double kRate = 10;
const std::size_t kEncoded = workload(200, 3);

/// In memory, so that nothing but encoding and writing is measured.
const std::vector<Frame>& frames() {
  static const std::vector<Frame> all = [] {
    const std::unique_ptr<Source> source = open_source(footage());
    std::vector<Frame> read;
    while (read.size() < kEncoded) read.push_back(source->read().value());
    return read;
  }();
  return all;
}

/// Takes all frames. Completing the clip, with its sync to the disk, is not measured.
using Writer = std::function<void(const Frame& frame)>;

double rate_of(const Writer& write) {
  return static_cast<double>(frames().size()) / seconds([&] {
           for (const Frame& frame : frames()) write(frame);
         });
}

/// How long a frame waits for its writer if the next comes later, as behind a capsule: the median,
/// in seconds.
double wait_of(const Writer& write) {
  std::vector<double> waits;
  for (const Frame& frame : frames()) {
    waits.push_back(seconds([&] { write(frame); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(15));
  }
  return quantile(std::move(waits), 0.5);
}

double cpu_milliseconds_of(const Writer& write) {
  const double before = cpu_time();
  for (const Frame& frame : frames()) write(frame);
  return (cpu_time() - before) * 1e3 / static_cast<double>(frames().size());
}

using Measure = double (*)(const Writer& write);

double with_sink(const VideoEncoding& encoding, Measure measure) {
  const test::TemporaryFolder folder;
  const auto sink = make_annotated_video_sink(folder / "clip.mkv", kRate, encoding);
  const double value =
      measure([&](const Frame& frame) { sink->write({.stream_id = "a", .frame = frame}); });
  sink->close();
  return value;
}

/// The usual loop with libav, as far as it concerns one clip: no checks, no times, no copies.
class HandWrittenLoop {
 public:
  HandWrittenLoop(const std::string& path, cv::Size size, const char* encoder,
                  const std::vector<std::pair<const char*, const char*>>& options) {
    avformat_alloc_output_context2(&format_, nullptr, nullptr, path.c_str());
    const AVCodec* codec = avcodec_find_encoder_by_name(encoder);
    if (!format_ || !codec) throw std::runtime_error("no loop by hand");
    codec_ = avcodec_alloc_context3(codec);
    codec_->width = size.width;
    codec_->height = size.height;
    codec_->pix_fmt = AV_PIX_FMT_YUV420P;
    codec_->time_base = {1, static_cast<int>(kRate)};
    codec_->gop_size = static_cast<int>(2 * kRate);
    codec_->thread_count = 2;
    codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    AVDictionary* dictionary = nullptr;
    for (const auto& [name, value] : options) av_dict_set(&dictionary, name, value, 0);
    if (avcodec_open2(codec_, codec, &dictionary) < 0) throw std::runtime_error("no encoder");
    av_dict_free(&dictionary);
    stream_ = avformat_new_stream(format_, nullptr);
    avcodec_parameters_from_context(stream_->codecpar, codec_);
    avio_open(&format_->pb, path.c_str(), AVIO_FLAG_WRITE);
    if (avformat_write_header(format_, nullptr) < 0) throw std::runtime_error("no file");
    converter_ = sws_getContext(size.width, size.height, AV_PIX_FMT_BGR24, size.width, size.height,
                                AV_PIX_FMT_YUV420P, SWS_BICUBIC, nullptr, nullptr, nullptr);
    frame_->width = size.width;
    frame_->height = size.height;
    frame_->format = AV_PIX_FMT_YUV420P;
    av_frame_get_buffer(frame_, 0);
  }
  HandWrittenLoop(const HandWrittenLoop&) = delete;
  HandWrittenLoop& operator=(const HandWrittenLoop&) = delete;
  ~HandWrittenLoop() {
    encode(nullptr);
    av_write_trailer(format_);
    avio_closep(&format_->pb);
    avformat_free_context(format_);
    avcodec_free_context(&codec_);
    sws_freeContext(converter_);
    av_frame_free(&frame_);
    av_packet_free(&packet_);
  }

  void write(const cv::Mat& picture) {
    av_frame_make_writable(frame_);
    const std::uint8_t* const lines[] = {picture.data, nullptr, nullptr, nullptr};
    const int steps[] = {static_cast<int>(picture.step), 0, 0, 0};
    sws_scale(converter_, lines, steps, 0, picture.rows, frame_->data, frame_->linesize);
    frame_->pts = next_++;
    encode(frame_);
  }

 private:
  void encode(const AVFrame* frame) {
    avcodec_send_frame(codec_, frame);
    while (avcodec_receive_packet(codec_, packet_) >= 0) {
      av_packet_rescale_ts(packet_, codec_->time_base, stream_->time_base);
      av_write_frame(format_, packet_);
      av_packet_unref(packet_);
    }
  }

  AVFormatContext* format_ = nullptr;
  AVCodecContext* codec_ = nullptr;
  AVStream* stream_ = nullptr;
  SwsContext* converter_ = nullptr;
  AVFrame* frame_ = av_frame_alloc();
  AVPacket* packet_ = av_packet_alloc();
  std::int64_t next_ = 0;
};

double by_hand(const char* encoder,
               const std::vector<std::pair<const char*, const char*>>& options) {
  const test::TemporaryFolder folder;
  HandWrittenLoop loop(folder / "clip.mkv", frames()[0].image.size(), encoder, options);
  return rate_of([&](const Frame& frame) { loop.write(frame.image); });
}

double with_video_writer(Measure measure) {
  const test::TemporaryFolder folder;
  cv::VideoWriter writer(folder / "clip.mp4", cv::CAP_FFMPEG,
                         cv::VideoWriter::fourcc('m', 'p', '4', 'v'), kRate,
                         frames()[0].image.size());
  return measure([&](const Frame& frame) { writer.write(frame.image); });
}

}  // namespace

std::vector<Figure> encoding() {
  std::vector<Figure> figures;
  const auto add = [&](const std::string& what, double target, Better better,
                       const std::function<double()>& sample) {
    figures.push_back(
        {.id = "streams.7", .what = what, .target = target, .better = better, .sample = [sample] {
           frames();
           return sample();
         }});
  };
  add("writing a clip in H.264, rate of a loop with libav", 0.97, Better::higher, [] {
    return ratio([] { return with_sink({}, rate_of); },
                 [] {
                   return by_hand("libx264", {{"preset", "superfast"},
                                              {"tune", "zerolatency"},
                                              {"x264-params", "sliced-threads=0"},
                                              {"crf", "23"}});
                 });
  });
  add("wait of a frame for its clip in H.264, of cv::VideoWriter in MPEG-4", 1, Better::lower, [] {
    return ratio([] { return with_sink({}, wait_of); }, [] { return with_video_writer(wait_of); });
  });
  add("floor: CPU time of a frame of cv::VideoWriter in MPEG-4, ms", 0, Better::higher,
      [] { return with_video_writer(cpu_milliseconds_of); });
  for (const VideoCodec codec : {VideoCodec::h264, VideoCodec::h265, VideoCodec::vp9,
                                 VideoCodec::av1, VideoCodec::mpeg4, VideoCodec::mjpeg})
    add("CPU time of a frame of a clip in " + std::string(to_string(codec)) + ", ms", 0,
        Better::higher, [codec] { return with_sink({.codec = codec}, cpu_milliseconds_of); });
  return figures;
}

}  // namespace vcap::bench::streams
