// SPDX-License-Identifier: Apache-2.0
// What `vcap cluster config` writes.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cluster/cluster_impl.hpp"
#include "cluster/nkey.hpp"
#include "cluster/secured_servers.hpp"
#include "support/test_certificate.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Kind = Site::Kind;

TEST(ClusterConfig, MakesThreeServersAClusterThatLosesNothingWithOneOfThem) {
  const TemporaryFolder folder;
  const std::string pem = folder / "server.pem";
  write_certificate(pem);
  SecuredServers servers(3, {"--certificate", pem, "--private-key", pem, "--ca", pem});
  servers.timeout = std::chrono::seconds(2);
  servers.start();
  ClusterSettings settings = servers.settings("client", "tls://");
  settings.certificates = pem;
  const auto cluster = Cluster::connect(settings);
  JetStream& jet_stream = cluster->impl().jet_stream;
  const Site& site = cluster->impl().site;
  for (const nlohmann::json& stream : site.streams(3)) {
    const std::string name = stream.at("name");
    const auto config = jet_stream.demand("STREAM.INFO." + name, nullptr).at("config");
    EXPECT_EQ(config.at("num_replicas"), 3) << name;
  }
  ClusterSettings single = settings;
  single.replicas = 1;
  EXPECT_THAT([&] { Cluster::connect(single); },
              ThrowsError<ClusterError>(ErrorCode::broker_unfit,
                                        HasSubstr("nats stream edit VCAP_test_TASK --replicas=1")));
  const std::string subject = site.subject(Kind::task, {"q", "a"});
  ASSERT_TRUE(jet_stream.store(subject, "kept"));
  const std::string leader =
      jet_stream.demand("STREAM.INFO." + site.stream(Kind::task), nullptr)["cluster"]["leader"];
  // Not the leader of the stream: to choose another one takes the servers up to 9 seconds.
  servers.kill(leader == "vcap-1" ? 1 : 0);
  EXPECT_TRUE(jet_stream.store(site.subject(Kind::task, {"q", "b"}), "new"));
  EXPECT_EQ(jet_stream.last(site.stream(Kind::task), subject)->body, "kept");
}

class ConfigCommandTest : public testing::Test {
 protected:
  Result config(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"cluster", "config", "--dir", folder_ / "c"};
    words.insert(words.end(), more.begin(), more.end());
    return vcap(words);
  }
  std::string text_of(const std::string& name) const { return read_file(folder_ / ("c/" + name)); }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "c"))
      names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }

  const TemporaryFolder folder_;
};

TEST_F(ConfigCommandTest, WritesFilesThatOnlyTheirOwnerReads) {
  const Result result = config({"--servers", "a.example:4222,b.example:4222,[::1]:4333"});
  ASSERT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(names(),
              ElementsAre("client.nk", "reader.nk", "routes.conf", "server-1.conf", "server-2.conf",
                          "server-3.conf", "site-site.conf", "worker.nk"));
  for (const std::string& name : names())
    EXPECT_EQ(fs::status(folder_ / ("c/" + name)).permissions(),
              fs::perms::owner_read | fs::perms::owner_write)
        << name;
  EXPECT_THAT(text_of("server-3.conf"),
              AllOf(HasSubstr("listen: \"[::1]:4333\""), HasSubstr("listen: \"[::1]:6333\""),
                    HasSubstr("max_payload: 1MB"), HasSubstr("max_file: 10GB")));
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("--replicas 3"), HasSubstr("server-2.conf  for b.example:4222"),
                    HasSubstr("neither encrypted")));
  // The servers have the public keys, and nobody is shown a secret.
  for (const char* const role : {"worker", "client", "reader"}) {
    const std::string name = std::string(role) + ".nk";
    EXPECT_THAT(text_of("site-site.conf"),
                HasSubstr(Nkey::from_file(folder_ / ("c/" + name)).public_key()));
    for (const std::string& other : names()) {
      if (other == name) continue;
      EXPECT_THAT(text_of(other), Not(HasSubstr(text_of(name).substr(0, 58))));
    }
    EXPECT_THAT(result.out, Not(HasSubstr(text_of(name).substr(0, 58))));
  }
}

TEST_F(ConfigCommandTest, KeepsWhatExists) {
  const std::vector<std::string> servers{"--servers", "a:4222,b:4222,c:4222"};
  ASSERT_EQ(config(servers).exit_code, 0);
  const std::string routes = text_of("routes.conf");
  const std::string key = text_of("worker.nk");
  const std::string site = text_of("site-site.conf");
  const Result again = config({"--max-storage", "2TB"});
  EXPECT_EQ(again.exit_code, 7) << again;
  EXPECT_THAT(again.err, AllOf(HasSubstr("exists"), HasSubstr("--overwrite")));
  EXPECT_THAT(text_of("server-1.conf"), Not(HasSubstr("2TB")));
  fs::remove(folder_ / "c/reader.nk");
  const Result over =
      config({"--max-storage", "2TB", "--overwrite", "--servers", "a:4222,b:4222,c:4222"});
  EXPECT_EQ(over.exit_code, 0) << over;
  EXPECT_THAT(text_of("server-1.conf"), HasSubstr("max_file: 2TB"));
  EXPECT_EQ(text_of("worker.nk"), key);
  EXPECT_EQ(text_of("routes.conf"), routes);
  EXPECT_NE(text_of("site-site.conf"), site);  // another key of readers
}

TEST_F(ConfigCommandTest, RefusesWhatServersCannotUse) {
  struct Case {
    std::vector<std::string> words;
    std::string message;
  };
  const std::vector<Case> cases{
      {{"--servers", "a.example"}, "is not HOST:PORT"},
      {{"--servers", "a.example:0"}, "is not HOST:PORT"},
      {{"--servers", "a.example:64000"}, "1 to 63535"},
      {{"--servers", "a\"b:4222"}, "is not HOST:PORT"},
      {{"--servers", "::1:4222"}, "is not HOST:PORT"},
      {{"--servers", "a:4222,a:4222"}, "twice"},
      {{"--replicas", "3"}, "there is one server"},
      {{"--servers", "a:1,b:1", "--replicas", "3"}, "there are 2 servers"},
      {{"--site", "a.b"}, "A-Za-z0-9_-"},
      {{"--max-storage", "10"}, "is not a size"},
      {{"--max-storage", "0GB"}, "is not a size"},
      {{"--certificate", "/c.pem"}, "--private-key"},
      {{"--servers", "a:1,b:1", "--certificate", "/c.pem", "--private-key", "/k"}, "give --ca"},
      {{"--certificate", "/c.pem", "--private-key", "/k", "--verify-clients"}, "give --ca"}};
  for (const Case& one : cases) {
    const Result result = config(one.words);
    EXPECT_EQ(result.exit_code, 2) << one.message << result;
    EXPECT_THAT(result.err, HasSubstr(one.message));
    EXPECT_FALSE(fs::exists(folder_ / "c")) << one.message;
  }
}

/// The account of another site is one file and one line more.
TEST_F(ConfigCommandTest, LetsServersHaveAnotherSite) {
  SecuredServers servers;
  ASSERT_EQ(config({"--site", "second"}).exit_code, 0);
  fs::copy_file(folder_ / "c/site-second.conf", servers.folder() / "site-second.conf");
  std::string text = read_file(servers.folder() / "server-1.conf");
  const std::string line = "  include \"site-test.conf\"\n";
  text.insert(text.find(line), "  include \"site-second.conf\"\n");
  std::ofstream(servers.folder() / "server-1.conf") << text;
  servers.start();
  const auto first = Cluster::connect(servers.settings("client"));
  ClusterSettings settings = servers.settings("client");
  settings.nkey = folder_ / "c/client.nk";
  EXPECT_THAT([&] { Cluster::connect(settings); },
              ThrowsError<ClusterError>(ErrorCode::broker_refused, HasSubstr("not permitted")));
  settings.site = "second";
  EXPECT_TRUE(Cluster::connect(settings)->is_connected());
}

}  // namespace
}  // namespace vcap::test
