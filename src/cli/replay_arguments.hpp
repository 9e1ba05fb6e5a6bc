// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "cli/access_options.hpp"
#include "cli/resource_arguments.hpp"
#include "cli/run_outputs.hpp"
#include "vcap/loading/load_capsule.hpp"
#include "vcap/pipeline/replay.hpp"
#include "vcap/records/objects_file.hpp"

namespace vcap::cli {

/// What `vcap replay` is given on the command line.
struct ReplayArguments {
  std::string input;  ///< a recording, or a file of objects
  std::string from;
  bool accept_changed = false;
  std::vector<std::string> capsules;        ///< paths
  std::vector<std::string> sources;         ///< STREAM=PATH; with a file of objects also PATH
  std::vector<std::string> objects;         ///< [STREAM=]PATH
  std::vector<std::string> names;           ///< NAME[=CATEGORY]
  RecordReadOptions read;                   ///< of files of objects
  std::vector<std::string> streams;         ///< ids; empty: all
  std::vector<std::string> options;         ///< CAPSULE.NAME=VALUE
  std::vector<std::string> stream_options;  ///< STREAM:CAPSULE.NAME=VALUE
  std::vector<std::string> configs;
  std::vector<std::string> stream_configs;
  std::int64_t max_frames = 0;  ///< 0: all
  double grace = 10;            ///< seconds
  OutputPaths outputs;
  AccessArguments access;
  ResourceArguments resources;

  /// Declares the arguments. This object must live as long as the command.
  void add_to(CLI::App& command);
  /// Whether the input is a recording, and not a file of objects.
  bool is_recording() const;
  /// The files and folders that are read besides sources, which no output may replace.
  std::vector<std::string> inputs() const;
  /// Reads the recording, or the file of objects. Throws UsageError, and as Replay.
  Replay open() const;
  /// Checks that the options are those of capsules that run. Throws UsageError and OptionError.
  void check_options(const std::vector<CapsuleInfo>& running,
                     const std::set<std::string>& stand_ins) const;
  LoadOptions load_options() const;
  std::chrono::nanoseconds grace_time() const;

 private:
  ReplaySettings settings() const;
  std::vector<ReplayOption> read_options() const;
  ObjectsFile objects_file(const std::string& path) const;
  void check_no_recording() const;
  void check_recording() const;
};

}  // namespace vcap::cli
