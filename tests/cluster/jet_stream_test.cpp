// SPDX-License-Identifier: Apache-2.0
#include "cluster/jet_stream.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "cluster/cluster_impl.hpp"
#include "cluster/nats_server.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

TEST(JetStreamTest, ReadsTheLastMessageOfEachSubjectWhileTheyAreReplaced) {
  const NatsServer server;
  const auto cluster = Cluster::connect(server.settings());
  JetStream& jet_stream = cluster->impl().jet_stream;
  const Site& site = cluster->impl().site;
  constexpr int kSubjects = 20;
  const auto subject = [&site](int i) {
    return site.subject(Site::Kind::owner, {"s" + std::to_string(i)});
  };
  for (int i = 0; i < kSubjects; ++i) jet_stream.store(subject(i), "0");
  std::atomic<bool> ending = false;
  std::thread writer([&] {
    for (int n = 1; !ending; ++n) jet_stream.store(subject(n % 3), std::to_string(n));
  });
  for (int round = 0; round < 30; ++round) {
    std::map<std::string, std::string> seen;
    for (const StoredMessage& message :
         jet_stream.all(site.stream(Site::Kind::owner), site.all(Site::Kind::owner, {})))
      seen[message.subject] = message.body;
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(kSubjects));
  }
  ending = true;
  writer.join();
}

TEST(JetStreamTest, ErasesAMessageThatSomebodyElseHasErased) {
  const NatsServer server;
  const auto cluster = Cluster::connect(server.settings());
  JetStream& jet_stream = cluster->impl().jet_stream;
  const std::string stream = cluster->impl().site.stream(Site::Kind::task);
  const std::string subject = cluster->impl().site.subject(Site::Kind::task, {"q", "a"});
  const auto sequence = jet_stream.store(subject, "x");
  for (int i = 0; i < 2; ++i) EXPECT_NO_THROW(jet_stream.erase(stream, sequence.value()));
  EXPECT_NO_THROW(jet_stream.erase(stream, 1'000));
  EXPECT_FALSE(jet_stream.last(stream, subject));
  EXPECT_THAT([&] { jet_stream.erase("NONE", 1); },
              ThrowsError<ClusterError>(ErrorCode::broker_refused, testing::HasSubstr("NONE")));
}

TEST(JetStreamTest, ReadsOnWhenTheStreamHasLostItsLastMessages) {
  const NatsServer server;
  const auto cluster = Cluster::connect(server.settings());
  JetStream& jet_stream = cluster->impl().jet_stream;
  const Site& site = cluster->impl().site;
  const std::string stream = site.stream(Site::Kind::event);
  const auto store = [&](const std::string& body) {
    jet_stream.store(site.subject(Site::Kind::event, {"a"}), body);
  };
  const auto read = [](StreamReader& reader, std::size_t count) {
    std::vector<std::string> bodies;
    for (int i = 0; i < 20 && bodies.size() < count; ++i)
      for (const StoredMessage& message : reader.next(count, std::chrono::milliseconds(200)))
        bodies.push_back(message.body);
    return bodies;
  };
  for (const char* const body : {"1", "2", "3"}) store(body);
  StreamReader from_begin(jet_stream, stream, {});
  StreamReader from_end(jet_stream, stream, {}, jet_stream.end(stream));
  EXPECT_THAT(read(from_begin, 3), testing::ElementsAre("1", "2", "3"));
  jet_stream.demand("STREAM.DELETE." + stream, nullptr);
  prepare_streams(jet_stream, site, true, 1);
  EXPECT_EQ(jet_stream.end(stream).sequence, 0u);
  for (const char* const body : {"4", "5"}) store(body);
  EXPECT_THAT(read(from_begin, 2), testing::ElementsAre("4", "5"));
  EXPECT_THAT(read(from_end, 2), testing::ElementsAre("4", "5"));
  StreamReader behind(jet_stream, stream, {}, {.sequence = 10'000});
  EXPECT_THAT(read(behind, 2), testing::ElementsAre("4", "5"));
  // Another server had a few more.
  StreamReader ahead(jet_stream, stream, {}, {.sequence = 5});
  store("6");
  EXPECT_THAT(read(ahead, 1), testing::ElementsAre("6"));
}

}  // namespace
}  // namespace vcap::test
