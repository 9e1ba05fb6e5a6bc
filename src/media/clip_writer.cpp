// SPDX-License-Identifier: Apache-2.0
#include "media/clip_writer.hpp"

#include <algorithm>
#include <new>

#include "media/av_log.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using std::chrono::nanoseconds;

constexpr AVRational kPtsUnit{1, 1'000'000'000};
/// The rate of a clip if the source's rate is unknown.
constexpr double kDefaultRate = 25;
/// Encoders take the rate as a fraction, and MPEG-4 no greater numbers than this one.
constexpr double kLowestRate = 1. / 65535;
/// A player that jumps into the clip begins at a keyframe.
constexpr std::chrono::seconds kBetweenKeys{2};

double known(double frames_per_second) {
  take_av_log();
  return frames_per_second > 0 ? std::max(frames_per_second, kLowestRate) : kDefaultRate;
}

}  // namespace

ClipWriter::ClipWriter(OutputFile& file, const ClipFormat& format, cv::Size picture,
                       double frames_per_second)
    : fixed_rate_(format.fixed_rate),
      period_(static_cast<std::int64_t>(1e9 / known(frames_per_second))),
      encoder_(format, picture, known(frames_per_second), AvOutput::wants_global_header(format)),
      output_(file, format, encoder_.context(), frames_per_second),
      packet_(av_packet_alloc()) {
  if (!packet_) throw std::bad_alloc();
}

std::int64_t ClipWriter::time_of(nanoseconds pts) {
  const bool is_first = last_ticks_ < 0;
  if (is_first) begin_ = pts;
  nanoseconds time(av_sat_sub64(pts.count(), begin_.count()));
  if (!is_first && time <= last_) {
    time = last_ + period_;
    begin_ = nanoseconds(av_sat_sub64(pts.count(), time.count()));
  }
  last_ = time;
  const std::int64_t ticks =
      fixed_rate_ ? last_ticks_ + 1 : av_rescale_q(time.count(), kPtsUnit, output_.time_base());
  return last_ticks_ = std::max(ticks, last_ticks_ + 1);
}

void ClipWriter::write(const cv::Mat& picture, nanoseconds pts) {
  output_.flush();
  const bool is_first = last_ticks_ < 0;
  const std::int64_t time = time_of(pts);
  const bool key = is_first || last_ - last_key_ >= kBetweenKeys;
  if (key) last_key_ = last_;
  encoder_.send(picture, key);
  times_.push_back(time);
  pass_packets_on();
  try {
    output_.flush();
  } catch (const OutputError&) {
    // The picture is in the clip. The next call tries again, and throws before it takes another.
  }
}

bool ClipWriter::store() {
  if (!output_.end_fragment()) return false;
  output_.flush();
  return true;
}

void ClipWriter::finish() {
  encoder_.end();
  pass_packets_on();
  output_.end();
  output_.flush();
}

void ClipWriter::pass_packets_on() {
  while (encoder_.receive(*packet_)) {
    packet_->pts = packet_->dts = times_.front();
    times_.pop_front();
    packet_->duration =
        std::max<std::int64_t>(1, av_rescale_q(period_.count(), kPtsUnit, output_.time_base()));
    output_.put(*packet_);
    av_packet_unref(packet_.get());
  }
}

}  // namespace vcap
