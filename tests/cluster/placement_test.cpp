// SPDX-License-Identifier: Apache-2.0
#include "cluster/placement.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace vcap::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

TEST(Placement, GivesTheStreamWithTheMostLoadToTheEmptiestWorker) {
  const Placement placement =
      place({{.id = "a", .load = 1}, {.id = "b", .load = 3}, {.id = "c", .load = 2}},
            {{.name = "x", .capacity = 4}, {.name = "y", .capacity = 4}});
  EXPECT_THAT(placement.workers, ElementsAre(Pair("a", "y"), Pair("b", "x"), Pair("c", "y")));
  EXPECT_THAT(placement.reasons, IsEmpty());
}

TEST(Placement, MeasuresFullnessInRelationToCapacity) {
  const Placement placement =
      place({{.id = "a", .load = 1}, {.id = "b", .load = 1}, {.id = "c", .load = 1}},
            {{.name = "big", .capacity = 8}, {.name = "small", .capacity = 1}});
  EXPECT_THAT(placement.workers, ElementsAre(Pair("a", "big"), Pair("b", "big"), Pair("c", "big")));
}

TEST(Placement, LeavesAStreamWithItsOwner) {
  const Placement placement =
      place({{.id = "a", .load = 1, .owner = "x"}, {.id = "b", .load = 0.5, .owner = "y"}},
            {{.name = "x", .capacity = 8}, {.name = "y", .capacity = 8}});
  EXPECT_THAT(placement.workers, ElementsAre(Pair("a", "x"), Pair("b", "y")));
}

TEST(Placement, SaysWhyAStreamHasNoWorker) {
  const auto reason = [](const StreamToPlace& stream, const std::vector<WorkerToFill>& workers) {
    const Placement placement = place({stream}, workers);
    EXPECT_THAT(placement.workers, IsEmpty());
    return placement.reasons.at(stream.id);
  };
  const StreamToPlace stream{.id = "a", .load = 2, .labels = {"gpu"}};
  EXPECT_EQ(reason(stream, {}), "there is no worker");
  EXPECT_EQ(reason(stream, {{.name = "x", .capacity = 4}}), "no worker has its labels");
  EXPECT_EQ(reason(stream, {{.name = "x", .capacity = 4, .labels = {"gpu"}, .unfit = {"a"}}}),
            "no worker can run it");
  EXPECT_EQ(reason(stream, {{.name = "x", .capacity = 4, .labels = {"gpu"}, .is_draining = true}}),
            "the workers that can run it are drained");
  EXPECT_EQ(reason(stream, {{.name = "x", .capacity = 1, .labels = {"gpu"}}}),
            "no worker has room for it");
}

TEST(Placement, TakesStreamsFromAWorkerThatIsDrainedOnlyIfOthersHaveRoom) {
  const std::vector<StreamToPlace> streams{{.id = "a", .load = 1, .owner = "x"},
                                           {.id = "b", .load = 1, .owner = "x"}};
  const Placement placement = place(
      streams, {{.name = "x", .capacity = 4, .is_draining = true}, {.name = "y", .capacity = 1}});
  EXPECT_THAT(placement.workers, ElementsAre(Pair("a", "y")));
  EXPECT_THAT(placement.reasons, ElementsAre(Pair("b", "no worker has room for it")));
}

TEST(Placement, MovesOneStreamIfAWorkerIsMuchFuller) {
  const std::vector<StreamToPlace> streams{{.id = "a", .load = 1, .owner = "x"},
                                           {.id = "b", .load = 1, .owner = "x"},
                                           {.id = "c", .load = 1, .owner = "x"}};
  const Placement placement =
      place(streams, {{.name = "x", .capacity = 4}, {.name = "y", .capacity = 4}});
  EXPECT_THAT(placement.workers, ElementsAre(Pair("a", "y"), Pair("b", "x"), Pair("c", "x")));
  // Not for a small difference.
  const Placement small =
      place(streams, {{.name = "x", .capacity = 30}, {.name = "y", .capacity = 30}});
  EXPECT_THAT(small.workers, ElementsAre(Pair("a", "x"), Pair("b", "x"), Pair("c", "x")));
}

TEST(Placement, MovesNothingThatWouldOnlyChangeSides) {
  const Placement placement = place({{.id = "a", .load = 3, .owner = "x"}},
                                    {{.name = "x", .capacity = 4}, {.name = "y", .capacity = 4}});
  EXPECT_THAT(placement.workers, ElementsAre(Pair("a", "x")));
}

/// A site at random, whose workers do what the placement says, one step after the other.
class RandomSite {
 public:
  explicit RandomSite(unsigned seed) : random_(seed) {
    for (int i = 0; i < 5; ++i)
      workers_.push_back({.name = "w" + std::to_string(i), .capacity = number(1, 8)});
    workers_[1].labels = {"gpu"};
    workers_[2].labels = {"gpu", "hall"};
    for (int i = 0; i < 25; ++i) {
      streams_.push_back({.id = "s" + std::to_string(i), .load = number(0.05, 1)});
      if (i % 5 == 0) streams_.back().labels = {"gpu"};
    }
  }

  double number(double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random_);
  }

  Placement placement() {
    std::ranges::shuffle(streams_, random_);
    std::ranges::shuffle(workers_, random_);
    return place(streams_, workers_);
  }

  /// Streams move only over a time without an owner. Returns how many changed.
  int follow() {
    const Placement placement = this->placement();
    EXPECT_EQ(placement.workers, this->placement().workers) << "it depends on the order";
    int changes = 0;
    for (StreamToPlace& stream : streams_) {
      const auto found = placement.workers.find(stream.id);
      if (found == placement.workers.end() || found->second == stream.owner) continue;
      stream.owner = stream.owner.empty() ? found->second : std::string();
      ++changes;
    }
    return changes;
  }

  void expect_valid() {
    std::map<std::string, double> loads;
    for (const StreamToPlace& stream : streams_)
      if (!stream.owner.empty()) loads[stream.owner] += stream.load;
    for (const WorkerToFill& worker : workers_)
      EXPECT_LE(loads[worker.name], worker.capacity + 1e-6) << worker.name;
    for (const StreamToPlace& stream : streams_)
      for (const WorkerToFill& worker : workers_)
        EXPECT_TRUE(worker.name != stream.owner ||
                    std::ranges::includes(worker.labels, stream.labels))
            << stream.id;
  }

  void kill_one() {
    const std::string name = workers_.back().name;
    workers_.pop_back();
    for (StreamToPlace& stream : streams_)
      if (stream.owner == name) stream.owner.clear();
  }

 private:
  std::mt19937 random_;
  std::vector<StreamToPlace> streams_;
  std::vector<WorkerToFill> workers_;
};

TEST(Placement, SettlesWithinCapacityWhateverTheSite) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    RandomSite site(seed);
    for (int deaths = 0; deaths < 4; ++deaths) {
      int steps = 0;
      while (site.follow() > 0) ASSERT_LT(++steps, 200) << "it never settles, seed " << seed;
      site.expect_valid();
      site.kill_one();
    }
  }
}

}  // namespace
}  // namespace vcap::test
