// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_annotations.hpp"
#include "cli/export_arguments.hpp"
#include "cli/given_rules.hpp"
#include "cli/publish_arguments.hpp"
#include "cli/run_report.hpp"
#include "files/output_file.hpp"
#include "vcap/image/annotator.hpp"
#include "vcap/media/video_encoding.hpp"
#include "vcap/observe/trace.hpp"
#include "vcap/pipeline/metrics_server.hpp"
#include "vcap/records/buffered_sink.hpp"
#include "vcap/records/event_sink.hpp"

namespace vcap::cli {

/// Where a run's results go, and how; an empty name means no output.
struct OutputPaths {
  std::string jsonl;
  std::string video;
  VideoEncoding encoding{};          ///< of `video`
  std::string picture;               ///< what `video` shows; empty: the frames with the results
  std::string draw;                  ///< what is drawn on frames; empty: drawn_parts() decides
  std::vector<std::string> exports;  ///< as given: FORMAT:PATH
  ExportArguments export_as{};
  std::string summary;
  std::string trace;
  bool frame_lines = false;         ///< a line for each frame on standard output
  std::vector<std::string> events;  ///< files of rules, as [STREAM=]PATH
  std::string event_log;
  std::string event_snapshots;
  std::string event_clips;
  double event_pre_roll = 5;    ///< seconds
  double event_post_roll = 5;   ///< seconds
  double event_longest = 600;   ///< seconds; of a clip
  bool sources_repeat = false;  ///< so the frames' times are not those of the sources' files
  std::string report;
  PublishArguments publish{};
  std::vector<std::string> capsules{};  ///< their names
  /// Files and folders that are read besides the sources, which no output may replace either.
  std::vector<std::string> inputs{};
  std::string record;          ///< folder of the recording (RunRecording)
  bool record_copies = false;  ///< the recording holds pictures and capsules, whatever the sources
  SinkFailurePolicy failure = SinkFailurePolicy::end_stream;
  SinkOverflowPolicy when_slow = SinkOverflowPolicy::wait;

  /// The list for make_annotators(): `draw`, or the default, which has zones if there are rules.
  std::string drawn_parts() const;
};

/// The files of a run. They are opened before the run begins, so that a wrong path is found early,
/// and get their names at its end. Until then they are NAME.part, and stay so if finish() is not
/// reached, unless they are empty. The event journal is appended to under its own name. Thread
/// safety: finish(), drop_empty(), sinks_of_stream() and annotator_of() are thread-safe; the rest
/// is thread-compatible.
class RunOutputs {
 public:
  /// `streams`: their ids, one for each source; empty: those of stream_ids(). Throws OutputError,
  /// and UsageError if an output would replace a source or another output.
  RunOutputs(OutputPaths paths, std::vector<std::string> sources,
             std::vector<std::string> streams = {});

  /// The sinks of one stream; none after finish() or drop_empty(), since the process is being left.
  /// Throws like the constructor.
  std::vector<std::shared_ptr<Sink>> sinks_of_stream(const std::string& stream_id,
                                                     bool one_of_several, double frames_per_second)
      VCAP_EXCLUDES(finishing_);
  /// Completes a recording with the other outputs. `name`: for the summary.
  void add_recording(const std::string& name, std::shared_ptr<Sink> sink) VCAP_EXCLUDES(finishing_);
  /// What draws on the frames of a stream: on its clip, and wherever else it is shown.
  std::unique_ptr<Annotator> annotator_of(const std::string& stream_id) const;
  /// For the metrics of the run. Publishers of the same name get numbers.
  MetricsServer::Publishers publishers() const;
  /// Null if there is no trace.
  const std::shared_ptr<Trace>& trace() const noexcept { return trace_; }
  /// Null if there is no report.
  RunReport* report() const noexcept { return report_.get(); }
  /// Completes every file and prints the summary, including what outputs lost: to standard output,
  /// or to standard error if the records go to standard output. Completes as many as possible, then
  /// throws the first OutputError. Idempotent: a second call waits for the first, and does nothing.
  void finish(std::string summary) VCAP_EXCLUDES(finishing_);
  /// Removes what has no records. After finish(), it does nothing.
  void drop_empty() VCAP_EXCLUDES(finishing_);
  /// The names of files that are not finished, as "a.jsonl.part, clip.mp4.part"; empty if there is
  /// none.
  std::string unfinished() const;

 private:
  struct Output {
    std::string path;
    std::shared_ptr<Sink> sink;
  };

  void open_events();
  EventClipSettings event_clips() const;
  void open_frame_publishers();
  void end_publishers();
  std::unique_ptr<Sink> make_video_sink(const std::string& path, const std::string& stream_id,
                                        double frames_per_second) const;
  void open_exports();
  bool uses_standard_output() const;
  std::shared_ptr<Sink> add_sink(const std::string& path, std::shared_ptr<Sink> sink);
  std::vector<std::string> losses() const;
  void check_free(const std::string& path) const;
  void claim(const std::string& path);

  OutputPaths paths_;
  std::vector<std::string> sources_;
  std::vector<std::string> streams_;
  GivenRules rules_;                ///< of --events
  std::vector<std::string> names_;  ///< claimed so far
  std::optional<OutputFile> summary_;
  std::shared_ptr<Sink> jsonl_;
  std::vector<std::shared_ptr<Sink>> shared_;  ///< further outputs that all streams write to
  std::vector<ExportOutput> per_stream_;       ///< exports of which each stream has its own
  std::shared_ptr<Trace> trace_;
  std::unique_ptr<RunReport> report_;
  std::vector<Output> outputs_;
  std::vector<NamedPublisher> publishers_;  ///< ended after the outputs, which write to them
  Mutex finishing_;                         ///< held while files are made or completed
  bool finished_ VCAP_GUARDED_BY(finishing_) = false;
};

}  // namespace vcap::cli
