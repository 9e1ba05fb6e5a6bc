// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vcap/base/export.hpp"
#include "vcap/base/json_value.hpp"
#include "vcap/records/sink.hpp"

namespace vcap {

/// A file that a recording refers to. Thread safety: value.
struct RecordedFile {
  std::string path{};  ///< absolute
  std::uint64_t size = 0;
  std::string sha256{};  ///< 64 lower-case hexadecimal digits
};

/// Size and SHA-256 of a regular file, which is read once. Throws SourceError (source_open).
/// Thread-safe.
VCAP_EXPORT RecordedFile describe_file(const std::string& path);

/// A capsule of a recorded run. Thread safety: value.
struct RecordedCapsule {
  std::string name{};
  int version = 0;
  std::optional<RecordedFile> file{};  ///< absent for a capsule of the host
  std::string copy{};  ///< a copy of the file in the recording's folder; empty: none
  JsonValue info{};    ///< CapsuleInfo as JSON
  JsonValue config = JsonValue::object();  ///< given when it was loaded
  JsonValue stencil{};                     ///< the host's, in place of its own; null: none
};

/// A stream of a recorded run. Thread safety: value.
struct RecordedStream {
  std::string id{};
  std::string source{};  ///< SourceInfo::description
  bool live = false;
  double frames_per_second = 0;  ///< 0 if unknown
  std::int64_t width = 0;        ///< 0 if unknown
  std::int64_t height = 0;
  /// The video that its frames are read from again. Absent: the recording holds the frames'
  /// pictures, without loss.
  std::optional<RecordedFile> file{};
  JsonValue source_options = JsonValue::object();      ///< of `file`
  std::uint64_t seed = 0;                              ///< StreamConfig::seed
  std::optional<std::vector<std::string>> capsules{};  ///< its route; absent: all
  JsonValue options = JsonValue::object();             ///< values at the first frame, by capsule
  JsonValue config = JsonValue::object();              ///< of the stream, by capsule
  JsonValue policies = JsonValue::object();            ///< quarantine and deadlines

  // Set by the recorder.
  std::string folder{};      ///< in the recording's folder
  std::uint64_t frames = 0;  ///< that the recording holds
  std::uint64_t lost = 0;    ///< that the disk was too slow or too full for
  /// Whether the counts above are final. If the run was killed, they are 0 here.
  bool complete = false;
};

/// What a recording holds besides frames: the file recording.json of its folder. Thread safety:
/// value.
struct RecordingManifest {
  std::string vcap_version{};
  bool leave_out = false;                   ///< UnfitPolicy::leave_out
  JsonValue outputs = JsonValue::object();  ///< OutputPolicy of the pipeline, if it had one
  std::vector<RecordedCapsule> capsules{};  ///< in the order in which the pipeline got them
  std::vector<RecordedStream> streams{};
};

/// Schema "vcap.recording/1" (docs/replay.md). from_json throws InvalidArgument (invalid_json) that
/// names the wrong field by its JSON pointer.
VCAP_EXPORT void to_json(nlohmann::json& json, const RecordingManifest& manifest);
VCAP_EXPORT void from_json(const nlohmann::json& json, RecordingManifest& manifest);

/// Reads recording.json of a recording's folder. Throws SourceError (source_open) if there is none,
/// InvalidArgument (invalid_json). Thread-safe.
VCAP_EXPORT RecordingManifest read_recording_manifest(const std::string& folder);

/// Records runs, so that they can run again (Replay).
///
/// Makes a folder with recording.json, and a folder for each stream with its frames: a line of JSON
/// each, and, if the stream has no file, its picture. Whatever ends the process, all lines and
/// pictures are whole but the last. A folder without a frame is removed at the end.
///
/// Each stream has a thread of its own that writes. A frame for which the disk is too slow or too
/// full is lost to the recording and counted; the stream goes on. Thread safety: thread-safe. It
/// may be destroyed before its sinks.
class VCAP_EXPORT Recorder {
 public:
  /// How much may wait for a slow disk. Thread safety: value.
  struct Settings {
    /// The most frames of a stream that wait to be written. 0: 1024, or, if pictures are written,
    /// as many as fit into 128 MiB, from 4 to 64.
    std::size_t queue = 0;
    /// How long a recording that could not be written is left alone (SinkPolicy::retry_after).
    std::chrono::nanoseconds retry_after = std::chrono::seconds(5);
  };

  /// `manifest` is without streams. Makes the folder, in a folder that exists; an empty one may be
  /// there. Throws OutputError (output_open).
  Recorder(const std::string& folder, RecordingManifest manifest, Settings settings);
  Recorder(const std::string& folder, RecordingManifest manifest);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// The sink that records a stream. close() writes what waits and the stream's counts. Its stats()
  /// count the lost frames. Throws OutputError (output_open), InvalidArgument if the stream's id is
  /// taken.
  std::shared_ptr<Sink> add_stream(RecordedStream stream);

 private:
  class Folder;
  std::shared_ptr<Folder> folder_;
  const Settings settings_;
};

}  // namespace vcap
