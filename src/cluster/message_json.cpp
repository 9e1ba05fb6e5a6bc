// SPDX-License-Identifier: Apache-2.0
#include "cluster/message_json.hpp"

#include "base/text.hpp"
#include "files/strict_json.hpp"
#include "vcap/base/error.hpp"

namespace vcap {

nlohmann::json parse_message(std::string_view message, std::string_view schema) {
  nlohmann::json parsed;
  try {
    parsed = parse_strictly(message);
  } catch (const InvalidArgument& error) {
    refuse_message(schema, error.what());
  }
  if (!parsed.is_object() || !parsed.contains("schema") || !parsed["schema"].is_string())
    refuse_message(schema, "it is not an object with a \"schema\"");
  if (parsed["schema"] != schema)
    refuse_message(schema, "its schema is " + quote(parsed["schema"].get<std::string>()) +
                               "; a process of another version of vcap may have sent it");
  return parsed;
}

void refuse_message(std::string_view schema, const std::string& why) {
  throw ClusterError(ErrorCode::invalid_message,
                     "a message is not a valid " + std::string(schema) + ": " + bounded_text(why));
}

}  // namespace vcap
