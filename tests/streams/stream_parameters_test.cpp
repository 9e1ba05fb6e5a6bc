// SPDX-License-Identifier: Apache-2.0
// Streams that give a stateless capsule a config of their own.
#include <gmock/gmock.h>

#include <mutex>
#include <set>

#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>

#include "support/bounded_wait.hpp"
#include "support/operation_helpers.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/sources/frame_feed.hpp"

namespace vcap::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// [parameters]
// What the detector needs to know of a stream.
class Threshold final : public vcap::BaseStreamParameters {
 public:
  explicit Threshold(const vcap::StreamInfo& stream)
      : least_(stream.config.at("threshold").get<double>()) {}
  bool accepts(double confidence) const { return confidence >= least_; }

 private:
  const double least_;
};
// [/parameters]

class Detector final : public Backend {
 public:
  // [process]
  vcap::DetectionNodes process_frame(const vcap::Frame& frame, vcap::DetectionNodes,
                                     const vcap::OptionValues&,
                                     vcap::BaseStreamState& state) override {
    const auto& threshold = vcap::parameters_of<Threshold>(state);
    vcap::DetectionNodes found = vcap::DetectionNodes::all();
    if (threshold.accepts(brightness(frame.image))) found.add({.name = "lamp"});
    return found;
  }
  // [/process]

 private:
  static double brightness(const cv::Mat& picture) { return cv::mean(picture)[0]; }
};

CapsuleInfo lamp_info() {
  CapsuleInfo info = detector_info("lamps", "lamp");
  info.version = 1;
  // [declare]
  info.stream_config_schema = nlohmann::json::parse(R"({
      "properties": {"threshold": {"type": "number", "minimum": 0, "default": 3}}})");
  info.stream_parameters = vcap::make_stream_parameters<Threshold>();
  // [/declare]
  return info;
}

std::shared_ptr<Capsule> make_lamps() {
  return program_capsule(lamp_info(),
                         []() -> std::unique_ptr<Backend> { return std::make_unique<Detector>(); });
}

std::vector<std::size_t> found_in(const std::vector<FrameRecord>& records) {
  std::vector<std::size_t> found;
  for (const FrameRecord& record : records) found.push_back(record.objects.size());
  return found;
}

TEST(StreamParameters, DifferFromStreamToStream) {
  Pipeline pipeline({make_lamps()});
  EXPECT_THAT(found_in(run(pipeline, {.id = "default", .source = make_source(5)})),
              ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(found_in(run(pipeline, {.id = "own",
                                      .source = make_source(5),
                                      .config = {{"lamps", {{"threshold", 1}}}}})),
              ElementsAre(0, 1, 1, 1, 1));
}

TEST(StreamParameters, DifferFromGroupToGroup) {
  Pipeline pipeline({make_lamps()});
  const auto records =
      run(pipeline,
          {.source = std::make_unique<IndexedSource>(std::string(8, '.')),
           .config = {{"lamps", {{"threshold", 2}}}},
           .groups = {{{0, 4}, {}}, {{0, 4}, {{"lamps", {{"threshold", 1}}}}}, {{4, 6}, {}}}});
  EXPECT_THAT(found_in(records), ElementsAre(0, 0, 1, 1, 0, 1, 1, 1, 1, 1));
}

TEST(StreamParameters, HoldInEverySlice) {
  Pipeline pipeline({make_lamps()});
  const auto config = [](std::size_t slices) {
    return StreamConfig{.source = std::make_unique<IndexedSource>(std::string(40, '.')),
                        .config = {{"lamps", {{"threshold", 17}}}},
                        .slices = slices};
  };
  EXPECT_EQ(found_in(run(pipeline, config(4))), found_in(run(pipeline, config(1))));
}

TEST(StreamParameters, AreRefusedBeforeTheStreamStartsIfTheyDoNotFit) {
  Pipeline pipeline({make_lamps()});
  EXPECT_THAT(
      [&] {
        pipeline.open_stream(
            {.id = "s", .source = make_source(5), .config = {{"lamps", {{"threshold", "high"}}}}});
      },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_config, HasSubstr("/threshold")));
}

/// With an empty state, the second frame would wait for the first one, and the meeting would fail.
TEST(StreamParameters, LetFramesOfOneStreamRunAtOnce) {
  constexpr int kFrames = 4;
  Meeting meeting(kFrames);
  const auto capsule = make_capsule(
      lamp_info(), [&](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState& state) {
        parameters_of<Threshold>(state);
        meeting.arrive_and_wait("calls for other frames of the stream");
        return DetectionNodes::all();
      });
  Pipeline pipeline({capsule}, {.workers = kFrames});
  const auto records = run(pipeline, {.source = make_source(kFrames),
                                      .config = {{"lamps", {{"threshold", 1}}}},
                                      .frames_in_flight = kFrames});
  for (const FrameRecord& record : records) EXPECT_TRUE(record.errors.empty());
}

TEST(StreamParameters, ReachFramesThatGoTogether) {
  CapsuleInfo info = lamp_info();
  info.batch = BatchSizes{.maximum = 8};
  std::mutex mutex;
  std::set<const BaseStreamState*> seen;
  std::set<std::size_t> sizes;
  const auto note = [&](std::size_t frames, const BaseStreamState& state) {
    const std::lock_guard lock(mutex);
    seen.insert(&parameters_of<Threshold>(state));
    sizes.insert(frames);
  };
  Latch all_read;
  Pipeline* pipeline = nullptr;
  const auto capsule = make_batch_capsule_of_streams(
      info,
      [&](std::span<const Frame> frames, std::span<DetectionNodes>, BaseStreamState& state) {
        note(frames.size(), state);
        return std::optional(std::vector<DetectionNodes>(frames.size(), DetectionNodes::all()));
      },
      [&](const Frame& frame, DetectionNodes, const OptionValues&, BaseStreamState& state) {
        if (frame.index == 0) {
          all_read.wait("the end of the source");
          yield_until("the begin of all frames",
                      [&] { return pipeline->stats().streams.front().waiting == 0; });
        }
        note(1, state);
        return DetectionNodes::all();
      });
  Pipeline running({capsule}, {.workers = 2});
  pipeline = &running;
  auto source = std::make_unique<MemorySource>(
      MemorySource::Plan{.frames = 9, .after_last = [&] { all_read.open(); }});
  const auto records = run(running, {.source = std::move(source),
                                     .config = {{"lamps", {{"threshold", 1}}}},
                                     .frames_in_flight = 10});
  for (const FrameRecord& record : records) EXPECT_TRUE(record.errors.empty());
  EXPECT_EQ(seen.size(), 1u) << "all frames share the parameters";
  EXPECT_GT(*sizes.rbegin(), 1u) << "some frames went together";
}

TEST(StreamParameters, AreMadeAgainForANewVersion) {
  Pipeline pipeline({make_lamps()});
  FrameFeed feed;
  pipeline.open_stream({.id = "s",
                        .source = feed.source(),
                        .config = {{"lamps", {{"threshold", 9}}}},
                        .pull = true});
  const auto found_at = [&](int brightness) {
    feed.push(cv::Mat(4, 4, CV_8UC3, cv::Scalar::all(brightness)));
    return pipeline.next("s").value().objects.size();
  };
  EXPECT_EQ(found_at(8), 0u);
  CapsuleInfo info = lamp_info();
  info.version = 2;
  pipeline.replace_capsule(program_capsule(
      info, []() -> std::unique_ptr<Backend> { return std::make_unique<Detector>(); }));
  EXPECT_EQ(found_at(8), 0u);
  EXPECT_EQ(found_at(9), 1u);
  feed.end();
  while (pipeline.next("s")) {
  }
  EXPECT_TRUE(pipeline.wait("s").ended);
}

}  // namespace
}  // namespace vcap::test
