// SPDX-License-Identifier: Apache-2.0
#include "vcap/observe/pipeline_stats.hpp"
#include "support/isolated_capsule.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/call_meter.hpp"
#include "support/pipeline_helpers.hpp"
#include "vcap/capsule/base_backend.hpp"
#include "vcap/sources/frame_feed.hpp"

namespace vcap::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::DoubleNear;

class Doubler final : public BaseBackend<int, int> {
 public:
  DetectionNodes process_frame(const Frame& frame, DetectionNodes, const OptionValues&,
                               BaseStreamState&) override {
    if (frame.index % 5 == 4) throw std::runtime_error("fifth");
    predict(static_cast<int>(frame.index));
    return DetectionNodes::all();
  }
  std::vector<int> batch_predict(std::span<const int> inputs) override {
    return {inputs.begin(), inputs.end()};
  }
};

class DoublerCapsule final : public BaseCapsule {
 public:
  std::unique_ptr<Backend> load_backend(const CapsuleFiles&, const std::string&) override {
    return std::make_unique<Doubler>();
  }
};

TEST(PipelineStats, DescribesStreamsCapsulesAndDevices) {
  CapsuleInfo info = detector_info("doubler", "number");
  info.version = 3;
  info.device_mapper =
      DeviceMapper("all", [](const std::vector<std::string>& devices) { return devices; });
  Pipeline pipeline({test::kept_capsule_of(info, std::make_unique<DoublerCapsule>(),
                                           Capsule::Setup{.devices = {"CPU:0", "CPU:1"}})});
  FrameFeed feed;
  pipeline.open_stream({.id = "gate", .source = feed.source(), .keep_every = 2, .pull = true});
  for (int i = 0; i < 20; ++i) {
    feed.push(cv::Mat(4, 4, CV_8UC3, cv::Scalar::all(0)));
    if (i % 2 == 0) pipeline.next("gate");
  }
  const PipelineStats stats = pipeline.stats();
  ASSERT_EQ(stats.streams.size(), 1u);
  const StreamStats& stream = stats.streams[0];
  EXPECT_EQ(stream.id, "gate");
  EXPECT_EQ(stream.recorded, 10);
  EXPECT_EQ(stream.errors, 2);
  EXPECT_EQ(stream.latency_ns.count(), 10u);
  EXPECT_EQ(stream.in_flight, 0u);
  EXPECT_GT(stream.frames_per_second, 0);
  std::int64_t accounted = stream.recorded;
  for (const auto& [reason, count] : stream.drops) accounted += count;
  EXPECT_EQ(stream.read, accounted);

  ASSERT_EQ(stats.capsules.size(), 1u);
  EXPECT_EQ(stats.capsules[0].name, "doubler");
  EXPECT_EQ(stats.capsules[0].version, 3);
  EXPECT_EQ(stats.capsules[0].calls, 10u);
  EXPECT_EQ(stats.capsules[0].failures, 2u);
  EXPECT_EQ(stats.capsules[0].call_ns.count(), 10u);

  ASSERT_EQ(stats.devices.size(), 2u);
  EXPECT_EQ(stats.devices[0].device, "CPU:0");
  EXPECT_EQ(stats.devices[0].calls + stats.devices[1].calls, 10u);
  EXPECT_EQ(stats.devices[0].failures + stats.devices[1].failures, 2u);
  EXPECT_EQ(stats.devices[0].call_ns.count() + stats.devices[1].call_ns.count(), 10u);
  EXPECT_GT(stats.devices[0].calls_per_second + stats.devices[1].calls_per_second, 0);
  EXPECT_EQ(stats.capsules[0].backends[0].failures, stats.devices[0].failures);
  EXPECT_EQ(stats.devices[0].batches + stats.devices[1].batches, 8u);
  EXPECT_EQ(stats.devices[0].batch_sizes.mean(), 1.0);
  EXPECT_GE(stats.workers, 1u);

  const nlohmann::json json = stats;
  EXPECT_EQ(json["schema"], "vcap.stats/1");
  EXPECT_EQ(json["streams"][0]["latency_ms"]["count"], 10);
  EXPECT_GT(json["capsules"][0]["call_ms"]["p99"], 0.0);
  EXPECT_GT(json["devices"][0]["call_ms"]["p99"], 0.0);
  EXPECT_TRUE(json["devices"][0]["failures"].is_number_unsigned());
  EXPECT_TRUE(json["capsules"][0]["backends"][0]["calls_per_second"].is_number());

  feed.push(cv::Mat(4, 4, CV_8UC3, cv::Scalar::all(0)));
  pipeline.next("gate");
  EXPECT_EQ(pipeline.stats().streams[0].latency_ns.since(stream.latency_ns).count(), 1u)
      << "only the frame since the last snapshot";
  feed.end();
  EXPECT_EQ(pipeline.wait("gate").latency_ns.count(), 11u) << "also when the stream has ended";
}

TEST(PipelineStats, KeepsTheDeviceCountsOfReplacedCapsules) {
  const auto doubler = [](int version) {
    CapsuleInfo info = detector_info("doubler", "number");
    info.version = version;
    return test::kept_capsule_of(info, std::make_unique<DoublerCapsule>(),
                                 Capsule::Setup{.devices = {"CPU:0"}});
  };
  Pipeline pipeline({doubler(1)});
  FrameFeed feed;
  pipeline.open_stream({.id = "gate", .source = feed.source(), .pull = true});
  const auto push = [&](int frames) {
    for (int i = 0; i < frames; ++i) {
      feed.push(cv::Mat(4, 4, CV_8UC3, cv::Scalar::all(0)));
      pipeline.next("gate");
    }
  };
  push(10);
  DeviceStats before = pipeline.stats().devices.at(0);
  EXPECT_EQ(before.calls, 10u);
  for (int version = 2; version < 6; ++version) {
    pipeline.replace_capsule(doubler(version));
    push(10);  // the first of these frames is the last one that keeps the old capsule alive
    const DeviceStats now = pipeline.stats().devices.at(0);
    EXPECT_EQ(now.calls, before.calls + 10);
    EXPECT_EQ(now.failures, before.failures + 2);
    EXPECT_EQ(now.batches, before.batches + 8);
    EXPECT_EQ(now.call_ns.since(before.call_ns).count(), 10u);
    before = now;
  }
  EXPECT_EQ(pipeline.stats().capsules.size(), 1u) << "the replaced capsules are still listed";
  EXPECT_EQ(before.running, 0u);
  feed.end();
}

TEST(RateMeter, CountsTheLastTenWholeSeconds) {
  const RateMeter::time_point begin{seconds(1000)};
  RateMeter meter;
  for (int i = 0; i < 400; ++i) meter.add(begin + milliseconds(50) * i);  // 20 a second, for 20 s
  EXPECT_DOUBLE_EQ(meter.per_second(begin + seconds(20), begin), 20.0);
  EXPECT_DOUBLE_EQ(meter.per_second(begin + seconds(25), begin), 10.0)
      << "half of the seconds are silent";
  EXPECT_DOUBLE_EQ(meter.per_second(begin + seconds(60), begin), 0.0);
}

TEST(RateMeter, CountsFromItsStartIfThatIsLater) {
  const RateMeter::time_point begin{milliseconds(1000500)};
  RateMeter meter;
  for (int i = 0; i < 15; ++i) meter.add(begin + milliseconds(100) * i);
  EXPECT_THAT(meter.per_second(begin + milliseconds(400), begin), DoubleNear(12.5, 3));
  EXPECT_THAT(meter.per_second(begin + milliseconds(1500), begin), DoubleNear(10, 0.5));
  RateMeter late;
  late.add(begin + milliseconds(600));  // in the second after that of its begin
  EXPECT_GT(late.per_second(begin + milliseconds(700), begin), 0);
}

}  // namespace
}  // namespace vcap::test
