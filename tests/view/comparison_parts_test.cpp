// SPDX-License-Identifier: Apache-2.0
// The parts of a comparison: records that wait, and pairs of objects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "view/node_pairs.hpp"
#include "view/record_queue.hpp"

namespace vcap {
namespace {

FrameRecord waiting_record(std::int64_t index) {
  FrameRecord record{.stream_id = "gate"};
  record.frame.index = index;
  record.frame.image = cv::Mat::zeros(4, 4, CV_8UC3);
  DetectionNode node{
      .name = "person",
      .coords = rect_to_coords(cv::Rect2d(static_cast<double>(index % 7), 1, 2.5, 3))};
  node.extra_data["confidence"] = 0.25;
  node.encoding = std::vector<float>{1, 2};
  record.objects = {node};
  record.errors = {{"finder", "exception", "line\nbreak"}};
  return record;
}

TEST(RecordQueue, GivesRecordsBackInOrderWhateverIsWrittenToItsFile) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    SpillFile file;
    RecordQueue queue;
    std::int64_t pushed = 0, taken = 0;
    for (int step = 0; step < 400; ++step) {
      const unsigned what = random() % 8;
      if (what < 4) {
        queue.push(waiting_record(pushed++));
      } else if (what < 7 && !queue.empty()) {
        ASSERT_EQ(queue.front(file).frame.index, taken);
        const FrameRecord record = queue.pop(file);
        ASSERT_EQ(record.frame.index, taken);
        ASSERT_EQ(record.objects, waiting_record(taken).objects);
        ASSERT_EQ(record.errors[0].message, "line\nbreak");
        ++taken;
      } else {
        queue.spill(file);
        ASSERT_EQ(queue.weight(), 0u);
      }
      ASSERT_EQ(queue.size(), static_cast<std::size_t>(pushed - taken));
    }
  }
}

TEST(RecordQueue, KeepsNoPixels) {
  SpillFile file;
  RecordQueue queue;
  queue.push(waiting_record(0));
  EXPECT_TRUE(queue.front(file).frame.image.empty());
}

std::vector<DetectionNode> crowd(std::mt19937& random, std::size_t count) {
  std::uniform_real_distribution<double> place(0, 300);
  std::vector<DetectionNode> nodes;
  for (std::size_t i = 0; i < count; ++i)
    nodes.push_back({.name = i % 2 == 0 ? "person" : "car",
                     .coords = rect_to_coords(cv::Rect2d(place(random), place(random), 20, 20))});
  return nodes;
}

TEST(NodePairs, HaveEachNodeOnce) {
  std::mt19937 random(5);
  for (const std::size_t count : {0u, 1u, 30u, 1200u}) {  // the last beyond the largest matrix
    const std::vector<DetectionNode> a = crowd(random, count), b = crowd(random, count);
    std::set<const DetectionNode*> seen_a, seen_b;
    for (const NodePair& pair : pair_nodes(a, b, 0.3)) {
      ASSERT_TRUE(pair.a == nullptr || seen_a.insert(pair.a).second);
      ASSERT_TRUE(pair.b == nullptr || seen_b.insert(pair.b).second);
      if (pair.a == nullptr || pair.b == nullptr) continue;
      ASSERT_GE(pair.iou, pair.a->name == pair.b->name ? 0.3 : 0.5);
    }
    EXPECT_EQ(seen_a.size(), count);
    EXPECT_EQ(seen_b.size(), count);
  }
}

TEST(NodePairs, PairEqualBoxesFirstAlsoWithoutArea) {
  const DetectionNode point{.name = "ball", .coords = {{5, 5}}};
  const std::vector<DetectionNode> nodes{point, {.name = "scene"}};
  const std::vector<NodePair> pairs = pair_nodes(nodes, nodes, 0.3);
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].iou, 1) << "the ball";
  EXPECT_EQ(pairs[1].a, &nodes[1]);
  EXPECT_EQ(pairs[1].b, &nodes[1]);
}

}  // namespace
}  // namespace vcap
