// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "cluster/jobs/site_fixture.hpp"
#include "cluster/secured_servers.hpp"

namespace vcap::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class SecuredJobTest : public SiteTest {
 protected:
  SecuredJobTest() { servers_.start(); }

  /// With the login of a role.
  std::vector<std::string> as(const std::string& role, std::vector<std::string> words,
                              const std::string& url_name = "--nats") const {
    words.insert(words.end(), {url_name, "nats://" + servers_.address(0), "--site", "test",
                               "--nkey", servers_.key(role)});
    return words;
  }

  SecuredServers servers_;
};

/// Also what seldom happens: a worker that dies, a job that is cancelled.
TEST_F(SecuredJobTest, IsDoneWithTheLoginsOfItsRoles) {
  clip("a.mp4", 20);
  clip("bad.mp4", 60);
  const std::vector<std::string> work =
      as("worker",
         {"worker", "--capsules", (folder_ / "worker").string(), "--slots", "1", "--lease", "1"});
  Command first(work);
  Command client(as("client",
                    {"run", job("out", {{"abort_at", 40}}, {{"slices", 3}, {"attempts", 1}})},
                    "--cluster"));
  EXPECT_EQ(first.wait().exit_code, 10);
  Command second(work);
  const Result result = client.wait();
  EXPECT_EQ(result.exit_code, 1) << result << first.err() << second.err();
  EXPECT_THAT(result.out, HasSubstr("videos done      1"));
  EXPECT_THAT(result.out, HasSubstr("attempt 1: the lease ran out"));

  Command unfinished(as("client", {"run", job("slow", {{"delay_us", 50'000}})}, "--cluster"));
  std::string id;
  yield_until("a job", [&] {
    const Result status = vcap(as("reader", {"cluster", "status", "--json"}));
    EXPECT_EQ(status.exit_code, 0) << status;
    const Json jobs = Json::parse(status.out).at("jobs");
    if (!jobs.empty()) id = jobs.at(0).at("id");
    return !id.empty();
  });
  const Result cancelled = vcap(as("client", {"cluster", "cancel", id}));
  EXPECT_EQ(cancelled.exit_code, 0) << cancelled;
  EXPECT_EQ(unfinished.wait().exit_code, 1);
  second.send(SIGTERM);
  const Result ended = second.wait();
  EXPECT_THAT(first.err() + ended.err + result.err, Not(HasSubstr("Permissions")));
}

TEST_F(SecuredJobTest, HasStreamsWithTheLoginsOfItsRoles) {
  clip("a.mp4", 60);
  Command worker(as("worker", {"worker", "--capsules", (folder_ / "worker").string(), "--slots",
                               "1", "--record-time", "0.01"}));
  const Result added =
      vcap(as("client",
              {"stream", "add", "--id", "gate", "--source", (folder_ / "clips/a.mp4").string(),
               "--capsules", capsule("steady")},
              "--cluster"));
  ASSERT_EQ(added.exit_code, 0) << added;
  Command records(
      as("reader", {"stream", "records", "--id", "gate", "--follow", "--all"}, "--cluster"));
  ASSERT_TRUE(records.wait_for_out("\"frame_index\":5")) << records.err() << worker.err();
  const Result status = vcap(as("reader", {"cluster", "status"}));
  EXPECT_EQ(status.exit_code, 0) << status;
  EXPECT_THAT(status.out, HasSubstr("gate"));
  const std::vector<std::string> remove =
      as("client", {"stream", "remove", "--id", "gate"}, "--cluster");
  EXPECT_EQ(vcap(remove).exit_code, 0);
  yield_until("the stream to be gone", [&] {
    const Result list = vcap(as("reader", {"stream", "list"}, "--cluster"));
    EXPECT_EQ(list.exit_code, 0) << list;
    return list.out.find("gate") == std::string::npos;
  });
  const Result events = vcap(as("reader", {"cluster", "events"}));
  EXPECT_THAT(events.out, HasSubstr("gate")) << events;
  records.send(SIGINT);
  worker.send(SIGTERM);
  EXPECT_THAT(worker.wait().err + records.wait().err, Not(HasSubstr("Permissions")));
}

}  // namespace
}  // namespace vcap::test
