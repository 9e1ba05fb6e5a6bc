// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "vcap/base/export.hpp"
#include "vcap/base/json_value.hpp"
#include "vcap/capsule/capsule.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/model/option.hpp"
#include "vcap/pipeline/pipeline.hpp"
#include "vcap/records/objects_file.hpp"
#include "vcap/records/recording.hpp"
#include "vcap/sources/source.hpp"
#include "vcap/streams/stream_config.hpp"

namespace vcap {

/// What a recording says about a capsule: reads its file for the digest. `path`: empty for a
/// capsule of the host. `options`: as it was loaded. Throws SourceError (source_open). Thread-safe.
VCAP_EXPORT RecordedCapsule recorded_capsule(const Capsule& capsule, const std::string& path,
                                             const LoadOptions& options = {});

/// What a recording says about a stream that is about to be opened; sets its seed, if it has none.
/// `name` and `options`: of open_source(), which made the stream's source; `name` is empty for a
/// source of the host. The recording refers to the source if it is a single file, unless
/// `copies_pictures`; otherwise it holds the frames' pictures. Throws InvalidArgument if the stream
/// has a selection or groups; SourceError (source_open). Thread-safe.
VCAP_EXPORT RecordedStream recorded_stream(StreamConfig& config, const std::string& name,
                                           const SourceOptions& options = {},
                                           bool copies_pictures = false);

/// What a recording says about the pipeline: everything but capsules and streams. Thread-safe.
VCAP_EXPORT RecordingManifest recorded_settings(const Pipeline::Settings& settings);

/// An option that has another value than in the recorded run. Thread safety: value.
struct ReplayOption {
  std::string stream{};  ///< empty: all streams
  std::string capsule{};
  std::string option{};
  OptionValue value{};  ///< text is read as on a command line
};

/// How a recording runs again. Thread safety: value.
struct ReplaySettings {
  /// The capsule after which the run begins: its recorded results, and those of the capsules before
  /// it in the plan, stand in for them. Empty: all capsules run.
  std::string from{};
  /// Whether sources and capsules are accepted that differ from the recorded ones. Files of sources
  /// are then not read for a digest, and capsules that were replaced in the recorded run have one
  /// version.
  bool accept_changed = false;
  std::map<std::string, std::string> sources{};  ///< where a stream's file is now, by stream
  std::vector<ReplayOption> options{};           ///< in place of the recorded values and changes
  /// By stream, or with an empty id for the only one: objects that stand in for the results of the
  /// capsules up to `from`, in place of the recorded ones. Their names must be among those that
  /// these capsules give. Which of a file's streams they are: the one of that id, or its only one.
  std::map<std::string, ObjectsFile> objects{};
};

class GivenObjects;

/// A recording that runs again: the same frames, with the same indexes, times, discontinuities and
/// drops, in a pipeline that the host makes.
///
/// With the same capsules and options, the records are the same, byte for byte, except for what
/// depended on time: capsules past their deadline, and Pipeline::Settings::quarantine. If the
/// recording has lost frames, these are dropped with reason "not_recorded". Thread safety:
/// thread-safe.
class VCAP_EXPORT Replay {
 public:
  /// Reads the manifest. Throws as read_recording_manifest(); InvalidArgument if no capsule of the
  /// recording has the name `from`; PlanError if its capsules cannot be ordered any more.
  explicit Replay(std::string folder, ReplaySettings settings = {});
  /// What runs on objects of a file instead of a recording, such as the detections or the ground
  /// truth of a data set. A capsule with the name kObjectsCapsule stands in and gives them;
  /// manifest() has it and the streams of the file. An object belongs to the frame with its index,
  /// or of its image. Settings: `options`, and `sources` with the stored source of each stream that
  /// is opened, a name for open_source(); the id may be empty if there is one stream. Throws as
  /// open_records() and RecordReader::read(), and InvalidArgument if the file has no objects that
  /// are taken, or frames in groups, or if other settings are given.
  static Replay of_objects(const ObjectsFile& objects, ReplaySettings settings = {});
  static constexpr const char* kObjectsCapsule = "objects";

  const RecordingManifest& manifest() const& noexcept { return manifest_; }
  const RecordingManifest& manifest() const&& = delete;  // would refer into a temporary
  /// Settings of the recorded pipeline.
  Pipeline::Settings pipeline_settings() const;

  /// The capsules whose results are used.
  const std::set<std::string>& stand_ins() const& noexcept { return stand_ins_; }
  const std::set<std::string>& stand_ins() const&& = delete;
  /// A capsule with the recorded description that is never called. Its file is not needed. Throws
  /// InvalidArgument if no capsule of the recording has this name, or its description cannot be
  /// read.
  std::shared_ptr<Capsule> stand_in(const std::string& capsule) const;
  /// The file of a capsule: the copy in the recording, if there is one. Throws SourceError
  /// (source_open) that says both digests if the file is missing or, unless accept_changed, is not
  /// the recorded one.
  std::string capsule_file(const std::string& capsule) const;
  /// How the capsule was loaded, into `options`. Throws InvalidArgument.
  void apply_load_options(const std::string& capsule, LoadOptions& options) const;

  /// The stream of that id, without sinks. `capsules`: those of the pipeline, with those that stand
  /// in. `configs`: by capsule, in place of the recorded ones and of their changes. Throws
  /// InvalidArgument if there is no such stream, or given objects are not those of its frames;
  /// SourceError (source_open), as capsule_file(), for its source; OptionError if a capsule does
  /// not accept a recorded option.
  StreamConfig stream(const std::string& id, std::span<const std::shared_ptr<Capsule>> capsules,
                      const std::map<std::string, JsonValue>& configs = {}) const;

 private:
  Replay() = default;
  const RecordedCapsule& recorded(const std::string& capsule) const;
  const RecordedStream& recorded_stream(const std::string& id) const;
  std::string stream_of(const std::string& id) const;
  void refuse_second(bool is_second, const char* what, const std::string& stream) const;
  void read_objects();
  std::unique_ptr<Source> open_file(const RecordedStream& stream) const;
  std::unique_ptr<Source> open_given(const std::string& id) const;

  std::string folder_;  ///< empty: of_objects()
  std::string name_;    ///< for messages
  ReplaySettings settings_;
  std::map<std::string, std::shared_ptr<const GivenObjects>> objects_;  ///< by stream
  RecordingManifest manifest_;
  std::set<std::string> stand_ins_;
};

}  // namespace vcap
