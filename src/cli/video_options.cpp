// SPDX-License-Identifier: Apache-2.0
#include "cli/video_options.hpp"

#include <string>

#include "vcap/base/error.hpp"
#include "vcap/image/make_annotators.hpp"

namespace vcap::cli {
namespace {

/// What is wrong with a list of --draw; empty if it is valid.
std::string check_draw(const std::string& list) {
  try {
    make_annotators(list, {}, ZoneSettings{});
    return {};
  } catch (const InvalidArgument& error) {
    return error.what();
  }
}

/// "blur, boxes, …": what --draw takes.
std::string names_to_draw() {
  std::string names;
  for (const AnnotatorName& part : annotator_names())
    names += (names.empty() ? "" : ", ") + part.name;
  return names;
}

void add_draw_option(CLI::App& command, OutputPaths& outputs) {
  command
      .add_option("--draw", outputs.draw,
                  "What --video shows on the frames, and vcap run --view on its pictures, in the "
                  "order in which it is drawn (default: " +
                      std::string(kDefaultAnnotators) +
                      ", and with --events first zones): " + names_to_draw() +
                      ". A part draws only nodes of the names after its colon, such as "
                      "blur:face+person; label-map:PICTURE draws a picture of labels; zones draws "
                      "the zones and lines of --events, or those that it names")
      ->type_name("PART[:NAME+…],…")
      ->check(CLI::Validator(check_draw, ""))
      ->excludes("--picture")
      ->needs("--video");
}

}  // namespace

void add_video_options(CLI::App& command, OutputPaths& outputs) {
  VideoEncoding& encoding = outputs.encoding;
  command
      .add_option_function<std::string>(
          "--video-codec",
          [&encoding](const std::string& name) { encoding.codec = video_codec(name); },
          "The codec of the clips of --video (default: h264, in .avi mjpeg). .mp4 supports all but "
          "mjpeg, .avi only mpeg4 and mjpeg")
      ->type_name("h264|h265|vp9|av1|mpeg4|mjpeg")
      ->check(CLI::IsMember({"h264", "h265", "vp9", "av1", "mpeg4", "mjpeg"}).description(""))
      ->needs("--video");
  command
      .add_option(
          "--video-quality", encoding.quality,
          "Constant quality of the clips; lower gives better pictures and larger files: 0 to 51 "
          "for h264 "
          "(default 23) and h265 (28), 0 to 63 for vp9 (32) and av1 (35), 1 to 31 for mpeg4 "
          "and mjpeg (4)")
      ->type_name("N")
      ->needs("--video");
  command
      .add_option("--picture", outputs.picture,
                  "--video shows this picture, which one of the capsules gives, and nothing else: "
                  "no results are drawn on it, and a frame without it is never shown")
      ->type_name("NAME")
      ->check(CLI::Validator(
          [](const std::string& name) {
            return name.empty() ? std::string("a picture's name is empty") : std::string();
          },
          ""))
      ->needs("--video");
  add_draw_option(command, outputs);
}

}  // namespace vcap::cli
