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
  std::string jobs;
  yield_until("a job", [&] {
    const Result status = vcap(as("reader", {"cluster", "status"}));
    EXPECT_EQ(status.exit_code, 0) << status;
    jobs = status.out;
    return jobs.find("running") != std::string::npos;
  });
  const std::string id = jobs.substr(0, jobs.find(' '));
  const Result cancelled = vcap(as("client", {"cluster", "cancel", id}));
  EXPECT_EQ(cancelled.exit_code, 0) << cancelled;
  EXPECT_EQ(unfinished.wait().exit_code, 1);
  second.send(SIGTERM);
  const Result ended = second.wait();
  EXPECT_THAT(first.err() + ended.err + result.err, Not(HasSubstr("Permissions")));
}

}  // namespace
}  // namespace vcap::test
