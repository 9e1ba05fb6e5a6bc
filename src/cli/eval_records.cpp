// SPDX-License-Identifier: Apache-2.0
#include "cli/eval_records.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "files/strict_json.hpp"
#include "records/input_file.hpp"
#include "records/record_line.hpp"
#include "vcap/base/error.hpp"

namespace vcap::cli {
namespace {

using Json = nlohmann::json;

/// Reads one file's records.
class RecordsReader {
 public:
  RecordsReader(const std::string& path, const EvalRecordsWanted& wanted)
      : input_(path), wanted_(wanted) {}

  EvalRecords read() {
    input_.each_line([this](std::string_view line, std::size_t number) { add(line, number); });
    check_choice();
    std::ranges::sort(result_.records, {}, &EvalRecord::frame_index);
    const auto twice = std::ranges::adjacent_find(result_.records, {}, &EvalRecord::frame_index);
    if (twice != result_.records.end())
      input_.fail("line " + std::to_string(std::max(twice->line, std::next(twice)->line)),
                  "frame " + std::to_string(twice->frame_index) + " is already in line " +
                      std::to_string(std::min(twice->line, std::next(twice)->line)) +
                      "; a frame has one record");
    return std::move(result_);
  }

 private:
  void add(std::string_view line, std::size_t number) {
    const std::string place = "line " + std::to_string(number);
    const Json record = parse(line, place);
    const std::string stream = input_.text(record, "stream_id", place);
    const auto group = input_.optional_integer(record, "group", place);
    streams_.insert(stream);
    if (wanted_.stream && stream != *wanted_.stream) return;
    groups_.insert(group ? std::to_string(*group) : "");
    if (wanted_.group && group != wanted_.group) return;
    result_.stream = stream;
    EvalRecord& added = result_.records.emplace_back();
    added.frame_index = input_.integer(record, "frame_index", place);
    added.line = number;
    if (added.frame_index < 0)
      input_.fail(place, "\"frame_index\" is " + std::to_string(added.frame_index) +
                             "; frames are counted from 0");
    add_objects(input_.array(record, "objects", place), place, added);
    check_tracks(added, place);
  }

  Json parse(std::string_view line, const std::string& place) const {
    try {
      Json record = parse_strictly(line, kMostRecordLevels);
      if (record.is_object()) return record;
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(ErrorCode::invalid_json, input_.path() + ", " + place + ": " +
                                                         error.what() + "; " + kWhatIsRead);
    }
    throw InvalidArgument(
        ErrorCode::invalid_json,
        input_.path() + ", " + place + ": the line is not an object; " + kWhatIsRead);
  }

  void add_objects(const Json& objects, const std::string& place, EvalRecord& record) {
    for (const Json& object : objects) {
      EvalFound found{.name = input_.text(object, "name", place)};
      const bool has_box = object.contains("bbox");
      if (has_box) {
        const Json& box = object.at("bbox");
        const double width = input_.number(box, "w", place);
        const double height = input_.number(box, "h", place);
        found.box.box = input_.box(input_.number(box, "x", place), input_.number(box, "y", place),
                                   width, height, place);
        found.box.area = width * height;
      }
      if (const auto confidence = input_.optional_number(object, "confidence", place))
        found.box.score = *confidence;
      else
        ++result_.without_confidence;
      if (const auto track = input_.optional_text(object, "track_id", place))
        found.track =
            tracks_.try_emplace(*track, static_cast<std::int64_t>(tracks_.size())).first->second;
      add_attributes(object, place, found);
      if (has_box || !wanted_.boxes)
        record.objects.push_back(std::move(found));
      else
        ++result_.without_box;
      if (object.contains("children"))
        add_objects(input_.array(object, "children", place), place, record);
    }
  }

  void add_attributes(const Json& object, const std::string& place, EvalFound& found) const {
    const auto attributes = object.find("attributes");
    if (attributes == object.end()) return;
    if (!attributes->is_object()) input_.fail(place, "\"attributes\" is not an object");
    for (const auto& [category, value] : attributes->items())
      found.attributes[category] = input_.text(*attributes, category.c_str(), place);
  }

  void check_tracks(const EvalRecord& record, const std::string& place) const {
    std::set<std::int64_t> seen;
    for (const EvalFound& found : record.objects)
      if (found.track && !seen.insert(*found.track).second)
        input_.fail(place, "two objects have the track_id " + quote(name_of(*found.track)) +
                               "; give each object of a frame its own track_id");
  }

  std::string name_of(std::int64_t track) const {
    return std::ranges::find(tracks_, track, [](const auto& one) { return one.second; })->first;
  }

  void check_choice() const {
    if (streams_.empty()) input_.fail("", std::string("it has no records; ") + kWhatIsRead);
    if (wanted_.stream && !streams_.contains(*wanted_.stream))
      input_.fail("", "it has no stream " + quote(*wanted_.stream) + "; there are " +
                          quote_list(streams_) + suggestion(*wanted_.stream, streams_));
    if (!wanted_.stream && streams_.size() > 1)
      input_.fail("", "it has the records of several streams, " + quote_list(streams_) +
                          "; choose one with --stream");
    if (result_.records.empty())
      input_.fail("", "it has no group " + std::to_string(wanted_.group.value_or(0)) +
                          " of stream " + quote(*streams_.begin()));
    if (!wanted_.group && groups_.size() > 1)
      input_.fail("", "stream " + quote(result_.stream) + " has " + std::to_string(groups_.size()) +
                          " groups, each with its own frame numbers; choose one with --group");
  }

  static constexpr const char* kWhatIsRead =
      "expected is a file of vcap run --jsonl, with one record per line (docs/records.md)";

  InputFile input_;
  const EvalRecordsWanted& wanted_;
  EvalRecords result_;
  std::set<std::string> streams_, groups_;
  std::unordered_map<std::string, std::int64_t> tracks_;
};

}  // namespace

EvalRecords read_records(const std::string& path, const EvalRecordsWanted& wanted) {
  return RecordsReader(path, wanted).read();
}

}  // namespace vcap::cli
