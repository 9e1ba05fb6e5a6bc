// SPDX-License-Identifier: Apache-2.0
#include "media/clip_format.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

struct Codec {
  VideoCodec codec;
  std::string_view name;
  const char* encoder;  ///< libavcodec's name
  int least_quality;
  int most_quality;
  int default_quality;
};

// libx264, libx265: their own defaults. The others: about as good on footage of people.
constexpr std::array kCodecs{Codec{VideoCodec::h264, "h264", "libx264", 0, 51, 23},
                             Codec{VideoCodec::h265, "h265", "libx265", 0, 51, 28},
                             Codec{VideoCodec::vp9, "vp9", "libvpx-vp9", 0, 63, 32},
                             Codec{VideoCodec::av1, "av1", "libaom-av1", 0, 63, 35},
                             Codec{VideoCodec::mpeg4, "mpeg4", "mpeg4", 1, 31, 4},
                             Codec{VideoCodec::mjpeg, "mjpeg", "mjpeg", 1, 31, 4}};

struct Container {
  std::string_view extension;
  const char* name;  ///< libavformat's
  bool fixed_rate;
  std::vector<VideoCodec> codecs;  ///< the first is the default
};

const std::vector<Container>& containers() {
  using enum VideoCodec;
  // H.264 in AVI is against the format's rules: it has no place for the order of pictures.
  static const std::vector<Container> all{
      {".mp4", "mp4", false, {h264, h265, vp9, av1, mpeg4}},
      {".mkv", "matroska", false, {h264, h265, vp9, av1, mpeg4, mjpeg}},
      {".avi", "avi", true, {mjpeg, mpeg4}}};
  return all;
}

const Container& container_of(const std::filesystem::path& path, const std::string& output) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto found = std::ranges::find(containers(), extension, &Container::extension);
  if (found == containers().end())
    throw OutputError(ErrorCode::output_open, output +
                                                  ": the extension gives the format of a clip, and "
                                                  "must be .mp4, .mkv or .avi");
  return *found;
}

const Codec& codec_of(VideoCodec wanted, const Container& container, const std::string& output) {
  if (wanted == VideoCodec::automatic) wanted = container.codecs.front();
  const auto found = std::ranges::find(kCodecs, wanted, &Codec::codec);
  if (found == kCodecs.end())
    throw InvalidArgument(
        ErrorCode::invalid_argument,
        output + ": codec " + std::to_string(static_cast<int>(wanted)) + " is not a VideoCodec");
  if (std::ranges::find(container.codecs, wanted) != container.codecs.end()) return *found;
  std::string allowed;
  for (const VideoCodec codec : container.codecs)
    allowed += (allowed.empty() ? "" : ", ") + std::string(to_string(codec));
  throw InvalidArgument(ErrorCode::invalid_argument,
                        output + ": codec " + std::string(found->name) + " is not allowed in " +
                            std::string(container.extension) + "; allowed are " + allowed +
                            ". Choose one of them, or another extension");
}

int quality_of(const VideoEncoding& encoding, const Codec& codec, const std::string& output) {
  const int quality = encoding.quality.value_or(codec.default_quality);
  if (quality >= codec.least_quality && quality <= codec.most_quality) return quality;
  throw InvalidArgument(
      ErrorCode::invalid_argument,
      output + ": quality " + std::to_string(quality) + " of codec " + std::string(codec.name) +
          " is not within " + std::to_string(codec.least_quality) + " to " +
          std::to_string(codec.most_quality) + " (lower is better; the default is " +
          std::to_string(codec.default_quality) + ")");
}

}  // namespace

std::string_view to_string(VideoCodec codec) noexcept {
  const auto found = std::ranges::find(kCodecs, codec, &Codec::codec);
  return found == kCodecs.end() ? "automatic" : found->name;
}

VideoCodec video_codec(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Codec& codec : kCodecs) {
    if (codec.name == name) return codec.codec;
    names.push_back(codec.name);
  }
  throw InvalidArgument(ErrorCode::invalid_argument,
                        "video codec " + quote(name) + " is unknown; allowed are " +
                            quote_list(names) + suggestion(name, names));
}

const AVCodec& find_encoder(const char* name, const std::string& output, std::string_view codec) {
  const AVCodec* encoder = avcodec_find_encoder_by_name(name);
  if (encoder) return *encoder;
  throw OutputError(
      ErrorCode::output_open,
      output + ": codec " + std::string(codec) + " needs the encoder " + name +
          ", which is not built into this machine's libavcodec; choose another codec, "
          "or install an FFmpeg with " +
          name);
}

ClipFormat clip_format(const std::filesystem::path& path, const VideoEncoding& encoding) {
  std::string output = "output " + path.string();
  const Container& container = container_of(path, output);
  const Codec& codec = codec_of(encoding.codec, container, output);
  const int quality = quality_of(encoding, codec, output);
  const AVCodec& encoder = find_encoder(codec.encoder, output, codec.name);
  return {.output = std::move(output),
          .container = container.name,
          .fixed_rate = container.fixed_rate,
          .codec = codec.codec,
          .encoder = &encoder,
          .quality = quality};
}

}  // namespace vcap
