// SPDX-License-Identifier: Apache-2.0
#include "cli/export_arguments.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "base/text.hpp"
#include "cli/exit_code.hpp"

namespace vcap::cli {

void ExportArguments::add_to(CLI::App& command) {
  command.add_flag_callback(
      "--yolo-without-confidence", [this] { yolo.confidences = false; },
      "Leaves the confidence out of YOLO labels, as trainers need it");
  command.add_flag("--crop-png", crops.png, "Writes crops as PNG instead of JPEG");
  command.add_option("--crop-quality", crops.quality, "The quality of crops as JPEG (default: 95)")
      ->type_name("N")
      ->check(CLI::Range(1, 100));
  command
      .add_option("--crop-padding", crops.padding,
                  "Adds so many percent of the box's size at each side of a crop (default: 0)")
      ->type_name("PERCENT")
      ->check(CLI::Range(0.0, 1000.0));
}

std::unique_ptr<Sink> ExportArguments::make_sink(const std::string& format,
                                                 const std::string& path) const {
  YoloExport how = yolo;
  how.polygons = format == "yolo-seg";
  if (format == "coco") return make_coco_sink(path);
  if (format == "mot") return make_mot_sink(path);
  if (format == "yolo" || format == "yolo-seg") return make_yolo_sink(path, how);
  if (format == "voc") return make_voc_sink(path);
  if (format == "csv") return make_csv_sink(path);
  if (format == "crops") return make_crop_sink(path, crops);
  return make_json_lines_sink(path);
}

ExportOutput parse_export(const std::string& text) {
  const std::size_t colon = text.find(':');
  ExportOutput output{.format = text.substr(0, colon),
                      .path = colon == std::string::npos ? "" : text.substr(colon + 1)};
  if (std::ranges::find(kExportFormats, output.format) == kExportFormats.end())
    throw UsageError("--export " + quote(text) + ": there is no format " + quote(output.format) +
                     "; write FORMAT:PATH, with one of " + quote_list(kExportFormats) +
                     suggestion(output.format, kExportFormats));
  if (output.path.empty())
    throw UsageError("--export " + quote(text) + ": the path is missing; write FORMAT:PATH");
  return output;
}

}  // namespace vcap::cli
