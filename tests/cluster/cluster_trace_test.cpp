// SPDX-License-Identifier: Apache-2.0
#include "vcap/cluster/cluster_trace.hpp"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cluster/nats_server.hpp"
#include "cluster/site_events.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using Json = nlohmann::json;

class ClusterTraceTest : public testing::Test {
 protected:
  void tell(const std::string& who, const std::string& what, Json details) {
    tell_site(*cluster_, who, what, std::move(details));
  }
  /// Events of the trace in this phase.
  std::vector<Json> events(const std::string& id, const std::string& phase) {
    std::vector<Json> found;
    const Json trace = *cluster_trace(cluster_, id);
    for (const Json& event : trace.at("traceEvents"))
      if (event.at("ph") == phase) found.push_back(event);
    return found;
  }

  NatsServer server_;
  const std::shared_ptr<Cluster> cluster_ = Cluster::connect(server_.settings());
};

TEST_F(ClusterTraceTest, HasAnArrowFromAFailedAttemptToTheNextOne) {
  tell("w1", "slice failed",
       {{"job", "7"},
        {"slice", "a/1/0"},
        {"parts", Json::parse(R"([["open", 0.25], ["run", 0.5]])")}});
  tell("w2", "slice done",
       {{"job", "7"}, {"slice", "a/1/0"}, {"parts", Json::parse(R"([["run", 0]])")}});
  tell("w2", "slice done",
       {{"job", "8"}, {"slice", "a/1/0"}, {"parts", Json::parse(R"([["run", 0.1]])")}});
  const std::vector<Json> spans = events("7", "X");
  ASSERT_THAT(spans, SizeIs(5));
  EXPECT_EQ(spans[0].at("name"), "slice failed");
  EXPECT_EQ(spans[0].at("ts"), 0);
  EXPECT_EQ(spans[0].at("dur"), 750'000);
  EXPECT_EQ(spans[2].at("name"), "run");
  EXPECT_EQ(spans[2].at("ts"), 250'000);
  EXPECT_EQ(spans[3].at("name"), "slice done");
  const std::vector<Json> from = events("7", "s");
  const std::vector<Json> to = events("7", "f");
  ASSERT_THAT(from, SizeIs(1));
  ASSERT_THAT(to, SizeIs(1));
  EXPECT_EQ(from[0].at("pid"), spans[0].at("pid"));
  EXPECT_EQ(to[0].at("pid"), spans[3].at("pid"));
  EXPECT_NE(from[0].at("pid"), to[0].at("pid"));
}

TEST_F(ClusterTraceTest, ShowsTheOwnersOfAStreamOneAfterTheOther) {
  tell("w1", "stream claimed", {{"stream", "gate"}, {"epoch", 1}});
  tell("w1", "stream begun", {{"stream", "gate"}, {"epoch", 1}});
  // It has died.
  tell("w2", "stream taken over", {{"stream", "gate"}, {"epoch", 2}});
  tell("w1", "stream lost", {{"stream", "gate"}, {"epoch", 1}});  // and comes back
  tell("w2", "stream released", {{"stream", "gate"}, {"epoch", 2}, {"reason", "it drains"}});
  const std::vector<Json> spans = events("gate", "X");
  ASSERT_THAT(spans, SizeIs(2));
  EXPECT_EQ(spans[0].at("args").at("epoch"), 1);
  EXPECT_EQ(spans[1].at("args").at("epoch"), 2);
  EXPECT_EQ(spans[1].at("args").at("reason"), "it drains");
  EXPECT_DOUBLE_EQ(spans[0].at("ts").get<double>() + spans[0].at("dur").get<double>(),
                   spans[1].at("ts").get<double>());
  EXPECT_THAT(events("gate", "s"), SizeIs(1));
  EXPECT_THAT(events("gate", "i"), SizeIs(5));
}

TEST_F(ClusterTraceTest, SpansThatOverlapAreInDifferentLanes) {
  for (const char* const slice : {"a", "b", "c"})
    tell("w", "slice done",
         {{"job", "7"}, {"slice", slice}, {"parts", Json::parse(R"([["run", 100]])")}});
  std::vector<int> lanes;
  for (const Json& span : events("7", "X"))
    if (span.at("name") == "slice done") lanes.push_back(span.at("tid").get<int>());
  EXPECT_THAT(lanes, ElementsAre(1, 2, 3));
}

TEST_F(ClusterTraceTest, TakesPartsOfNoOtherForm) {
  for (const char* const parts :
       {"5", R"(["run", 1])", R"([["run", "long"]])", R"([{"a": 1}])", R"([["run", 1, 2]])",
        R"([["run", 1e300], ["run", 1e300]])", R"([["run", -1e300]])"})
    tell("w", "odd", {{"job", "7"}, {"trace", "8"}, {"parts", Json::parse(parts)}});
  tell("w", "odd", {{"job", "7"}, {"epoch", Json::array()}});
  constexpr double kWeek = 7 * 24 * 3600e6;
  const std::vector<Json> spans = events("7", "X");
  EXPECT_THAT(spans, Not(IsEmpty()));
  for (const Json& span : spans) {
    EXPECT_GE(span.at("dur"), 0);
    EXPECT_LE(span.at("dur"), 2 * kWeek);
    EXPECT_EQ(span.at("args").at("trace"), "7");
  }
}

TEST_F(ClusterTraceTest, SaysThatThereIsNoSuchJobOrStream) {
  EXPECT_THAT([&] { cluster_trace(cluster_, "nosuch"); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("\"nosuch\"")));
}

}  // namespace
}  // namespace vcap::test
