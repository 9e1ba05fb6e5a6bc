// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/mem.h>
}

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "files/output_file.hpp"
#include "media/clip_format.hpp"

namespace vcap {

/// A container that one encoder's packets, or the packets of another container, are written to.
///
/// libavformat writes into memory, and flush() from there to the file. So bytes that a full disk
/// did not accept are kept, and written again later. A reader of the unfinished file finds all but
/// the last second. Thread safety: thread-compatible.
class AvOutput {
 public:
  /// `frames_per_second`: 0 if unknown. `file` must outlive it. Throws OutputError (output_write).
  AvOutput(OutputFile& file, ClipFormat format, const AVCodecContext& codec,
           double frames_per_second);
  /// For packets that are copied from another container, in its unit of time, which may be changed:
  /// see time_base(). Such a container may reorder pictures. It is readable only after end(). Of
  /// `format`, only the names are used. Throws OutputError (output_write).
  AvOutput(OutputFile& file, ClipFormat format, const AVStream& copied);
  AvOutput(const AvOutput&) = delete;
  AvOutput& operator=(const AvOutput&) = delete;

  /// Whether the codec's headers must be in the container.
  static bool wants_global_header(const ClipFormat& format);
  /// The unit of the packets' times.
  AVRational time_base() const noexcept { return stream_->time_base; }

  /// Takes the next packet, whose times must increase. Writes nothing to the file. Throws
  /// OutputError (output_write).
  void put(AVPacket& packet);
  /// Makes all packets so far readable, once flush() has written them. Each call costs some hundred
  /// bytes. Returns whether there are any. Throws OutputError (output_write).
  bool end_fragment();
  /// Completes the container; flush() must follow. Throws OutputError (output_write).
  void end();
  /// Writes to the file. Throws OutputError (output_write); the next call then tries again.
  void flush();

 private:
  struct FreeFormat {
    void operator()(AVFormatContext* context) const noexcept { avformat_free_context(context); }
  };
  struct FreeIo {
    void operator()(AVIOContext* context) const noexcept {
      av_freep(&context->buffer);
      avio_context_free(&context);
    }
  };
  /// Bytes for one place in the file.
  struct Piece {
    std::int64_t place;
    std::vector<std::byte> bytes;
  };

  /// libavformat calls these two. `Byte` is const since FFmpeg 7.
  template <class Byte>
  static int keep(void* self, Byte* bytes, int size) noexcept;
  static std::int64_t seek(void* self, std::int64_t offset, int whence) noexcept;
  void check(int result) const;
  void make_io();
  void make_stream();
  void open(const AVCodecContext& codec, double frames_per_second);
  void open_copy(const AVStream& copied);
  void prepare_fragment(std::int64_t time);

  OutputFile& file_;
  const ClipFormat format_;
  const bool fragmented_;  ///< an MP4 that is readable while it is written
  std::unique_ptr<AVIOContext, FreeIo> io_;
  std::unique_ptr<AVFormatContext, FreeFormat> context_;
  AVStream* stream_ = nullptr;
  std::int64_t last_ = AV_NOPTS_VALUE;  ///< time of the last packet
  std::int64_t place_ = 0;              ///< where the next byte goes
  std::int64_t size_ = 0;
  std::deque<Piece> pieces_;  ///< to be written, in this order
};

}  // namespace vcap
