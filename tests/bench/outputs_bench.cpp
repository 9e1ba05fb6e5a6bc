// SPDX-License-Identifier: Apache-2.0
// The cost of holding what capsules give against what they declare.
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "capsule/output_check.hpp"
#include "support/figures.hpp"

namespace {

using vcap::DetectionNode;
using vcap::DetectionNodes;
using vcap::bench::workload;
using vcap::detail::OutputCheck;
using vcap::detail::PassedOn;

constexpr std::size_t kNodes = 100;    // fits the caches, as the nodes of a frame do
constexpr std::size_t kFloats = 4096;  // of an encoding

const auto kRounds = workload<std::size_t>(20'000, 2);

/// A person detector with a classifier's attributes. Takes persons itself, if `takes_nodes`.
vcap::CapsuleInfo described(bool takes_nodes) {
  vcap::CapsuleInfo info{.name = "measured", .version = 1};
  if (takes_nodes)
    info.input_type = {.size = vcap::NodeDescription::Size::all, .detections = {"person"}};
  info.output_type = {.size = vcap::NodeDescription::Size::all,
                      .detections = {"person"},
                      .attributes = {{"lower_color", {"black", "blue", "gray", "red", "white"}},
                                     {"upper_color", {"black", "blue", "gray", "red", "white"}}}};
  return info;
}

DetectionNodes persons() {
  DetectionNodes nodes = DetectionNodes::all();
  for (std::size_t i = 0; i < kNodes; ++i) {
    DetectionNode node{
        .name = "person",
        .coords = vcap::rect_to_coords(cv::Rect2d(static_cast<double>(i), 20, 30, 80))};
    node.attributes = {{"lower_color", "white"}, {"upper_color", "red"}};
    nodes.add(std::move(node));
  }
  return nodes;
}

void require(bool holds) {
  if (!holds) throw std::logic_error("the output was not measured");
}

/// Nanoseconds for each node.
double node_ns(bool takes_nodes) {
  const OutputCheck check(described(takes_nodes));
  const DetectionNodes nodes = persons();
  std::size_t seen = 0;
  const double seconds = vcap::bench::seconds([&] {
    for (std::size_t round = 0; round < kRounds; ++round) {
      PassedOn passed_on;
      if (takes_nodes) check.note(nodes, passed_on);
      std::string warning;
      seen += check.check(nodes, passed_on, {}, warning).nodes;
    }
  });
  require(seen == kRounds * kNodes);
  return seconds * 1e9 / static_cast<double>(kRounds * kNodes);
}

/// Nanoseconds for each number of an encoding.
double float_ns() {
  vcap::CapsuleInfo info = described(false);
  info.output_type.attributes = {};
  info.output_type.encoded = true;
  const OutputCheck check(info);
  DetectionNode node{.name = "person"};
  node.encoding = std::vector<float>(kFloats, 0.25f);
  const DetectionNodes nodes = DetectionNodes::all({node});
  std::size_t seen = 0;
  const double seconds = vcap::bench::seconds([&] {
    for (std::size_t round = 0; round < kRounds; ++round) {
      std::string warning;
      seen += check.check(nodes, {}, {}, warning).nodes;
    }
  });
  require(seen == kRounds);
  return seconds * 1e9 / static_cast<double>(kRounds * kFloats);
}

}  // namespace

int main(int argc, char** argv) {
  return vcap::bench::run_figures(argc, argv,
                                  {{.id = "outputs.1",
                                    .what = "ns to check a node of 4 points and 2 attributes",
                                    .target = 50,
                                    .sample = [] { return node_ns(false); }},
                                   {.id = "outputs.1",
                                    .what = "the same, if the capsule was also given such nodes",
                                    .target = 100,
                                    .sample = [] { return node_ns(true); }},
                                   {.id = "outputs.2",
                                    .what = "ns to check a number of an encoding of 4096",
                                    .target = 1,
                                    .sample = float_ns}});
}
