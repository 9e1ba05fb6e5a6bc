// SPDX-License-Identifier: Apache-2.0
#include "vcap/runtime/pipeline.hpp"

#include <gmock/gmock.h>

#include "runtime/runtime_fixtures.hpp"

namespace vcap::test {
namespace {

using Size = NodeDescription::Size;

/// Opens a stream of `frames` frames, waits for its end, gives its records.
std::vector<FrameRecord> run(Pipeline& pipeline, StreamConfig config) {
  std::vector<FrameRecord> records;
  config.sinks.push_back(
      make_callback_sink([&](const FrameRecord& record) { records.push_back(record); }));
  const std::string id = config.id;
  pipeline.open_stream(std::move(config));
  const StreamReport report = pipeline.wait(id);
  EXPECT_TRUE(report.ended);
  EXPECT_EQ(report.failure.value_or(""), "");
  EXPECT_EQ(report.frames, static_cast<std::int64_t>(records.size()));
  return records;
}

TEST(Pipeline, GivesEveryFrameARecordInOrder) {
  Pipeline pipeline({make_detector("detector", "person", 2)});
  const std::vector<FrameRecord> records = run(pipeline, {.id = "a", .source = make_source(200)});
  ASSERT_EQ(records.size(), 200u);
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].frame.index, static_cast<std::int64_t>(i));
    ASSERT_EQ(records[i].objects.size(), 2u);
    EXPECT_EQ(records[i].objects[0].bbox().x1, static_cast<double>(i));
  }
}

}  // namespace
}  // namespace vcap::test
