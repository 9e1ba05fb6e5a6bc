// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <filesystem>
#include <memory>
#include <string>

#include "cluster/cluster_impl.hpp"
#include "cluster/object_store.hpp"
#include "cluster/permissions.hpp"
#include "cluster/secured_servers.hpp"
#include "support/test_certificate.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/cluster/cluster_queue.hpp"
#include "vcap/cluster/job_list.hpp"

namespace vcap::test {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::SizeIs;
using Kind = Site::Kind;

auto refused(const std::string& words) {
  return ThrowsError<ClusterError>(ErrorCode::broker_refused, HasSubstr(words));
}

class LoginTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    servers = std::make_unique<SecuredServers>();
    servers->start();
  }
  static void TearDownTestSuite() { servers.reset(); }

  static std::shared_ptr<Cluster> connect(const std::string& role) {
    return Cluster::connect(servers->settings(role));
  }

  static inline std::unique_ptr<SecuredServers> servers;
};

TEST_F(LoginTest, NeedsTheKeyOfARole) {
  EXPECT_TRUE(connect("client")->is_connected());
  ClusterSettings settings = servers->settings("client");
  settings.nkey.clear();
  EXPECT_THAT([&] { Cluster::connect(settings); }, refused("login"));
  const TemporaryFolder folder;
  settings.nkey = folder / "other.nk";
  Nkey::generate().save(settings.nkey);
  const std::string seed = read_file(settings.nkey);
  EXPECT_THAT(
      [&] { Cluster::connect(settings); },
      ThrowsError<ClusterError>(ErrorCode::broker_refused,
                                AllOf(HasSubstr("login"), Not(HasSubstr(seed.substr(0, 10))))));
  settings.nkey = folder.write("invalid.nk", "SUAAA");
  EXPECT_THAT([&] { Cluster::connect(settings); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_key, HasSubstr("invalid.nk")));
  settings.credentials = settings.nkey;
  EXPECT_THAT([&] { Cluster::connect(settings); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("one of them")));
}

TEST_F(LoginTest, OfAWorkerDoesTheTasksOfAClient) {
  const auto client = connect("client");
  const auto worker = connect("worker");
  const auto submitted = make_cluster_queue(client, "job");
  ASSERT_EQ(submitted->put_all({{"a", 1}, {"b", 2}}), 2u);
  const auto queue = make_cluster_queue(worker, "job");
  const auto first = queue->try_lease(seconds(10));
  ASSERT_TRUE(first);
  EXPECT_TRUE(queue->renew(*first, seconds(20)));
  EXPECT_TRUE(queue->put("c", 3));  // a slice of a video that it began
  EXPECT_TRUE(queue->complete(*first, "done"));
  const auto second = queue->lease(seconds(10), {});
  EXPECT_TRUE(queue->fail(*second, "once"));
  EXPECT_EQ(submitted->result("a"), "done");
  EXPECT_THAT(submitted->failures(), SizeIs(1));
  const TemporaryFolder folder;
  const auto file = folder.write("in", std::string(300'000, 'x'));
  const auto stored =
      make_broker_store(worker->impl().jet_stream, worker->impl().site)->put("job/r", file);
  const auto objects = make_broker_store(client->impl().jet_stream, client->impl().site);
  objects->get(stored, folder / "out");
  EXPECT_EQ(read_file(folder / "out"), read_file(file));
  objects->remove("job/");
  remove_cluster_queue(*client, "job");
  EXPECT_EQ(submitted->counts(), TaskQueue::Counts{});
}

TEST_F(LoginTest, OfAWorkerCannotChangeJobs) {
  const auto client = connect("client");
  JetStream& own = client->impl().jet_stream;
  const Site& site = client->impl().site;
  const std::string subject = site.subject(Kind::job, {"kept"});
  ASSERT_TRUE(own.store(subject, "{}"));
  const auto worker = connect("worker");
  JetStream& jet_stream = worker->impl().jet_stream;
  const auto seen = jet_stream.last(site.stream(Kind::job), subject);
  ASSERT_TRUE(seen);
  EXPECT_THAT([&] { jet_stream.store(subject, "changed"); }, refused("not permitted"));
  EXPECT_THAT([&] { jet_stream.erase(site.stream(Kind::job), seen->sequence); },
              refused("not permitted"));
  EXPECT_THAT([&] { jet_stream.purge(site.stream(Kind::job), subject); }, refused("not permitted"));
  EXPECT_THAT([&] { jet_stream.purge(site.stream(Kind::task), {}); }, refused("not permitted"));
  EXPECT_THAT([&] { jet_stream.ask("STREAM.DELETE." + site.stream(Kind::task), nullptr); },
              refused("not permitted"));
  const auto kept = own.last(site.stream(Kind::job), subject);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->body, "{}");
  own.erase(site.stream(Kind::job), kept->sequence);
}

TEST_F(LoginTest, IsForOneSite) {
  const auto worker = connect("worker");
  JetStream& jet_stream = worker->impl().jet_stream;
  const Site other("other");
  EXPECT_THAT(
      [&] {
        jet_stream.store(other.subject(Kind::task, {"q", "a"}), "{}");
      },
      refused("not permitted"));
  EXPECT_THAT([&] { jet_stream.last(other.stream(Kind::job), other.subject(Kind::job, {"a"})); },
              refused("not permitted"));
  ClusterSettings settings = servers->settings("client");
  settings.site = "other";
  EXPECT_THAT([&] { Cluster::connect(settings); }, refused("VCAP_other_TASK"));
}

TEST_F(LoginTest, OfAReaderSeesEverythingAndChangesNothing) {
  const auto client = connect("client");
  const auto submitted = make_cluster_queue(client, "seen");
  ASSERT_TRUE(submitted->put("a", 1));
  const auto reader = connect("reader");
  JetStream& jet_stream = reader->impl().jet_stream;
  const Site& site = reader->impl().site;
  EXPECT_EQ(jet_stream.count(site.stream(Kind::task), site.all(Kind::task, {"seen"})), 1u);
  EXPECT_NO_THROW(cluster_jobs(*reader));
  for (const Kind kind :
       {Kind::task, Kind::settled, Kind::job, Kind::owner, Kind::order, Kind::record}) {
    const std::string subject = site.subject(kind, {"seen", "b"});
    EXPECT_THAT([&] { jet_stream.store(subject, "{}"); }, refused("not permitted")) << subject;
  }
  EXPECT_THAT([&] { jet_stream.erase(site.stream(Kind::task), 1); }, refused("not permitted"));
  EXPECT_THAT([&] { jet_stream.purge(site.stream(Kind::task), {}); }, refused("not permitted"));
  EXPECT_THAT([&] { make_cluster_queue(reader, "seen"); }, refused("not permitted"));
  remove_cluster_queue(*client, "seen");
}

/// So that no login reads the answers to another one, such as results.
TEST_F(LoginTest, CannotListenToAnotherOnesAnswers) {
  const auto client = connect("client");
  const auto worker = connect("worker");
  const std::string inbox = client->impl().broker->new_inbox();
  const auto count_at = [](Cluster& cluster, const std::string& subject) {
    auto count = std::make_shared<std::atomic<int>>(0);
    return std::pair(count, cluster.impl().broker->subscribe(
                                subject, [count](const BrokerMessage&) { ++*count; }));
  };
  const auto all = count_at(*worker, "_INBOX.>");
  const auto others = count_at(*worker, inbox);
  const auto own = count_at(*client, inbox);
  client->impl().broker->publish({.subject = "$JS.API.INFO", .reply = inbox});
  yield_until("an answer", [&] { return *own.first == 1; });
  // By then, it would have been delivered to the worker, too.
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(worker->impl().jet_stream.is_enabled(true));
  EXPECT_EQ(*all.first + *others.first, 0);
}

TEST(LoginPermissionsTest, HaveALineForEachStreamOfASite) {
  for (const ClusterRole role : {ClusterRole::worker, ClusterRole::client, ClusterRole::reader}) {
    const LoginPermissions permissions = permissions_of("north", role, "_INBOX.x");
    std::vector<std::string> looks;
    for (const nlohmann::json& stream : Site("north").streams(1))
      looks.push_back("$JS.API.STREAM.INFO." + stream.at("name").get<std::string>());
    EXPECT_THAT(permissions.publish, IsSupersetOf(looks)) << to_string(role);
    for (const std::string& subject : permissions.publish)
      EXPECT_THAT(subject, testing::AnyOf(HasSubstr("north"), "$JS.API.INFO"));
  }
  EXPECT_THAT([] { permissions_of("no site", ClusterRole::reader, ""); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("no site")));
}

TEST(EncryptedServers, AreTrustedByTheirAuthorityOnly) {
  const TemporaryFolder folder;
  const std::string pem = folder / "server.pem";
  const std::string other = folder / "other.pem";
  write_certificate(pem);
  write_certificate(other);
  SecuredServers servers(
      1, {"--certificate", pem, "--private-key", pem, "--ca", pem, "--verify-clients"});
  servers.start();
  ClusterSettings settings = servers.settings("client", "tls://");
  settings.certificates = settings.certificate = settings.key = pem;
  EXPECT_TRUE(Cluster::connect(settings)->is_connected());
  ClusterSettings wrong = settings;
  wrong.certificates = other;
  EXPECT_THAT([&] { Cluster::connect(wrong); }, refused("SSL"));
  wrong = settings;
  wrong.certificates.clear();  // the system's
  EXPECT_THAT([&] { Cluster::connect(wrong); }, refused("SSL"));
  wrong = settings;
  wrong.certificate = wrong.key = other;
  EXPECT_THAT([&] { Cluster::connect(wrong); }, testing::Throws<ClusterError>());
  wrong = servers.settings("client");
  EXPECT_THAT([&] { Cluster::connect(wrong); }, testing::Throws<ClusterError>());
}

}  // namespace
}  // namespace vcap::test
