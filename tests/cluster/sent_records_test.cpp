// SPDX-License-Identifier: Apache-2.0
#include "cluster/sent_records.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace vcap::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const StreamEpoch kGate{"gate", 1};
const StreamEpoch kDoor{"door", 7};

std::vector<std::uint64_t> sequences(const std::vector<SentRecords::Message>& messages) {
  std::vector<std::uint64_t> sequences;
  sequences.reserve(messages.size());
  for (const SentRecords::Message& message : messages) sequences.push_back(message.sequence);
  return sequences;
}

TEST(SentRecordsTest, KeepsTheLastOnesOfEachOwnerInOrder) {
  SentRecords sent(100);
  sent.add(kGate, 1, "first");
  sent.add(kDoor, 2, "other");
  sent.add(kGate, 5, "second");
  EXPECT_THAT(sequences(sent.after(kGate, 0)), ElementsAre(1u, 5u));
  EXPECT_THAT(sequences(sent.after(kGate, 1)), ElementsAre(5u));
  EXPECT_THAT(sequences(sent.after(kGate, 5)), IsEmpty());
  EXPECT_THAT(sequences(sent.after(kDoor, 1)), ElementsAre(2u));
  EXPECT_THAT(sequences(sent.after({"gate", 2}, 0)), IsEmpty());
  EXPECT_EQ(sent.after(kGate, 1).front().body, "second");
  EXPECT_FALSE(sent.has_dropped_after(kGate, 0));
}

TEST(SentRecordsTest, DropsTheOldestBeyondItsBytes) {
  SentRecords sent(10);
  sent.add(kGate, 1, "12345");
  sent.add(kDoor, 2, "12345");
  sent.add(kGate, 3, "1234");
  EXPECT_THAT(sequences(sent.after(kGate, 0)), ElementsAre(3u));
  EXPECT_THAT(sequences(sent.after(kDoor, 0)), ElementsAre(2u));
  EXPECT_TRUE(sent.has_dropped_after(kGate, 0));
  EXPECT_FALSE(sent.has_dropped_after(kGate, 1));
  EXPECT_FALSE(sent.has_dropped_after(kDoor, 0));
  sent.add(kDoor, 4, "longer than all bytes");
  EXPECT_THAT(sequences(sent.after(kGate, 0)), IsEmpty());
  EXPECT_THAT(sequences(sent.after(kDoor, 0)), IsEmpty());
}

TEST(SentRecordsTest, HasRoomAgainAfterAnOwnerIsForgotten) {
  SentRecords sent(10);
  sent.add(kGate, 1, "1234567890");
  sent.forget(kGate);
  EXPECT_THAT(sequences(sent.after(kGate, 0)), IsEmpty());
  sent.add(kDoor, 2, "12345");
  sent.add(kDoor, 3, "12345");
  EXPECT_THAT(sequences(sent.after(kDoor, 0)), ElementsAre(2u, 3u));
  sent.add(kDoor, 4, "12345");
  EXPECT_THAT(sequences(sent.after(kDoor, 0)), ElementsAre(3u, 4u));
  sent.forget({"never", 1});
  sent.forget(kDoor);
  sent.add(kDoor, 5, "12345");
  sent.add(kDoor, 6, "1234567");
  EXPECT_THAT(sequences(sent.after(kDoor, 0)), ElementsAre(6u));
}

}  // namespace
}  // namespace vcap::test
