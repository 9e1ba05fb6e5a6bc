// SPDX-License-Identifier: Apache-2.0
#include "cli/run_view.hpp"

#include <chrono>
#include <ctime>
#include <filesystem>
#include <utility>

#include "base/text.hpp"
#include "cli/exit_code.hpp"
#include "cli/stream_names.hpp"
#include "cli/view_console.hpp"
#include "vcap/base/error.hpp"
#include "vcap/records/buffered_sink.hpp"

namespace vcap::cli {
namespace {

namespace fs = std::filesystem;

/// Such as 20261127-101500, in UTC.
std::string time_stamp() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  char text[32];
  if (::gmtime_r(&now, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &parts) == 0)
    return "recording";
  return text;
}

/// A name that no file has yet, with one of the extensions.
fs::path free_name(const fs::path& folder, const std::string& stem) {
  std::error_code unknown;
  fs::path path = folder / stem;
  for (int number = 2;
       fs::exists(path.string() + ".jsonl", unknown) || fs::exists(path.string() + ".mp4", unknown);
       ++number)
    path = folder / (stem + "-" + std::to_string(number));
  return path;
}

/// Writes in threads of its own, and drops what the disk is too slow for, so the stream goes on.
ViewRecording make_recording(const RunViewParts& parts, const fs::path& folder,
                             const std::string& stream) {
  const std::string path = free_name(folder, stream + "-" + time_stamp()).string();
  const OutputPaths& outputs = parts.arguments.outputs;
  const SinkPolicy policy{.overflow = SinkOverflowPolicy::drop_oldest,
                          .failure = SinkFailurePolicy::end_stream};
  ViewRecording recording{.files = {path + ".jsonl", path + ".mp4"}};
  recording.sinks.push_back(make_buffered_sink(make_json_lines_sink(recording.files[0]), policy));
  constexpr double kUnknownRate = 0;  // the clip has the frames' own times
  recording.sinks.push_back(
      make_buffered_sink(make_annotated_video_sink(recording.files[1], kUnknownRate,
                                                   outputs.encoding, parts.make_annotator(stream)),
                         policy));
  return recording;
}

LoadOptions upload_options(const RunViewParts& parts, const std::string& capsule) {
  LoadOptions options = parts.arguments.load_options();
  parts.settings.apply_to(options, capsule);
  return options;
}

StreamConfig make_view_stream(const RunViewParts& parts, const std::string& id,
                              std::unique_ptr<Source> source) {
  if (!is_stream_name(id))
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "the stream's id " + quote(id) +
                              " becomes a part of file names; use letters, digits, \"_\", \".\" "
                              "and \"-\", but not \"-\" at the end, nor only \".\"");
  if (!parts.arguments.outputs.record.empty())
    throw InvalidArgument(ErrorCode::invalid_argument,
                          "a run with --record cannot be given further streams");
  return parts.make_stream(id, std::move(source));
}

/// Everything that clients may change.
void allow_changes(const RunViewParts& parts, LiveViewSettings& settings) {
  const ViewArguments& view = parts.arguments.view;
  settings.make_annotator = parts.make_annotator;
  settings.sources.options = parts.arguments.range.options();
  settings.make_stream = [parts](const std::string& id, std::unique_ptr<Source> source) {
    return make_view_stream(parts, id, std::move(source));
  };
  settings.open_stream = [parts](StreamConfig config) {
    parts.streams.open(parts.pipeline, std::move(config));
  };
  settings.close_stream = [parts](const std::string& id) {
    return parts.streams.close(parts.pipeline, id);
  };
  if (!view.recordings.empty())
    settings.make_recording = [parts,
                               folder = fs::absolute(view.recordings)](const std::string& stream) {
      return make_recording(parts, folder, stream);
    };
  if (!view.uploads) return;
  if (!parts.arguments.access.require_signature)
    throw UsageError(
        "--view-uploads: an uploaded capsule runs as this process; give --require-signature and "
        "the keys that are trusted, by --trusted-key");
  settings.upload_options = [parts](const std::string& capsule) {
    return upload_options(parts, capsule);
  };
}

}  // namespace

std::shared_ptr<LiveView> offer_view(const RunViewParts& parts) {
  const ViewArguments& arguments = parts.arguments.view;
  if (arguments.address.empty()) return nullptr;
  LiveViewSettings settings = arguments.settings();
  allow_changes(parts, settings);
  auto view = std::make_shared<LiveView>(parts.pipeline, settings);
  announce(view, settings);
  return view;
}

}  // namespace vcap::cli
