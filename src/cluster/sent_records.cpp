// SPDX-License-Identifier: Apache-2.0
#include "cluster/sent_records.hpp"

#include <algorithm>
#include <utility>

namespace vcap {

void SentRecords::add(const StreamEpoch& epoch, std::uint64_t sequence, std::string body) {
  bytes_ += body.size();
  lanes_[epoch].messages.push_back({sequence, std::move(body)});
  order_.push_back(epoch);
  while (bytes_ > most_bytes_) drop_oldest();
}

void SentRecords::drop_oldest() {
  Lane& lane = lanes_.at(order_.front());
  order_.pop_front();
  const Message& oldest = lane.messages.front();
  bytes_ -= oldest.body.size();
  lane.dropped = oldest.sequence;
  lane.messages.pop_front();
}

std::vector<SentRecords::Message> SentRecords::after(const StreamEpoch& epoch,
                                                     std::uint64_t sequence) const {
  const auto lane = lanes_.find(epoch);
  if (lane == lanes_.end()) return {};
  const std::deque<Message>& messages = lane->second.messages;
  return {std::ranges::upper_bound(messages, sequence, {}, &Message::sequence), messages.end()};
}

bool SentRecords::has_dropped_after(const StreamEpoch& epoch, std::uint64_t sequence) const {
  const auto lane = lanes_.find(epoch);
  return lane != lanes_.end() && lane->second.dropped > sequence;
}

void SentRecords::forget(const StreamEpoch& epoch) {
  const auto lane = lanes_.find(epoch);
  if (lane == lanes_.end()) return;
  for (const Message& message : lane->second.messages) bytes_ -= message.body.size();
  lanes_.erase(lane);
  std::erase(order_, epoch);
}

}  // namespace vcap
