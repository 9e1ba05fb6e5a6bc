// SPDX-License-Identifier: Apache-2.0
#include "cluster/lease_record.hpp"

#include <array>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cluster/message_json.hpp"

namespace vcap {
namespace {

using nlohmann::json;
using State = LeaseRecord::State;

constexpr const char* kSchema = "vcap.lease/1";
constexpr std::array<std::pair<State, std::string_view>, 5> kLeaseStates{
    {{State::leased, "leased"},
     {State::waiting, "waiting"},
     {State::giving_up, "giving_up"},
     {State::done, "done"},
     {State::given_up, "given_up"}}};

std::string_view text_of(State state) {
  for (const auto& [known, text] : kLeaseStates)
    if (known == state) return text;
  return {};
}

State read_state(const std::string& text) {
  for (const auto& [state, known] : kLeaseStates)
    if (known == text) return state;
  refuse_message(kSchema, "there is no state " + quote(text));
}

}  // namespace

std::string to_message(const LeaseRecord& record) {
  json message = {{"schema", kSchema},
                  {"state", text_of(record.state)},
                  {"number", record.number},
                  {"until_ns", record.until.time_since_epoch().count()},
                  {"place", record.place}};
  if (!record.reasons.empty()) message["reasons"] = record.reasons;
  return message.dump();
}

LeaseRecord read_lease(const std::string& message) {
  const json parsed = parse_message(message, kSchema);
  LeaseRecord record = read_message(kSchema, [&] {
    return LeaseRecord{
        .state = read_state(parsed.at("state")),
        .number = parsed.at("number"),
        .until = Clock::time_point(Clock::duration(parsed.at("until_ns").get<std::int64_t>())),
        .place = parsed.at("place"),
        .reasons = parsed.value("reasons", std::vector<std::string>())};
  });
  if (record.reasons.empty() && record.state != State::leased && record.state != State::waiting)
    refuse_message(kSchema, "no attempt has failed, but its state says so");
  return record;
}

}  // namespace vcap
