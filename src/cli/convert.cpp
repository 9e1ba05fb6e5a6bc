// SPDX-License-Identifier: Apache-2.0
// Converts records between formats.
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/export_arguments.hpp"
#include "cli/record_files.hpp"
#include "vcap/base/error.hpp"
#include "vcap/records/record_reader.hpp"
#include "vcap/sources/source.hpp"

namespace vcap::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConvertHelp =
    "Inputs are records of vcap run --jsonl, a COCO file, a sequence of MOT Challenge, a folder of "
    "YOLO labels, a CSV file, a folder of Pascal VOC, or the folder of a job. What the format of "
    "the output cannot hold "
    "is named once, with its "
    "count. Crops need the frames: give their source, read from its beginning, with --source.";

struct ConvertArguments {
  std::string input;
  std::string to;
  std::string out;
  std::string source;
  std::optional<std::string> stream;
  std::optional<std::int64_t> group;
  RecordReadOptions read;
  ExportArguments exports;
};

/// The pixels of frames by rising index.
class Pixels {
 public:
  explicit Pixels(const std::string& name) : name_(name), source_(open_source(name)) {}

  void give_to(FrameRecord& record) {
    if (record.frame.is_null) return;
    const std::int64_t index = record.frame.index;
    while (!frame_ || frame_->index < index) {
      frame_ = source_->read();
      if (!frame_) fail(index, "the source ends before it");
    }
    if (frame_->index != index)
      fail(index, "the source is at frame " + std::to_string(frame_->index) +
                      " already; records must be of one stream (--stream), in order");
    if (!record.resolution.empty() && record.resolution != frame_->image.size())
      fail(index, "it has " + extent(frame_->image.size()) + " pixels there, and " +
                      extent(record.resolution) + " in its record; give the source of the records");
    record.frame.image = frame_->image;
  }

 private:
  static std::string extent(cv::Size size) {
    return std::to_string(size.width) + " × " + std::to_string(size.height);
  }
  [[noreturn]] void fail(std::int64_t index, const std::string& why) const {
    throw UsageError("--source " + name_ + ": frame " + std::to_string(index) + ": " + why);
  }

  const std::string name_;
  const std::unique_ptr<Source> source_;
  std::optional<Frame> frame_;
};

/// Throws UsageError if the output would replace the input.
void check_output(const ConvertArguments& arguments, std::vector<std::string> inputs) {
  std::error_code unknown;
  inputs.push_back(arguments.source);
  for (const std::string& input : inputs)
    if (!input.empty() && fs::equivalent(input, arguments.out, unknown))
      throw UsageError("--out " + arguments.out +
                       " is an input and would be replaced; give another name");
  if (arguments.to == "crops" && arguments.source.empty())
    throw UsageError("--to crops needs the frames; give their source with --source");
}

int convert(const ConvertArguments& arguments) {
  RecordFiles files(
      arguments.read.format ? std::vector{arguments.input} : record_files({arguments.input}),
      arguments.read);
  check_output(arguments, files.files());
  std::optional<Pixels> pixels;
  if (!arguments.source.empty()) pixels.emplace(arguments.source);
  const auto sink = arguments.exports.make_sink(arguments.to, arguments.out);
  std::set<std::string> streams;
  std::size_t count = 0;
  while (std::optional<FrameRecord> record = files.read()) {
    streams.insert(record->stream_id);
    if (arguments.stream && record->stream_id != *arguments.stream) continue;
    if (arguments.group && record->group != arguments.group) continue;
    if (pixels) pixels->give_to(*record);
    sink->write(*record);
    ++count;
  }
  if (arguments.stream && !streams.contains(*arguments.stream))
    throw UsageError(arguments.input + ": it has no stream " + quote(*arguments.stream) +
                     "; there are " + quote_list(streams) + suggestion(*arguments.stream, streams));
  sink->close();
  (arguments.out == "-" ? std::cerr : std::cout)
      << counted(count, "record") << " written to " << printable(arguments.out) << '\n';
  return kDone;
}

}  // namespace

void add_convert(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<ConvertArguments>();
  CLI::App* command = app.add_subcommand(
      "convert", "Converts records to COCO, MOT, YOLO, VOC, CSV, crops, and back");
  command->add_option("INPUT", arguments->input, "The records")->required()->type_name("PATH");
  add_read_options(*command, "--from", arguments->read);
  command->add_option("--to", arguments->to, "The format of the output")
      ->required()
      ->type_name("jsonl|coco|mot|yolo|yolo-seg|voc|csv|crops")
      ->check(CLI::IsMember(kExportFormats).description(""));
  command
      ->add_option("--out", arguments->out,
                   "The file, or for mot (without .txt), yolo, voc and crops the new folder, to "
                   "write; \"-\": standard output, for jsonl, coco, mot and csv")
      ->required()
      ->type_name("PATH");
  command->add_option("--stream", arguments->stream, "Converts only this stream")->type_name("ID");
  command->add_option("--group", arguments->group, "Converts only this group")->type_name("N");
  command
      ->add_option("--source", arguments->source,
                   "The source of the frames, as for vcap run; only crops need it")
      ->type_name("SOURCE");
  arguments->exports.add_to(*command);
  command->footer(std::string(kConvertHelp) + "\n" + kExitCodesHelp);
  command->callback([arguments, &chosen] { chosen = [arguments] { return convert(*arguments); }; });
}

}  // namespace vcap::cli
