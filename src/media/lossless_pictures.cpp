// SPDX-License-Identifier: Apache-2.0
#include "media/lossless_pictures.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include <opencv2/imgproc.hpp>

#include "base/cores.hpp"
#include "media/av_error.hpp"
#include "media/clip_format.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

/// FFV1's form of BGR with 8 bits: a fourth byte per pixel is not coded.
constexpr AVPixelFormat kLosslessForm = AV_PIX_FMT_BGR0;
/// More would take cores from capsules.
constexpr int kMostLosslessThreads = 2;
constexpr std::size_t kHeaderSize = sizeof(std::uint32_t);

/// A view of a frame's pixels.
cv::Mat pixels_of(AVFrame& frame) {
  return {frame.height, frame.width, CV_8UC4, frame.data[0],
          static_cast<std::size_t>(frame.linesize[0])};
}

void append(std::vector<std::byte>& bytes, const void* data, std::size_t size) {
  const auto* const first = static_cast<const std::byte*>(data);
  bytes.insert(bytes.end(), first, first + size);
}

}  // namespace

LosslessEncoder::LosslessEncoder(std::string output)
    : output_(std::move(output)),
      encoder_(find_encoder("ffv1", output_, "ffv1")),
      packet_(av_packet_alloc()) {
  if (!packet_) throw std::bad_alloc();
}

void LosslessEncoder::check(int result) const {
  if (result == AVERROR(ENOMEM)) throw std::bad_alloc();
  if (result < 0)
    throw OutputError(
        ErrorCode::output_write,
        output_ + ": a picture cannot be encoded without loss: " + av_error_text(result));
}

void LosslessEncoder::open(cv::Size size) {
  codec_.reset(avcodec_alloc_context3(&encoder_));
  frame_.reset(av_frame_alloc());
  if (!codec_ || !frame_) throw std::bad_alloc();
  codec_->width = size.width;
  codec_->height = size.height;
  codec_->pix_fmt = kLosslessForm;
  codec_->time_base = {1, 25};  // of no meaning
  codec_->gop_size = 1;         // each picture by itself
  // Slices share the work among threads. A line of pixels has none.
  const bool has_slices = size.width > 1 && size.height > 1;
  codec_->level = has_slices ? 3 : 1;
  codec_->slices = has_slices ? 4 : 0;
  codec_->thread_count = std::min(kMostLosslessThreads, static_cast<int>(cores()));
  codec_->thread_type = FF_THREAD_SLICE;
  check(avcodec_open2(codec_.get(), &encoder_, nullptr));
  frame_->format = codec_->pix_fmt;
  frame_->width = size.width;
  frame_->height = size.height;
  check(av_frame_get_buffer(frame_.get(), 0));
}

std::span<const std::byte> LosslessEncoder::encode(const cv::Mat& picture) {
  if (!codec_ || picture.cols != codec_->width || picture.rows != codec_->height)
    open(picture.size());
  check(av_frame_make_writable(frame_.get()));
  cv::Mat pixels = pixels_of(*frame_);
  cv::cvtColor(picture, pixels, cv::COLOR_BGR2BGRA);
  ++frame_->pts;
  check(avcodec_send_frame(codec_.get(), frame_.get()));
  check(avcodec_receive_packet(codec_.get(), packet_.get()));
  const auto header = static_cast<std::uint32_t>(codec_->extradata_size);
  bytes_.clear();
  append(bytes_, &header, kHeaderSize);
  append(bytes_, codec_->extradata, header);
  append(bytes_, packet_->data, static_cast<std::size_t>(packet_->size));
  av_packet_unref(packet_.get());
  return bytes_;
}

LosslessDecoder::LosslessDecoder(std::string source)
    : source_(std::move(source)), frame_(av_frame_alloc()), packet_(av_packet_alloc()) {
  if (!frame_ || !packet_) throw std::bad_alloc();
  if (avcodec_find_decoder(AV_CODEC_ID_FFV1) == nullptr)
    throw SourceError(ErrorCode::source_open,
                      source_ +
                          ": this machine's libavcodec has no decoder for ffv1, in which "
                          "recordings keep pictures; install one that has it");
}

void LosslessDecoder::fail(const std::string& why) const {
  throw SourceError(ErrorCode::source_read,
                    source_ + ": a picture is damaged (" + why + "); record again");
}

void LosslessDecoder::open(std::span<const std::byte> header, cv::Size size) {
  const AVCodec* const decoder = avcodec_find_decoder(AV_CODEC_ID_FFV1);
  codec_.reset(avcodec_alloc_context3(decoder));
  if (!codec_) throw std::bad_alloc();
  codec_->width = size.width;
  codec_->height = size.height;
  codec_->thread_count = std::min(kMostLosslessThreads, static_cast<int>(cores()));
  codec_->thread_type = FF_THREAD_SLICE;
  codec_->extradata =
      static_cast<std::uint8_t*>(av_mallocz(header.size() + AV_INPUT_BUFFER_PADDING_SIZE));
  if (!codec_->extradata) throw std::bad_alloc();
  std::memcpy(codec_->extradata, header.data(), header.size());
  codec_->extradata_size = static_cast<int>(header.size());
  if (const int opened = avcodec_open2(codec_.get(), decoder, nullptr); opened < 0)
    fail(av_error_text(opened));
  header_.assign(header.begin(), header.end());
}

cv::Mat LosslessDecoder::decode(std::span<const std::byte> bytes, cv::Size size) {
  std::uint32_t header_size = 0;
  if (bytes.size() < kHeaderSize) fail("it is cut short");
  std::memcpy(&header_size, bytes.data(), kHeaderSize);
  bytes = bytes.subspan(kHeaderSize);
  if (header_size >= bytes.size()) fail("it is cut short");
  const std::span<const std::byte> header = bytes.first(header_size);
  const std::span<const std::byte> data = bytes.subspan(header_size);
  if (!codec_ || codec_->width != size.width || codec_->height != size.height ||
      !std::ranges::equal(header, header_))
    open(header, size);
  if (av_new_packet(packet_.get(), static_cast<int>(data.size())) < 0) throw std::bad_alloc();
  std::memcpy(packet_->data, data.data(), data.size());
  const int sent = avcodec_send_packet(codec_.get(), packet_.get());
  av_packet_unref(packet_.get());
  if (sent < 0) fail(av_error_text(sent));
  if (const int got = avcodec_receive_frame(codec_.get(), frame_.get()); got < 0)
    fail(av_error_text(got));
  if (frame_->format != kLosslessForm || frame_->decode_error_flags != 0 ||
      cv::Size(frame_->width, frame_->height) != size)
    fail("its form or size is not the recorded one");
  cv::Mat picture;
  cv::cvtColor(pixels_of(*frame_), picture, cv::COLOR_BGRA2BGR);
  av_frame_unref(frame_.get());
  return picture;
}

}  // namespace vcap
