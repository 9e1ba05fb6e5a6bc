// SPDX-License-Identifier: Apache-2.0
#include "cluster/broker.hpp"

#include "files/own_library.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

ConnectBroker load_nats() {
  const OwnFunction found = find_own_function("nats", "vcap_nats_1");
  if (found.address == nullptr)
    throw ClusterError(ErrorCode::broker_unreachable, "no cluster can be used: " + found.failure);
  return reinterpret_cast<ConnectBroker (*)()>(found.address)();
}

}  // namespace

std::string_view BrokerMessage::header(std::string_view name) const noexcept {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

BrokerSubscription::~BrokerSubscription() = default;
Broker::~Broker() = default;

std::unique_ptr<Broker> connect_broker(const ClusterSettings& settings, Broker::Observer observer) {
  static const ConnectBroker connect = load_nats();
  return connect(settings, std::move(observer));
}

}  // namespace vcap
