// SPDX-License-Identifier: Apache-2.0
#include "cluster/object_store.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "cluster/cluster_impl.hpp"
#include "cluster/nats_server.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using testing::HasSubstr;

struct StoreKind {
  const char* name;
  std::function<std::unique_ptr<ObjectStore>(Cluster::Impl&, const TemporaryFolder&)> make;
  friend std::ostream& operator<<(std::ostream& out, const StoreKind& kind) {
    return out << kind.name;
  }
};

class ObjectStoreTest : public testing::TestWithParam<StoreKind> {
 protected:
  ObjectReference put(const std::string& name, const std::string& content) {
    return store_->put(name, folder_.write("in", content));
  }
  std::string get(const ObjectReference& reference) {
    store_->get(reference, folder_ / "out");
    return read_file(folder_ / "out");
  }

  const NatsServer server_;
  const TemporaryFolder folder_;
  const TemporaryFolder shared_;
  const std::shared_ptr<Cluster> cluster_ = Cluster::connect(server_.settings());
  const std::unique_ptr<ObjectStore> store_ = GetParam().make(cluster_->impl(), shared_);
};

/// Bytes that are neither text nor the same in each chunk.
std::string bytes(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7 + (i >> 9));
  return text;
}

TEST_P(ObjectStoreTest, GivesBackWhatWasStored) {
  for (const std::size_t size : {0u, 1u, 131'071u, 131'072u, 131'073u, 20'000'000u}) {
    const std::string content = bytes(size);
    const ObjectReference reference = put("files/a b/" + std::to_string(size), content);
    EXPECT_EQ(reference.size, size);
    EXPECT_TRUE(store_->contains(reference.name));
    EXPECT_TRUE(get(reference) == content) << size;
  }
}

TEST_P(ObjectStoreTest, RefusesAnObjectThatIsMissingOrAnotherOne) {
  const auto refused = [](const char* words) {
    return ThrowsError<ClusterError>(ErrorCode::object_missing, HasSubstr(words));
  };
  ObjectReference reference = put("a", "first");
  EXPECT_FALSE(store_->contains("b"));
  EXPECT_THAT([&] { get({"b", 5, reference.sha256}); }, refused("\"b\""));
  put("a", "other");
  EXPECT_THAT([&] { get(reference); }, refused("another"));
  reference.size = 4;
  EXPECT_THAT([&] { get(reference); },
              ThrowsError<ClusterError>(ErrorCode::object_missing, HasSubstr("object")));
}

TEST_P(ObjectStoreTest, RemovesByTheBeginningOfNames) {
  const ObjectReference other = put("job/12", "other");
  put("job/1/a", "a");
  put("job/1/b", "b");
  store_->remove("job/1/");
  EXPECT_FALSE(store_->contains("job/1/a"));
  EXPECT_FALSE(store_->contains("job/1/b"));
  EXPECT_EQ(get(other), "other");
}

INSTANTIATE_TEST_SUITE_P(
    Stores, ObjectStoreTest,
    testing::Values(StoreKind{"broker",
                              [](Cluster::Impl& cluster, const TemporaryFolder&) {
                                return make_broker_store(cluster.jet_stream, cluster.site);
                              }},
                    StoreKind{"folder", [](Cluster::Impl&, const TemporaryFolder& shared) {
                                return make_folder_store(shared.path());
                              }}));

}  // namespace
}  // namespace vcap::test
