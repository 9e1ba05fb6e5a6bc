// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

#include "vcap/records/export_sinks.hpp"

namespace vcap::cli {

/// The formats that records are written in, as one word for --to and --export.
inline const std::vector<std::string> kExportFormats{"jsonl",    "coco", "mot", "yolo",
                                                     "yolo-seg", "voc",  "csv", "crops"};

/// How records are written in other formats.
struct ExportArguments {
  YoloExport yolo{};
  CropExport crops{};

  /// This object must live as long as the command.
  void add_to(CLI::App& command);
  /// Throws like the sinks of vcap/records/export_sinks.hpp. `format`: of kExportFormats.
  std::unique_ptr<Sink> make_sink(const std::string& format, const std::string& path) const;
};

/// An output of `vcap run`.
struct ExportOutput {
  std::string format{};
  std::string path{};

  /// MOT holds one stream, so each stream gets its own output.
  bool is_per_stream() const { return format == "mot"; }
};

/// "coco:frames.json". Throws UsageError that names the value.
ExportOutput parse_export(const std::string& text);

}  // namespace vcap::cli
