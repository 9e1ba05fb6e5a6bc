// SPDX-License-Identifier: Apache-2.0
// Frames of a stored stream that go to a capsule together.
#include <gmock/gmock.h>

#include <atomic>
#include <numeric>
#include <thread>

#include <nlohmann/json.hpp>

#include "support/operation_helpers.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;

DetectionNodes numbered(const Frame& frame) {
  DetectionNodes nodes = DetectionNodes::all();
  nodes.add(note("x", std::to_string(frame.index)));
  return nodes;
}

/// Makes capsules that note the index of each frame, and counts how many frames came together.
class FramesTogether : public testing::Test {
 protected:
  std::shared_ptr<Capsule> capsule(BatchSizes sizes, ProcessFrames together) {
    CapsuleInfo info = detector_info("d", "x");
    info.batch = sizes;
    return make_batch_capsule(std::move(info), std::move(together),
                              [this](const Frame& frame, auto, const auto&, auto&) {
                                ++alone_;
                                if (first_waits_.exchange(false)) wait_until_all_are_begun();
                                return numbered(frame);
                              });
  }
  ProcessFrames counting() {
    return [this](std::span<const Frame> frames, std::span<DetectionNodes>) {
      std::vector<DetectionNodes> results;
      for (const Frame& frame : frames) results.push_back(numbered(frame));
      const std::lock_guard lock(mutex_);
      sizes_.push_back(frames.size());
      in_order_ = in_order_ && std::ranges::is_sorted(frames, {}, &Frame::index);
      return std::optional(std::move(results));
    };
  }
  /// The calls with one frame or several. Their number is nearly the smallest possible: some frames
  /// may not have reached the capsule when its first call ends.
  std::size_t calls() const { return sizes_.size() + static_cast<std::size_t>(alone_); }
  std::size_t frames() const {
    return std::accumulate(sizes_.begin(), sizes_.end(), static_cast<std::size_t>(alone_));
  }
  void wait_until_all_are_begun() {
    all_read_.wait();
    yield_until("the begin of all frames",
                [this] { return pipeline_->stats().streams.front().waiting == 0; });
  }
  /// Runs a stream; all its frames have begun before the first call of the capsule returns.
  std::vector<FrameRecord> run_all_at_once(const std::shared_ptr<Capsule>& one,
                                           std::int64_t frames) {
    first_waits_ = true;
    Pipeline pipeline({one}, {.workers = 2});
    pipeline_ = &pipeline;
    auto source = std::make_unique<MemorySource>(
        MemorySource::Plan{.frames = frames, .after_last = [this] { all_read_.open(); }});
    return run(pipeline, {.source = std::move(source),
                          .frames_in_flight = static_cast<std::size_t>(frames) + 1});
  }
  static void expect_own_results(const std::vector<FrameRecord>& records) {
    for (const FrameRecord& record : records)
      EXPECT_EQ(note_of(record, "x"), std::to_string(record.frame.index));
  }

  std::mutex mutex_;
  std::vector<std::size_t> sizes_;
  bool in_order_ = true;  // within each batch
  std::atomic<int> alone_ = 0;
  std::atomic<bool> first_waits_ = false;
  Latch all_read_;
  const Pipeline* pipeline_ = nullptr;
};

TEST_F(FramesTogether, FormFullBatches) {
  const auto records = run_all_at_once(capsule({.maximum = 8}, counting()), 33);
  ASSERT_EQ(records.size(), 33u);
  expect_own_results(records);
  EXPECT_EQ(frames(), 33u);
  EXPECT_LE(calls(), 8u) << "5, where all have come in time";
  EXPECT_THAT(sizes_, Each(Le(8u)));
  EXPECT_THAT(sizes_, Contains(8u));
  EXPECT_TRUE(in_order_);
}

TEST_F(FramesTogether, HavePreferredSizesIfTheMaximumIsNotReached) {
  const auto records = run_all_at_once(capsule({.preferred = 4, .maximum = 16}, counting()), 31);
  expect_own_results(records);
  EXPECT_EQ(frames(), 31u);
  EXPECT_THAT(sizes_, Contains(16u));
  for (const std::size_t size : sizes_) EXPECT_TRUE(size % 4 == 0 || size < 4) << size;
}

TEST_F(FramesTogether, RunOneByOneIfTheBackendTakesOnlySingleFrames) {
  std::atomic<int> asked = 0;
  const auto none = [&asked](auto, auto) {
    ++asked;
    return std::optional<std::vector<DetectionNodes>>();
  };
  const auto records = run_all_at_once(capsule({.maximum = 8}, none), 20);
  expect_own_results(records);
  EXPECT_EQ(alone_, 20);
  EXPECT_LE(asked, 2) << "asked again, although a worker already knows the answer";
}

TEST_F(FramesTogether, RunOneByOneIfABatchFails) {
  const auto throwing = [](std::span<const Frame> frames, auto) {
    for (const Frame& frame : frames)
      if (frame.index == 5) throw std::runtime_error("frame 5 is bad");
    std::vector<DetectionNodes> results;
    for (const Frame& frame : frames) results.push_back(numbered(frame));
    return std::optional(std::move(results));
  };
  CapsuleInfo info = detector_info("d", "x");
  info.batch = {.maximum = 4};
  Pipeline pipeline({make_batch_capsule(std::move(info), throwing,
                                        [](const Frame& frame, auto, const auto&, auto&) {
                                          if (frame.index == 5)
                                            throw std::runtime_error("frame 5 is bad");
                                          return numbered(frame);
                                        })});
  for (const FrameRecord& record : run(pipeline, {.source = make_source(40)})) {
    if (record.frame.index == 5) {
      ASSERT_EQ(record.errors.size(), 1u);
      EXPECT_THAT(record.errors.front().message, HasSubstr("frame 5 is bad"));
    } else {
      EXPECT_THAT(record.errors, IsEmpty());
      EXPECT_EQ(note_of(record, "x"), std::to_string(record.frame.index));
    }
  }
}

TEST_F(FramesTogether, AreRunAgainOneByOneIfResultsAreMissing) {
  const auto short_of_one = [](std::span<const Frame> frames, auto) {
    return std::optional(std::vector<DetectionNodes>(frames.size() - 1, DetectionNodes::all()));
  };
  const auto records = run_all_at_once(capsule({.maximum = 8}, short_of_one), 20);
  expect_own_results(records);
  EXPECT_EQ(alone_, 20);
}

TEST_F(FramesTogether, KeepTheirNodesThroughTwoCapsules) {
  CapsuleInfo info = all_info("g", "x");
  info.batch = {.maximum = 16};
  info.output_type.extra_data = {"note"};
  auto second = make_batch_capsule(
      std::move(info),
      [](std::span<const Frame>, std::span<DetectionNodes> nodes) {
        std::vector<DetectionNodes> results;
        for (DetectionNodes& list : nodes) results.push_back(std::move(list));
        return std::optional(std::move(results));
      },
      give_back);
  Pipeline pipeline({capsule({.maximum = 4}, counting()), second});
  const auto records = run(pipeline, {.source = make_source(100)});
  ASSERT_EQ(records.size(), 100u);
  expect_own_results(records);
  EXPECT_THAT(sizes_, Each(Le(4u)));
}

TEST_F(FramesTogether, ExcludeNullAndLiveFrames) {
  auto source = std::make_unique<MemorySource>(
      MemorySource::Plan{.frames = 30, .before = [](Frame& frame) {
                           if (frame.index % 3 != 0)
                             frame = {.index = frame.index, .pts = frame.pts, .is_null = true};
                         }});
  const auto all = capsule({.maximum = 8}, counting());
  Pipeline pipeline({all});
  for (const FrameRecord& record : run(pipeline, {.source = std::move(source)}))
    EXPECT_EQ(note_of(record, "x"),
              record.frame.index % 3 == 0 ? std::to_string(record.frame.index) : "no x");
  const int before = alone_;
  sizes_.clear();
  auto live = std::make_unique<MemorySource>(MemorySource::Plan{.frames = 20, .live = true});
  run(pipeline, {.id = "live", .source = std::move(live), .frames_in_flight = 100});
  EXPECT_THAT(sizes_, IsEmpty());
  EXPECT_EQ(alone_, before + 20);
}

TEST_F(FramesTogether, DoNotWaitForFramesThatSkipTheCapsule) {
  const auto none = [](auto, auto) { return std::optional<std::vector<DetectionNodes>>(); };
  for (int round = 0; round < 50; ++round) {
    // One stream finds out that the backend takes only single frames, while other streams wait.
    Pipeline singly({capsule({.maximum = 4}, none)}, {.workers = 4});
    for (const char* id : {"a", "b", "c", "d"})
      singly.open_stream({.id = id, .source = make_source(60)});
    for (const char* id : {"a", "b", "c", "d"}) EXPECT_EQ(singly.wait(id).frames, 60);

    // After a failed sink or in a quarantine, frames skip the capsule while others wait.
    Pipeline together({capsule({.maximum = 4}, counting())}, {.workers = 4});
    together.open_stream({.id = "fails",
                          .source = make_source(200),
                          .sinks = {make_callback_sink([](const FrameRecord& record) {
                            if (record.frame.index == 20)
                              throw OutputError(ErrorCode::output_write, "full");
                          })}});
    EXPECT_EQ(together.wait("fails").frames, 20);

    CapsuleInfo info = detector_info("bad", "x");
    info.batch = {.maximum = 4};
    const auto bad = [](auto&&...) -> DetectionNodes { throw std::runtime_error("bad"); };
    Pipeline held({make_batch_capsule(std::move(info), none, bad)}, {.workers = 4});
    held.open_stream({.id = "held", .source = make_source(200), .quarantine = {.failures = 3}});
    EXPECT_EQ(held.wait("held").frames, 200);
  }
}

TEST_F(FramesTogether, LoseNoFrameOfManyStreams) {
  Pipeline pipeline({capsule({.preferred = 2, .maximum = 5}, counting())}, {.workers = 6});
  constexpr int kStreams = 8;
  std::vector<std::vector<std::int64_t>> indexes(kStreams);
  for (int i = 0; i < kStreams; ++i)
    pipeline.open_stream({.id = std::to_string(i),
                          .source = make_source(400),
                          .sinks = {make_callback_sink([&, i](const FrameRecord& record) {
                            EXPECT_EQ(note_of(record, "x"), std::to_string(record.frame.index));
                            indexes[static_cast<std::size_t>(i)].push_back(record.frame.index);
                          })}});
  std::vector<std::int64_t> all(400);
  std::iota(all.begin(), all.end(), 0);
  for (int i = 0; i < kStreams; ++i) {
    EXPECT_FALSE(pipeline.wait(std::to_string(i)).failure);
    EXPECT_EQ(indexes[static_cast<std::size_t>(i)], all);
  }
}

}  // namespace
}  // namespace vcap::test
