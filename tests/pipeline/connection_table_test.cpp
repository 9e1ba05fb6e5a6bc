// SPDX-License-Identifier: Apache-2.0
#include "pipeline/connection_table.hpp"

#include <gmock/gmock.h>

#include <optional>

namespace vcap::test {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr ConnectionLimits kLimits{.connections = 4,
                                   .per_address = 2,
                                   .request_deadline = seconds(3),
                                   .answer_deadline = seconds(10)};

class Connections : public testing::Test {
 protected:
  using Time = ConnectionTable::time_point;

  static Time at(int second) { return Time(seconds(second)); }
  /// Connects, and expects that the connection `evicted` makes room, if any.
  void open(int socket, std::uint32_t address, int second, std::optional<int> evicted = {}) {
    const auto admission = table_.admit(address);
    EXPECT_TRUE(admission.admitted) << socket;
    EXPECT_EQ(admission.evicted, evicted) << socket;
    table_.open(socket, address, at(second));
  }

  ConnectionTable table_{kLimits};
};

TEST_F(Connections, OfOneAddressReplaceTheOldestOneThatSentNoRequest) {
  open(7, 1, 0);
  open(5, 1, 0);
  open(6, 1, 1, 7);
  open(9, 1, 2, 5);
  EXPECT_EQ(table_.size(), 2u);
  open(10, 2, 3);  // not affected
}

TEST_F(Connections, OfAllAddressesReplaceTheOldestOneThatSentNoRequest) {
  for (int i = 0; i < 4; ++i) open(i, static_cast<std::uint32_t>(i), i);
  open(4, 4, 4, 0);
  open(5, 5, 5, 1);
  EXPECT_EQ(table_.size(), 4u);
}

TEST_F(Connections, AreNotEvictedWhileTheyAreAnswered) {
  open(1, 1, 0);
  table_.request_complete(1, at(0));
  open(2, 1, 0);
  open(3, 1, 1, 2);
  table_.request_complete(3, at(1));
  const auto admission = table_.admit(1);
  EXPECT_FALSE(admission.admitted);
  EXPECT_EQ(admission.evicted, std::nullopt);
  table_.close(1);
  open(4, 1, 2);
}

TEST_F(Connections, EndAtTheirDeadlineHoweverMuchWasSent) {
  EXPECT_EQ(table_.next_deadline(), std::nullopt);
  open(1, 1, 0);
  open(2, 2, 1);
  EXPECT_EQ(table_.next_deadline(), at(3));
  EXPECT_THAT(table_.end_overdue(at(2)), IsEmpty());
  EXPECT_THAT(table_.end_overdue(at(3)), ElementsAre(1));
  EXPECT_THAT(table_.end_overdue(at(3)), IsEmpty()) << "each is given once";
  EXPECT_EQ(table_.next_deadline(), at(4));
  table_.request_complete(2, at(4));
  EXPECT_EQ(table_.next_deadline(), at(14));
  EXPECT_THAT(table_.end_overdue(at(14)), ElementsAre(2));
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(Connections, CanUseTheSocketsOfClosedOnes) {
  open(1, 1, 0);
  table_.close(1);
  table_.close(1);  // idempotent
  open(1, 2, 5);
  EXPECT_EQ(table_.next_deadline(), at(8));
  table_.request_complete(99, at(5));  // unknown: nothing happens
  EXPECT_EQ(table_.size(), 1u);
}

TEST_F(Connections, WithAnAdmittedBodyAreRenewedByItsProgress) {
  open(1, 1, 0);
  table_.body_begins(1, at(2));
  EXPECT_EQ(table_.next_deadline(), at(5));
  table_.body_received(1, ConnectionLimits::kLeastBody - 1, at(3));
  EXPECT_EQ(table_.next_deadline(), at(5)) << "too little came";
  table_.body_received(1, ConnectionLimits::kLeastBody, at(4));
  EXPECT_EQ(table_.next_deadline(), at(7));
  table_.body_received(1, 2 * ConnectionLimits::kLeastBody - 1, at(5));
  EXPECT_EQ(table_.next_deadline(), at(7)) << "too little came since then";
  table_.body_received(1, 10 * ConnectionLimits::kLeastBody, at(6));
  EXPECT_EQ(table_.next_deadline(), at(9));
  EXPECT_THAT(table_.end_overdue(at(9)), ElementsAre(1));
}

TEST_F(Connections, WithAnAdmittedBodyAreNotEvicted) {
  open(1, 1, 0);
  table_.body_begins(1, at(0));
  open(2, 1, 0);
  open(3, 1, 1, 2);
}

TEST_F(Connections, ThatWaitForTheServerHaveNoDeadline) {
  open(1, 1, 0);
  table_.wait(1);
  EXPECT_EQ(table_.next_deadline(), std::nullopt);
  EXPECT_THAT(table_.end_overdue(at(1000)), IsEmpty());
  open(2, 1, 1000);
  open(3, 1, 1001, 2);  // the one that waits is not evicted
  EXPECT_EQ(table_.next_deadline(), at(1004));
  table_.request_complete(1, at(1001));
  table_.close(3);
  EXPECT_EQ(table_.next_deadline(), at(1011));
}

TEST_F(Connections, ThatAreUnknownAreIgnored) {
  table_.body_begins(1, at(0));
  table_.body_received(1, 1 << 20, at(0));
  table_.wait(1);
  table_.request_complete(1, at(0));
  table_.close(1);
  EXPECT_EQ(table_.size(), 0u);
  EXPECT_EQ(table_.next_deadline(), std::nullopt);
}

}  // namespace
}  // namespace vcap::test
