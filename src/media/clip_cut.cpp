// SPDX-License-Identifier: Apache-2.0
#include "media/clip_cut.hpp"

#include <algorithm>
#include <cstdint>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "media/av_output.hpp"
#include "media/av_pointers.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using std::chrono::nanoseconds;

/// Packets that are looked at before a video counts as one that can be cut.
constexpr int kProbedPackets = 64;
/// How far before the begin a keyframe is looked for next. The last try is the whole video.
constexpr std::chrono::seconds kStepsBack[]{std::chrono::seconds(0), std::chrono::seconds(2),
                                            std::chrono::seconds(10), std::chrono::seconds(60)};

AvAddress address_of_file(const std::filesystem::path& file) {
  return {.url = "file:" + file.string(),  // needed for a name like "a:b.avi"
          .name = "file " + file.string(),
          .cannot_open = "cannot be opened as a video ({})",
          .access = AvAccess::stored_file()};
}

/// The container that holds such pictures as they are; null if there is none.
const char* container_for(const AVCodecParameters& form) {
  switch (form.codec_id) {
    case AV_CODEC_ID_H264:
    case AV_CODEC_ID_HEVC:
    case AV_CODEC_ID_VP9:
    case AV_CODEC_ID_AV1:
    case AV_CODEC_ID_MPEG4:
      return "mp4";
    default:
      break;
  }
  const AVOutputFormat* const matroska = av_guess_format("matroska", nullptr, nullptr);
  if (matroska && avformat_query_codec(matroska, form.codec_id, FF_COMPLIANCE_NORMAL) == 1)
    return "matroska";
  return nullptr;
}

AvPacketPointer new_packet() {
  AvPacketPointer packet(av_packet_alloc());
  if (!packet) throw std::bad_alloc();
  return packet;
}

bool is_key(const AVPacket& packet) { return (packet.flags & AV_PKT_FLAG_KEY) != 0; }

/// The packets of a cut: their pts, in the order of decoding, the keyframe first.
struct CutPlan {
  std::optional<nanoseconds> seek{};  ///< absent: from the beginning of the file
  std::vector<std::int64_t> pts{};
};

/// Opens the video, and goes to where the plan says.
std::unique_ptr<AvInput> open_at(const AvAddress& address, std::optional<nanoseconds> seek) {
  auto input = std::make_unique<AvInput>(address);
  if (seek && !input->seek(*seek)) return nullptr;
  return input;
}

/// Looks through the packets from a position. Without a suitable keyframe, the plan is empty.
CutPlan plan_from(const AvAddress& address, std::optional<nanoseconds> seek, nanoseconds from,
                  nanoseconds to) {
  CutPlan plan{.seek = seek};
  const std::unique_ptr<AvInput> input = open_at(address, seek);
  if (!input) return plan;
  const AvPacketPointer packet = new_packet();
  std::size_t wanted = 0;  // packets up to the last one that is shown in time
  while (input->read(*packet)) {
    const std::optional<nanoseconds> time = input->time_of(packet->pts);
    if (!time) continue;
    // No picture is shown before it is decoded.
    const std::optional<nanoseconds> decoded = input->time_of(packet->dts);
    if ((decoded && *decoded > to) || (is_key(*packet) && *time > to)) break;
    if (is_key(*packet) && (*time <= from || (!seek && plan.pts.empty()))) {
      plan.pts.clear();
      wanted = 0;
    } else if (plan.pts.empty()) {
      continue;
    }
    plan.pts.push_back(packet->pts);
    if (*time <= to) wanted = plan.pts.size();
  }
  plan.pts.resize(wanted);
  return plan;
}

CutPlan plan_of(const AvAddress& address, nanoseconds from, nanoseconds to) {
  for (const std::chrono::seconds back : kStepsBack) {
    if (from <= back) break;
    CutPlan plan = plan_from(address, from - back, from, to);
    if (!plan.pts.empty()) return plan;
  }
  return plan_from(address, std::nullopt, from, to);
}

/// Times of decoding for pictures in this order: each is at or before the picture's own time.
/// Containers do not tell them, or not after a jump.
std::vector<std::int64_t> decoding_times(const std::vector<std::int64_t>& pts) {
  std::vector<std::int64_t> times = pts;
  std::ranges::sort(times);
  std::int64_t shift = 0;
  for (std::size_t i = 0; i < pts.size(); ++i) shift = std::max(shift, times[i] - pts[i]);
  for (std::int64_t& time : times) time -= shift;
  return times;
}

/// Passes on the packets of the plan; pictures before its first need others that are missing.
void copy_packets(AvInput& input, const CutPlan& plan, AvOutput& output, const std::string& name) {
  const std::int64_t first = plan.pts.front();
  std::vector<std::int64_t> kept = plan.pts;
  std::erase_if(kept, [first](std::int64_t pts) { return pts < first; });
  const std::vector<std::int64_t> decoded = decoding_times(kept);
  const AVRational from = input.stream().time_base;
  const AvPacketPointer packet = new_packet();
  std::size_t seen = 0, written = 0;
  while (seen < plan.pts.size() && input.read(*packet)) {
    if (seen == 0 && !(is_key(*packet) && packet->pts == first)) continue;
    if (packet->pts == AV_NOPTS_VALUE || !input.time_of(packet->pts)) continue;
    if (packet->pts != plan.pts[seen++]) break;
    if (packet->pts < first) continue;
    packet->pts -= first;
    packet->dts = decoded[written++] - first;
    av_packet_rescale_ts(packet.get(), from, output.time_base());
    packet->pos = -1;
    output.put(*packet);
    output.flush();
  }
  if (written == kept.size()) return;
  throw OutputError(ErrorCode::output_write,
                    name +
                        " gave other packets than a moment ago; do not change it while clips are "
                        "cut from it");
}

std::string seconds_from(nanoseconds time) {
  return number_text(std::chrono::duration<double>(time).count()) + " s";
}

}  // namespace

ClipCutter::ClipCutter(AvAddress address, const char* container)
    : address_(std::move(address)), container_(container) {}

std::unique_ptr<const ClipCutter> ClipCutter::of(const std::filesystem::path& file) {
  AvAddress address = address_of_file(std::filesystem::absolute(file));
  try {
    AvInput input(address);
    const char* const container = container_for(*input.stream().codecpar);
    if (!container || !input.tells_times() || !input.can_go_back()) return nullptr;
    const AvPacketPointer packet = new_packet();
    int packets = 0;
    for (; packets < kProbedPackets && input.read(*packet); ++packets)
      if (!input.time_of(packet->pts) || (packets == 0 && !is_key(*packet))) return nullptr;
    if (packets == 0) return nullptr;
    return std::unique_ptr<const ClipCutter>(new ClipCutter(std::move(address), container));
  } catch (const SourceError&) {
    return nullptr;
  }
}

std::string ClipCutter::extension() const {
  return std::string_view(container_) == "mp4" ? ".mp4" : ".mkv";
}

nanoseconds ClipCutter::cut(nanoseconds from, nanoseconds to, OutputFile& file) const {
  const CutPlan plan = plan_of(address_, from, to);
  if (plan.pts.empty())
    throw OutputError(ErrorCode::output_write, address_.name + " has no picture from " +
                                                   seconds_from(from) + " to " + seconds_from(to));
  const std::unique_ptr<AvInput> input = open_at(address_, plan.seek);
  if (!input)
    throw OutputError(ErrorCode::output_write,
                      address_.name + " cannot be read at " + seconds_from(from) + " any more");
  AvOutput output(file, {.output = "output " + file.path().string(), .container = container_},
                  input->stream());
  copy_packets(*input, plan, output, address_.name);
  output.end();
  output.flush();
  return *input->time_of(plan.pts.front());
}

bool has_pictures(const std::filesystem::path& file) {
  try {
    AvInput input(address_of_file(file));
    return input.read(*new_packet());
  } catch (const SourceError&) {
    return false;
  }
}

}  // namespace vcap
