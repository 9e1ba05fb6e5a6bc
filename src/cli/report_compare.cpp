// SPDX-License-Identifier: Apache-2.0
#include "cli/report_compare.hpp"

#include <array>
#include <optional>

#include <CLI/CLI.hpp>

#include "base/text.hpp"
#include "cli/exit_code.hpp"
#include "cli/record_files.hpp"

namespace vcap::cli {

void CompareArguments::add_to(CLI::App& command) {
  CLI::Option* const compare =
      command
          .add_option("--compare", runs,
                      "Compares two runs over the same frames, each a file or a folder of records: "
                      "what appeared, vanished and moved, attributes and errors that differ")
          ->expected(2)
          ->type_name("A B");
  command
      .add_option_function<std::string>(
          "--match-by",
          [this](const std::string& what) {
            if (what == "time") options.match_by = ComparisonOptions::MatchBy::pts;
          },
          "With --compare: frames of a stream are the same if they have the same index (frame, the "
          "default) or time, within 10 ms")
      ->type_name("frame|time")
      ->check(CLI::IsMember({"frame", "time"}).description(""))
      ->needs(compare);
  command
      .add_option("--tolerance", options.tolerance,
                  "With --compare: a box has moved if an edge has moved by more pixels than this")
      ->type_name("PIXELS")
      ->check(CLI::NonNegativeNumber.description(""))
      ->capture_default_str()
      ->needs(compare);
  command
      .add_flag("--exit-code", exit_code,
                "With --compare: exit code 1 if the runs differ; otherwise it is 0")
      ->needs(compare);
}

Comparison compare_runs(const CompareArguments& arguments) {
  ComparisonOptions options = arguments.options;
  options.name_a = arguments.runs[0];
  options.name_b = arguments.runs[1];
  Comparison comparison(options);
  std::array<RecordFiles, 2> sides{RecordFiles(record_files({arguments.runs[0]})),
                                   RecordFiles(record_files({arguments.runs[1]}))};
  std::array<bool, 2> ended{};
  ReadingProgress progress;
  while (!ended[0] || !ended[1]) {
    std::size_t side = comparison.wanted() == ComparisonSide::a ? 0 : 1;
    if (ended[side]) side = 1 - side;
    const std::optional<FrameRecord> record = sides[side].read();
    if (!record) {
      ended[side] = true;
      continue;
    }
    comparison.add(side == 0 ? ComparisonSide::a : ComparisonSide::b, *record);
    progress.show(comparison.records(), sides[0].opened() + sides[1].opened(),
                  sides[0].files().size() + sides[1].files().size());
  }
  comparison.finish();
  if (comparison.records() == 0)
    throw UsageError("there are no records in " + quote_list(arguments.runs) +
                     "; give files of vcap run --jsonl");
  return comparison;
}

std::string verdict_line(const Comparison& comparison) {
  const ComparisonTotals totals = comparison.totals();
  switch (comparison.verdict()) {
    case ComparisonVerdict::identical:
      return "identical: " + counted(totals.frames, "frame");
    case ComparisonVerdict::alike: {
      std::string fields;
      for (const auto& [field, count] : totals.other_fields)
        fields += (fields.empty() ? "" : ", ") + field + " in " + std::to_string(count);
      return "alike: " + counted(totals.frames, "frame") + "; other fields differ: " + fields;
    }
    case ComparisonVerdict::different:
      break;
  }
  std::int64_t appeared = 0, vanished = 0, moved = 0;
  for (const auto& [name, objects] : totals.objects) {
    appeared += objects.appeared;
    vanished += objects.vanished;
    moved += objects.moved;
  }
  return "different: " + std::to_string(totals.different) + " of " +
         counted(totals.frames, "frame") + ", " + std::to_string(totals.only_a) + " only in A, " +
         std::to_string(totals.only_b) + " only in B; objects: " + std::to_string(appeared) +
         " appeared, " + std::to_string(vanished) + " vanished, " + std::to_string(moved) +
         " moved";
}

}  // namespace vcap::cli
