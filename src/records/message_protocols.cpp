// SPDX-License-Identifier: Apache-2.0
#include "records/message_protocols.hpp"

#include "files/own_library.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

const MessageProtocols* load_protocols() {
  const OwnFunction found = find_own_function("messages", "vcap_messages_1");
  if (found.address == nullptr)
    throw OutputError(ErrorCode::output_open, "no message can be sent: " + found.failure);
  return reinterpret_cast<const MessageProtocols* (*)()>(found.address)();
}

}  // namespace

MessageProtocols::~MessageProtocols() = default;

const MessageProtocols& message_protocols() {
  static const MessageProtocols* const protocols = load_protocols();
  return *protocols;
}

}  // namespace vcap
