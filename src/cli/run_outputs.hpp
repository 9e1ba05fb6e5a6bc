// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "files/output_file.hpp"
#include "vcap/media/video_encoding.hpp"
#include "vcap/observe/trace.hpp"
#include "vcap/records/buffered_sink.hpp"

namespace vcap::cli {

/// Where a run's results go, and how; an empty name means no output.
struct OutputPaths {
  std::string jsonl;
  std::string video;
  VideoEncoding encoding{};  ///< of `video`
  std::string summary;
  std::string trace;
  SinkFailurePolicy failure = SinkFailurePolicy::end_stream;
  SinkOverflowPolicy when_slow = SinkOverflowPolicy::wait;
};

/// The files of a run. They are opened before the run begins, so that a wrong path is found early,
/// and get their names at its end. If finish() is not reached, no file is left behind.
class RunOutputs {
 public:
  /// Throws OutputError, and UsageError if an output would replace a source or another output.
  RunOutputs(OutputPaths paths, std::vector<std::string> sources);

  /// The sinks of one stream. Throws like the constructor.
  std::vector<std::shared_ptr<Sink>> sinks_of_stream(const std::string& stream_id,
                                                     bool one_of_several, double frames_per_second);
  /// Null if there is no trace.
  const std::shared_ptr<Trace>& trace() const noexcept { return trace_; }
  /// Completes every file and prints the summary, including what outputs lost: to standard output,
  /// or to standard error if the records go to standard output. Completes as many as possible, then
  /// throws the first OutputError.
  void finish(std::string summary);

 private:
  struct Output {
    std::string path;
    std::shared_ptr<Sink> sink;
  };

  std::shared_ptr<Sink> add_sink(const std::string& path, std::shared_ptr<Sink> sink);
  std::string losses() const;
  void check_free(const std::string& path);

  OutputPaths paths_;
  std::vector<std::string> sources_;
  std::vector<std::string> names_;  ///< checked so far
  std::optional<OutputFile> summary_;
  std::shared_ptr<Sink> jsonl_;
  std::shared_ptr<Trace> trace_;
  std::vector<Output> outputs_;
};

}  // namespace vcap::cli
