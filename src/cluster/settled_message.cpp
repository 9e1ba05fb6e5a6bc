// SPDX-License-Identifier: Apache-2.0
#include "cluster/settled_message.hpp"

#include "base/text.hpp"
#include "cluster/message_json.hpp"

namespace vcap {
namespace {

constexpr const char* kSettled = "vcap.settled/1";

}  // namespace

std::string to_message(const SettledMessage& settled) {
  nlohmann::json message = {{"schema", kSettled},
                            {"outcome", settled.is_done ? "done" : "given_up"}};
  if (settled.is_done)
    message["result"] = settled.result;
  else
    message["reasons"] = settled.reasons;
  return message.dump();
}

SettledMessage read_settled(const std::string& message) {
  const nlohmann::json parsed = parse_message(message, kSettled);
  return read_message(kSettled, [&] {
    const std::string outcome = parsed.at("outcome");
    if (outcome == "done") return SettledMessage{.is_done = true, .result = parsed.at("result")};
    if (outcome != "given_up") refuse_message(kSettled, "its outcome is " + quote(outcome));
    SettledMessage settled{.reasons = parsed.at("reasons")};
    if (settled.reasons.empty()) refuse_message(kSettled, "it has no reasons");
    return settled;
  });
}

}  // namespace vcap
