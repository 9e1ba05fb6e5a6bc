// SPDX-License-Identifier: Apache-2.0
// Windows of a stored stream that go to a capsule together.
#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "records/record_line.hpp"
#include "support/bounded_wait.hpp"
#include "support/operation_helpers.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;

/// The result for one window: which frames it has, and the nodes of each.
DetectionNodes told(std::span<const Frame> frames, std::span<const DetectionNodes> nodes) {
  std::string text = shown(frames);
  for (const DetectionNodes& of_frame : nodes)
    for (const DetectionNode& node : of_frame)
      text += " " + node.extra_data.value("note", std::string());
  return DetectionNodes::all({note("w", text)});
}

/// What the backends of a test have in common.
struct Calls {
  std::function<void(const Frame&)> before_alone = [](const Frame&) {};
  std::function<void()> before_together = [] {};
  std::mutex mutex{};
  std::vector<std::size_t> together{};
};

class Windows final : public Backend {
 public:
  explicit Windows(Calls& calls) : calls_(calls) {}

  DetectionNodes process_window(std::span<const Frame> frames, std::span<DetectionNodes> nodes,
                                const OptionValues&, BaseStreamState&) override {
    calls_.before_alone(frames.back());
    return told(frames, nodes);
  }
  // [windows]
  std::optional<std::vector<vcap::DetectionNodes>> process_windows(
      std::span<const vcap::FrameWindow> windows, const vcap::OptionValues&,
      vcap::BaseStreamState&) override {
    std::vector<vcap::DetectionNodes> results;
    for (const auto& [frames, nodes] : windows) results.push_back(told(frames, nodes));
    // [/windows]
    calls_.before_together();
    const std::lock_guard lock(calls_.mutex);
    calls_.together.push_back(windows.size());
    // [windows]
    return results;
  }
  // [/windows]

 private:
  Calls& calls_;
};

/// Takes windows of {-1, 0}.
CapsuleInfo windows_info(StencilEdge edge = StencilEdge::repeat) {
  CapsuleInfo info = detector_info("windows", "w");
  info.version = 1;
  info.output_type.extra_data = {"note"};
  info.batch = BatchSizes{.maximum = 8};
  info.stencil = Stencil{.offsets = {-1, 0}, .edge = edge};
  return info;
}

std::shared_ptr<Capsule> make_windows(CapsuleInfo info, Calls& calls) {
  return program_capsule(std::move(info), [&calls]() -> std::unique_ptr<Backend> {
    return std::make_unique<Windows>(calls);
  });
}

/// Runs ten frames; the first call for a frame by itself ends only when all frames have begun, so
/// that the others gather. It need not be that of frame 0: another worker may be faster.
std::vector<FrameRecord> run_gathered(std::vector<std::shared_ptr<Capsule>> capsules,
                                      Calls& calls) {
  Latch all_read;
  std::atomic<bool> is_first = true;
  Pipeline pipeline(std::move(capsules), {.workers = 2});
  calls.before_alone = [&](const Frame&) {
    if (!is_first.exchange(false)) return;
    all_read.wait("the end of the source");
    yield_until("the begin of all frames",
                [&] { return pipeline.stats().streams.front().waiting == 0; });
  };
  auto source = std::make_unique<MemorySource>(
      MemorySource::Plan{.frames = 10, .after_last = [&] { all_read.open(); }});
  return run(pipeline, {.source = std::move(source), .frames_in_flight = 11});
}

TEST(WindowsTogether, GiveTheResultsOfWindowsByThemselves) {
  Calls calls;
  const auto records = run_gathered({make_windows(windows_info(), calls)}, calls);
  EXPECT_THAT(notes_of(records, "w"),
              ElementsAre("0 0", "0 1", "1 2", "2 3", "3 4", "4 5", "5 6", "6 7", "7 8", "8 9"));
  EXPECT_THAT(calls.together, testing::Contains(Gt(1u))) << "some windows went together";
}

/// Gives each frame a node "n" that notes its index.
std::shared_ptr<Capsule> make_index_noter(std::function<void(const Frame&)> before) {
  CapsuleInfo info = detector_info("finder", "n");
  info.output_type.extra_data = {"note"};
  return make_capsule(info, [before = std::move(before)](const Frame& frame, auto&&...) {
    before(frame);
    return DetectionNodes::all({note("n", "n" + std::to_string(frame.index))});
  });
}

/// Windows with the nodes of make_index_noter().
CapsuleInfo windows_of_nodes_info() {
  CapsuleInfo info = windows_info();
  info.input_type = {.size = Size::all, .detections = {"n"}};
  return info;
}

TEST(WindowsTogether, HaveTheNodesOfAllTheirFrames) {
  Calls calls;
  const auto records = run_gathered(
      {make_index_noter([](const Frame&) {}), make_windows(windows_of_nodes_info(), calls)}, calls);
  EXPECT_EQ(note_of(records[0], "w"), "0 0 n0 n0");
  EXPECT_EQ(note_of(records[9], "w"), "8 9 n8 n9");
}

TEST(WindowsTogether, GiveTheRecordsOfAnUncutRunInSlices) {
  const auto lines_in = [](std::size_t slices) {
    Calls calls;
    std::atomic<int> noted = 0;
    // Two workers: while one waits here, the other brings the next frames of the first slice.
    std::atomic<bool> was_held = false;
    calls.before_alone = [&](const Frame&) {
      if (was_held.exchange(true)) return;
      yield_until("frames that gather behind the first one", [&] { return noted >= 4; });
    };
    Pipeline pipeline({make_index_noter([&](const Frame& frame) {
                         if (frame.index < 10) ++noted;
                       }),
                       make_windows(windows_of_nodes_info(), calls)},
                      {.workers = 2});
    std::vector<std::string> lines;
    for (const FrameRecord& record :
         run(pipeline, {.source = std::make_unique<IndexedSource>(std::string(80, '.')),
                       .frames_in_flight = 40,
                       .slices = slices}))
      lines.push_back(record_line(record));
    EXPECT_THAT(calls.together, testing::Contains(Gt(1u))) << "some windows went together";
    return lines;
  };
  const auto lines = lines_in(4);
  EXPECT_EQ(lines.size(), 80u);
  EXPECT_EQ(lines, lines_in(1));
}

TEST(WindowsTogether, AreCalledOneByOneIfTheCallFails) {
  Calls calls;
  calls.before_together = [] { throw std::runtime_error("no memory on the device"); };
  const auto records = run_gathered({make_windows(windows_info(), calls)}, calls);
  EXPECT_EQ(note_of(records[9], "w"), "8 9");
  for (const FrameRecord& record : records) EXPECT_TRUE(record.errors.empty());
}

TEST(WindowsTogether, KeepTheErrorOfAnEdge) {
  Calls calls;
  calls.before_alone = [](const Frame&) {};
  Pipeline pipeline({make_windows(windows_info(StencilEdge::error), calls)}, {.workers = 2});
  const auto records = run(pipeline, {.source = make_source(10)});
  ASSERT_EQ(records[0].errors.size(), 1u);
  EXPECT_EQ(records[0].errors[0].code, "stencil_edge");
  for (std::size_t i = 1; i < records.size(); ++i) {
    EXPECT_TRUE(records[i].errors.empty());
    EXPECT_EQ(note_of(records[i], "w"), std::to_string(i - 1) + " " + std::to_string(i));
  }
}

TEST(WindowsTogether, AreGivenByAHostToo) {
  Calls calls;
  const auto capsule = make_windows(windows_info(), calls);
  const auto frame = [](std::int64_t index) {
    return Frame{.image = cv::Mat(4, 4, CV_8UC3, cv::Scalar::all(0)), .index = index};
  };
  const std::vector<Frame> frames{frame(1), frame(2)};
  const std::vector<Frame> first{frame(0), frame(1)}, second{frame(1), frame(2)};
  std::vector<DetectionNodes> nodes(2), more_nodes(2);
  const std::vector<FrameWindow> windows{{first, nodes}, {second, more_nodes}};
  const auto results = capsule->process_windows(frames, windows);
  ASSERT_TRUE(results);
  ASSERT_EQ(results->size(), 2u);
  EXPECT_EQ((*results)[1][0].extra_data.at("note"), "1 2");
  EXPECT_THAT([&] { capsule->process_windows(std::span(frames).first(1), windows); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           HasSubstr("given 1 frame and 2 windows")));
}

}  // namespace
}  // namespace vcap::test
