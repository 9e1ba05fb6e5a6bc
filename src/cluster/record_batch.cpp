// SPDX-License-Identifier: Apache-2.0
#include "cluster/record_batch.hpp"

#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cluster/message_json.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using nlohmann::json;

constexpr const char* kRecords = "vcap.records/1";

/// Without its closing brace.
std::string head(const StreamEpoch& epoch, const std::string& worker, std::int64_t next_index,
                 std::chrono::nanoseconds pts, std::uint64_t count) {
  std::string text = json{
      {"schema", kRecords}, {"stream_id", epoch.stream},      {"epoch", epoch.epoch},
      {"worker", worker},   {"next_frame_index", next_index}, {"pts_ns", pts.count()},
      {"count", count}}.dump(-1, ' ', false, json::error_handler_t::replace);
  text.pop_back();
  return text;
}

}  // namespace

std::string to_key(const StreamEpoch& epoch) {
  return std::to_string(epoch.epoch) + '/' + epoch.stream;
}

StreamEpoch read_key(std::string_view key) {
  StreamEpoch epoch;
  const char* const end = key.data() + key.size();
  const auto [rest, error] = std::from_chars(key.data(), end, epoch.epoch);
  if (error != std::errc() || rest == end || *rest != '/')
    throw ClusterError(ErrorCode::invalid_message,
                       "a message in the spool has the invalid key " + quote(key));
  epoch.stream.assign(rest + 1, end);
  return epoch;
}

RecordBatchHead read_head(const std::string& message) {
  const json parsed = parse_message(message, kRecords);
  return read_message(kRecords, [&] {
    RecordBatchHead result{
        .epoch = parsed.at("epoch"),
        .worker = parsed.at("worker"),
        .next_frame_index = parsed.at("next_frame_index"),
        .pts = std::chrono::nanoseconds(parsed.at("pts_ns").get<std::int64_t>())};
    result.number = parsed.value("number", std::uint64_t{0});
    if (parsed.contains("message")) {
      result.spool = parsed["message"].at("spool");
      result.sequence = parsed["message"].at("sequence");
    }
    return result;
  });
}

std::vector<std::string> read_records(const std::string& message) {
  const nlohmann::ordered_json parsed = nlohmann::ordered_json::parse(message, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("schema") || parsed["schema"] != kRecords ||
      !parsed.contains("records") || !parsed["records"].is_array())
    refuse_message(kRecords, "it has no list of records");
  std::vector<std::string> records;
  for (const nlohmann::ordered_json& record : parsed["records"])
    records.push_back(
        record.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  return records;
}

std::string begin_message(const StreamEpoch& epoch, const std::string& worker,
                          const EpochBegin& begin) {
  const json begins = {{"discontinuity", begin.is_first ? "start" : "reconnect"},
                       {"restored", begin.restored},
                       {"renewed", begin.renewed}};
  return head(epoch, worker, begin.frame_index, begin.pts, 0) + R"(,"begins":)" +
         begins.dump(-1, ' ', false, json::error_handler_t::replace) + R"(,"records":[]})";
}

RecordBatch::RecordBatch(StreamEpoch epoch, std::string worker)
    : epoch_(std::move(epoch)), worker_(std::move(worker)) {}

void RecordBatch::add(std::string_view record, std::int64_t frame_index,
                      std::chrono::nanoseconds pts) {
  if (count_ > 0) records_ += ',';
  records_ += record;
  ++count_;
  last_index_ = frame_index;
  last_pts_ = pts;
}

std::string RecordBatch::take() {
  constexpr std::string_view kBegin = R"(,"records":[)";
  constexpr std::string_view kEnd = "]}";
  const std::string begin = head(epoch_, worker_, last_index_ + 1, last_pts_, count_) +
                            R"(,"number":)" + std::to_string(++number_);
  std::string message;
  message.reserve(begin.size() + kBegin.size() + records_.size() + kEnd.size());
  message.append(begin).append(kBegin).append(records_).append(kEnd);
  records_.clear();  // its memory serves the next ones
  count_ = 0;
  return message;
}

}  // namespace vcap
