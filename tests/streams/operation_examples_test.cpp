// SPDX-License-Identifier: Apache-2.0
//
// The code of docs/operations.md, which is compiled and run here.
#include <gmock/gmock.h>

#include <deque>
#include <iostream>
#include <mutex>
#include <numeric>

#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>

#include "support/clip_writer.hpp"
#include "support/operation_helpers.hpp"
#include "support/temporary_folder.hpp"

namespace vcap::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Motion final : public Backend {
 public:
  // [window]
  vcap::DetectionNodes process_window(std::span<const vcap::Frame> frames,
                                      std::span<vcap::DetectionNodes>, const vcap::OptionValues&,
                                      vcap::BaseStreamState&) override {
    const cv::Mat& before = frames[0].image;  // in the order of the offsets
    const cv::Mat& present = frames[1].image;
    vcap::DetectionNodes found = vcap::DetectionNodes::all();
    if (cv::norm(before, present, cv::NORM_INF) > 0) found.add({.name = "motion"});
    return found;
  }
  // [/window]
};

CapsuleInfo motion_info() {
  // [stencil]
  return {.name = "motion",
          .version = 1,
          .input_type = {.size = vcap::NodeDescription::Size::none},
          .output_type = {.size = vcap::NodeDescription::Size::all, .detections = {"motion"}},
          .stencil = vcap::Stencil{.offsets = {-1, 0}}};
  // [/stencil]
}

TEST(OperationExamples, SeeTheFrameBefore) {
  Pipeline pipeline({program_capsule(
      motion_info(), []() -> std::unique_ptr<Backend> { return std::make_unique<Motion>(); })});
  auto source =
      std::make_unique<MemorySource>(MemorySource::Plan{.frames = 5, .before = [](Frame& frame) {
                                                          if (frame.index == 3)
                                                            frame.discontinuity =
                                                                Discontinuity::gap;
                                                        }});
  std::vector<std::size_t> found;
  for (const FrameRecord& record : run(pipeline, {.source = std::move(source)}))
    found.push_back(record.objects.size());
  EXPECT_THAT(found, ElementsAre(0, 1, 1, 0, 1)) << "at the edges, the window has its frame twice";
}

// [bounded]
// The mean brightness of a frame and of the three before it.
class Brightness final : public vcap::BaseStreamState {
 public:
  double add(double brightness) {
    recent_.push_back(brightness);
    if (recent_.size() > 4) recent_.pop_front();
    // Summed again each time: to add and later subtract a value leaves a rounding error.
    return std::accumulate(recent_.begin(), recent_.end(), 0.0) /
           static_cast<double>(recent_.size());
  }

 private:
  std::deque<double> recent_;
};
// [/bounded]

CapsuleInfo brightness_info() {
  // [warmup]
  return {.name = "brightness",
          .version = 1,
          .input_type = {.size = vcap::NodeDescription::Size::none},
          .output_type = {.size = vcap::NodeDescription::Size::all,
                          .detections = {"light"},
                          .extra_data = {"mean"}},
          .stream_state = vcap::make_stream_state<Brightness>(),
          .warmup = 3};
  // [/warmup]
}

std::shared_ptr<Capsule> make_brightness() {
  return make_capsule(brightness_info(), [](const Frame& frame, DetectionNodes, const auto&,
                                            BaseStreamState& state) {
    const double mean = vcap::state_of<Brightness>(state).add(cv::mean(frame.image)[0]);
    DetectionNodes nodes = DetectionNodes::all();
    nodes.add({.name = "light", .extra_data = {{"mean", mean}}});
    return nodes;
  });
}

double mean_of(const FrameRecord& record) {
  return record.objects.at(0).extra_data.at("mean").get<double>();
}

class Scores final : public Backend {
 public:
  DetectionNodes process_frame(const Frame& frame, DetectionNodes, const OptionValues&,
                               BaseStreamState&) override {
    return nodes_of(scores(std::span(&frame, 1)).front());
  }

  // [together]
  std::optional<std::vector<vcap::DetectionNodes>> process_frames(
      std::span<const vcap::Frame> frames, std::span<vcap::DetectionNodes>,
      const vcap::OptionValues&, vcap::BaseStreamState&) override {
    std::vector<vcap::DetectionNodes> results;
    for (const double score : scores(frames)) results.push_back(nodes_of(score));
    return results;
  }
  // [/together]

 private:
  /// The model.
  static std::vector<double> scores(std::span<const Frame> frames) {
    std::vector<double> scores;
    for (const Frame& frame : frames) scores.push_back(cv::mean(frame.image)[0]);
    return scores;
  }
  static DetectionNodes nodes_of(double score) {
    DetectionNodes nodes = DetectionNodes::all();
    nodes.add({.name = "scene", .extra_data = {{"score", score}}});
    return nodes;
  }
};

TEST(OperationExamples, TakeFramesTogether) {
  CapsuleInfo info = detector_info("scores", "scene");
  info.version = 1;
  info.output_type.extra_data = {"score"};
  // [batch]
  info.batch = vcap::BatchSizes{.preferred = 8, .maximum = 32};
  // [/batch]
  Pipeline pipeline({program_capsule(
      info, []() -> std::unique_ptr<Backend> { return std::make_unique<Scores>(); })});
  const auto records = run(pipeline, {.source = make_source(100)});
  ASSERT_EQ(records.size(), 100u);
  for (const FrameRecord& record : records)
    EXPECT_EQ(record.objects.at(0).extra_data.at("score"), double(record.frame.index));
}

class OperationClip : public testing::Test {
 protected:
  OperationClip() { write_clip(clip_, {.frames = 100}); }

  std::vector<FrameRecord> serial() {
    return run(pipeline_, {.id = "serial", .source = open_source(clip_)});
  }
  std::shared_ptr<Sink> results() {
    return make_callback_sink([this](const FrameRecord& record) {
      const std::lock_guard lock(mutex_);
      records_.push_back(record);
    });
  }

  const TemporaryFolder folder_;
  const std::string clip_ = folder_ / "clip.mp4";
  Pipeline pipeline_{{make_brightness()}};
  std::mutex mutex_;
  std::vector<FrameRecord> records_;
};

TEST_F(OperationClip, RunsInSlices) {
  const std::vector<FrameRecord> expected = serial();
  const std::string clip = clip_;
  const std::shared_ptr<Sink> sink = results();
  Pipeline& pipeline = pipeline_;
  // [slices]
  pipeline.open_stream(
      {.id = "yard", .source = vcap::open_source(clip), .sinks = {sink}, .slices = 0});
  const vcap::StreamReport report = pipeline.wait("yard");
  if (report.slices == 0) std::cout << "without slices, since " << report.not_sliced << '\n';
  // [/slices]
  ASSERT_EQ(records_.size(), expected.size());
  for (std::size_t i = 0; i < records_.size(); ++i)
    EXPECT_EQ(mean_of(records_[i]), mean_of(expected[i])) << i;
  EXPECT_EQ(report.slices == 0, !report.not_sliced.empty());
}

TEST_F(OperationClip, SelectsRecordsOrSamplesFrames) {
  const std::vector<FrameRecord> whole = serial();
  const std::string clip = clip_;
  const std::shared_ptr<Sink> sink = results();
  Pipeline& pipeline = pipeline_;
  // [selection]
  // Every 25th record of the whole clip: 0, 25, 50, 75.
  pipeline.open_stream({.id = "selected",
                        .source = vcap::open_source(clip),
                        .sinks = {sink},
                        .select = vcap::Sampler::stride(25)});
  // Another stream, made of every 25th frame: 0, 1, 2, 3.
  pipeline.open_stream({.id = "sampled",
                        .source = vcap::open_source(clip, {.sampler = vcap::Sampler::stride(25)}),
                        .sinks = {sink}});
  // [/selection]
  pipeline.wait("selected");
  pipeline.wait("sampled");
  std::vector<std::int64_t> selected;
  std::vector<std::int64_t> sampled;
  for (const FrameRecord& record : records_) {
    const std::int64_t index = record.frame.index;
    if (record.stream_id == "sampled") {
      sampled.push_back(index);
      continue;
    }
    selected.push_back(index);
    EXPECT_EQ(mean_of(record), mean_of(whole[static_cast<std::size_t>(index)]));
  }
  EXPECT_THAT(selected, ElementsAre(0, 25, 50, 75));
  EXPECT_THAT(sampled, ElementsAre(0, 1, 2, 3));
}

TEST_F(OperationClip, RunsInGroups) {
  const std::string clip = clip_;
  const std::shared_ptr<Sink> sink = results();
  Pipeline& pipeline = pipeline_;
  // [groups]
  pipeline.open_stream({.id = "yard",
                        .source = vcap::open_source(clip),
                        .sinks = {sink},
                        .groups = {{.rows = {0, 20}},
                                   {.rows = {10, 30}, .config = {{"brightness", {{"from", 9}}}}}}});
  // [/groups]
  EXPECT_FALSE(pipeline.wait("yard").failure);
  ASSERT_EQ(records_.size(), 40u);
  EXPECT_EQ(records_[20].group, 1);
  EXPECT_EQ(records_[20].frame.index, 0);
  EXPECT_EQ(mean_of(records_[20]), cv::mean(records_[20].frame.image)[0])
      << "the group's state must begin again";
}

}  // namespace
}  // namespace vcap::test
