// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "files/output_file.hpp"
#include "vcap/observe/trace.hpp"
#include "vcap/records/buffered_sink.hpp"

namespace vcap::cli {

/// Where a run's results go, nowhere where the name is empty, and how.
struct OutputPaths {
  std::string jsonl;
  std::string video;
  std::string summary;
  std::string trace;
  WhenSinkFails when_failed = WhenSinkFails::end_stream;
  WhenSinkFull when_slow = WhenSinkFull::wait;
};

/// The files of a run: opened before it begins, so that a wrong path costs no work, and named when
/// it is over. Where finish() is not reached, none of them is left behind.
class RunOutputs {
 public:
  /// Throws OutputError, and UsageError where an output would replace a source or another output.
  RunOutputs(OutputPaths paths, std::vector<std::string> sources);

  /// What a stream writes to. Throws like the constructor.
  std::vector<std::shared_ptr<Sink>> sinks_of_stream(const std::string& stream_id,
                                                     bool one_of_several, double frames_per_second);
  /// Null where there is none.
  const std::shared_ptr<Trace>& trace() const noexcept { return trace_; }
  /// Completes every file and prints the summary, with what was lost to outputs: to standard
  /// output, or, where the records go there, to standard error. Completes all that can be, then
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
