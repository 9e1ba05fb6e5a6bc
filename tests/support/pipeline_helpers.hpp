// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/runtime_fixtures.hpp"
#include "vcap/pipeline/pipeline.hpp"

namespace vcap::test {

using Size = NodeDescription::Size;

/// Runs a stream to its end, expects no failure, and returns its records.
inline std::vector<FrameRecord> run(Pipeline& pipeline, StreamConfig config) {
  std::vector<FrameRecord> records;
  config.sinks.push_back(
      make_callback_sink([&](const FrameRecord& record) { records.push_back(record); }));
  if (config.id.empty()) config.id = "stream";
  const std::string id = config.id;
  pipeline.open_stream(std::move(config));
  const StreamReport report = pipeline.wait(id);
  EXPECT_TRUE(report.ended);
  EXPECT_EQ(report.failure.value_or(""), "");
  EXPECT_EQ(report.frames, static_cast<std::int64_t>(records.size()));
  return records;
}

/// A capsule that takes and gives single nodes with that name.
inline CapsuleInfo single_info(std::string name, std::string nodes) {
  return {.name = std::move(name),
          .input_type = {.size = Size::single, .detections = {nodes}},
          .output_type = {.size = Size::single, .detections = {nodes}}};
}

/// A capsule that takes and gives all nodes with that name.
inline CapsuleInfo all_info(std::string name, std::string nodes) {
  return {.name = std::move(name),
          .input_type = {.size = Size::all, .detections = {nodes}},
          .output_type = {.size = Size::all, .detections = {nodes}}};
}

/// The same capsule, which also gives each node that attribute.
inline CapsuleInfo giving(CapsuleInfo info, std::string category,
                          std::vector<std::string> values = {"yes"}) {
  info.output_type.attributes.emplace(std::move(category), std::move(values));
  return info;
}

inline DetectionNodes give_back(const Frame&, DetectionNodes nodes, const OptionValues&,
                                BaseStreamState&) {
  return nodes;
}

inline std::vector<std::string> names(const std::vector<DetectionNode>& nodes) {
  std::vector<std::string> names;
  for (const DetectionNode& node : nodes) names.push_back(node.name);
  return names;
}

}  // namespace vcap::test
