// SPDX-License-Identifier: Apache-2.0
// Tests of the frames that capsules with a stencil see.
#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <thread>

#include <nlohmann/json.hpp>

#include "support/operation_helpers.hpp"
#include "vcap/base/error.hpp"
#include "vcap/sources/frame_feed.hpp"

namespace vcap::test {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

/// A source with a frame for each character: '.' follows, '|' does not, '0' is null.
std::unique_ptr<Source> source_of(const std::string& frames) {
  return std::make_unique<MemorySource>(MemorySource::Plan{
      .frames = static_cast<std::int64_t>(frames.size()), .before = [frames](Frame& frame) {
        const char kind = frames[static_cast<std::size_t>(frame.index)];
        if (kind == '|') frame.discontinuity = Discontinuity::gap;
        if (kind == '0') frame = {.index = frame.index, .pts = frame.pts, .is_null = true};
      }});
}

std::vector<FrameRecord> run_on(const std::string& frames, std::shared_ptr<Capsule> capsule) {
  Pipeline pipeline({std::move(capsule)});
  return run(pipeline, {.source = source_of(frames)});
}

struct WindowCase {
  const char* frames;
  Stencil stencil;
  std::vector<std::string> windows;
};

TEST(Stencil, ShowsTheFramesAtItsOffsets) {
  using enum StencilEdge;
  const WindowCase cases[] = {
      {"....", {{-1, 0, 1}}, {"0 0 1", "0 1 2", "1 2 3", "2 3 3"}},
      {"....", {{1, 0, -1}}, {"1 0 0", "2 1 0", "3 2 1", "3 3 2"}},
      {"....", {{-3, 2}}, {"0 2", "0 3", "0 3", "0 3"}},
      {"....", {{-2, 0}, null}, {"- 0", "- 1", "0 2", "1 3"}},
      {"....", {{2}, null}, {"2", "3", "-", "-"}},
      {".", {{-5, 0, 5}}, {"0 0 0"}},
      {".", {{-5, 0, 5}, null}, {"- 0 -"}},
      {"..|..", {{-1, 0, 1}}, {"0 0 1", "0 1 1", "2 2 3", "2 3 4", "3 4 4"}},
      {"..|..", {{-1, 0, 1}, null}, {"- 0 1", "0 1 -", "- 2 3", "2 3 4", "3 4 -"}},
      {"|||", {{-1, 0, 1}}, {"0 0 0", "1 1 1", "2 2 2"}},
      {".0.", {{-1, 0}}, {"0 0", "no n_note", "2 2"}},
      {".0.", {{-1, 0}, null}, {"- 0", "no n_note", "- 2"}},
      {".00.", {{-2, 0, 2}}, {"0 0 0", "no n_note", "no n_note", "3 3 3"}},
      {"..0.", {{-2, 0}}, {"0 0", "0 1", "no n_note", "1 3"}},
      {"00", {{-1, 0}}, {"no n_note", "no n_note"}},
  };
  for (const WindowCase& one : cases) {
    const auto records = run_on(one.frames, make_window_noter("n", one.stencil));
    EXPECT_THAT(notes_of(records, "n_note"), ElementsAreArray(one.windows))
        << one.frames << " " << testing::PrintToString(one.stencil.offsets);
    for (const FrameRecord& record : records) EXPECT_THAT(record.errors, IsEmpty());
  }
}

TEST(Stencil, GivesAnErrorAtTheEdgeIfRequested) {
  const auto records = run_on("...|", make_window_noter("n", {{-1, 0, 1}, StencilEdge::error}));
  std::vector<std::string> outcome;
  for (const FrameRecord& record : records)
    outcome.push_back(record.errors.empty() ? note_of(record, "n_note")
                                            : record.errors.front().code);
  EXPECT_THAT(outcome, ElementsAre("stencil_edge", "0 1 2", "stencil_edge", "stencil_edge"));
  EXPECT_THAT(records[0].errors.front().message, HasSubstr("no frame at offset -1"));
  EXPECT_THAT(records[2].errors.front().message, HasSubstr("no frame at offset 1"));
}

TEST(Stencil, SharesPixelsWithTheFrames) {
  std::map<std::int64_t, const void*> pixels;
  std::mutex mutex;
  CapsuleInfo info = detector_info("n", "x");
  info.stencil = {{-1, 0}};
  auto capsule = make_window_capsule(
      std::move(info), [&](std::span<const Frame> frames, auto, const auto&, auto&) {
        const std::lock_guard lock(mutex);
        for (const Frame& frame : frames) {
          const auto [known, fresh] = pixels.emplace(frame.index, frame.image.data);
          EXPECT_EQ(known->second, frame.image.data);
        }
        return DetectionNodes::all();
      });
  EXPECT_EQ(run_on("......", capsule).size(), 6u);
}

/// Joins the notes of nodes of its kind in the window, in brackets.
std::shared_ptr<Capsule> make_gatherer(std::string name, const std::string& kind, Stencil stencil) {
  CapsuleInfo info = all_info(std::move(name), kind);
  info.output_type.extra_data = {"note"};
  info.stencil = std::move(stencil);
  return make_window_capsule(
      std::move(info),
      [kind](std::span<const Frame>, std::span<DetectionNodes> nodes, const auto&, auto&) {
        std::string text;
        for (DetectionNodes& list : nodes) {
          const std::vector<DetectionNode> all = std::move(list).take();
          text += all.empty() ? "-" : all.front().extra_data.at("note").get<std::string>();
        }
        DetectionNodes result = DetectionNodes::all();
        result.add(note(kind, "(" + text + ")"));
        return result;
      });
}

std::shared_ptr<Capsule> make_numberer(const std::string& finds) {
  return make_capsule(detector_info("numberer", finds),
                      [finds](const Frame& frame, DetectionNodes, const auto&, auto&) {
                        DetectionNodes nodes = DetectionNodes::all();
                        nodes.add(note(finds, std::to_string(frame.index)));
                        return nodes;
                      });
}

TEST(Stencil, ShowsTheNodesOfNeighboursUnchanged) {
  Pipeline pipeline({make_numberer("x"), make_gatherer("g", "x", {{-1, 0, 1}})});
  EXPECT_THAT(notes_of(run(pipeline, {.source = source_of("..|.0")}), "x"),
              ElementsAre("(001)", "(011)", "(223)", "(233)", "no x"));
}

TEST(Stencil, CanFollowAnotherStencil) {
  Pipeline pipeline({make_numberer("x"), make_gatherer("g", "x", {{0, 1}}),
                     make_gatherer("h", "x", {{-1, 0, 2}, StencilEdge::null})});
  EXPECT_THAT(notes_of(run(pipeline, {.source = source_of("....")}), "x"),
              ElementsAre("(-(01)(23))", "((01)(12)(33))", "((12)(23)-)", "((23)(33)-)"));
}

TEST(Stencil, GivesSingleNodesTheWindowOfTheirFrame) {
  CapsuleInfo info = single_info("s", "x");
  info.stencil = {{-1, 0}};
  auto single = make_window_capsule(
      std::move(info),
      [](std::span<const Frame> frames, std::span<DetectionNodes> nodes, const auto&, auto&) {
        EXPECT_EQ(nodes[0].kind(), Size::none) << "nodes of neighbours must not be given";
        std::vector<DetectionNode> own = std::move(nodes[1]).take();
        own.front().extra_data["note"] = shown(frames);
        return DetectionNodes::single(std::move(own.front()));
      });
  Pipeline pipeline({make_detector("d", "x", 2), single});
  for (const FrameRecord& record : run(pipeline, {.source = source_of("...")})) {
    ASSERT_EQ(record.objects.size(), 2u);
    const std::int64_t index = record.frame.index;
    const std::string window =
        std::to_string(std::max<std::int64_t>(index - 1, 0)) + " " + std::to_string(index);
    EXPECT_EQ(record.objects[0].extra_data.at("note"), window);
    EXPECT_EQ(record.objects[1].extra_data.at("note"), window);
  }
}

TEST(Stencil, GivesAStatefulCapsuleItsFramesInOrder) {
  CapsuleInfo info = detector_info("n", "x");
  info.stencil = {{0, 2}};
  info.stream_state = make_stream_state<CountingState>();
  auto capsule = make_window_capsule(std::move(info), [](std::span<const Frame> frames, auto,
                                                         const auto&, BaseStreamState& state) {
    DetectionNodes nodes = DetectionNodes::all();
    nodes.add(note(
        "x", std::to_string(static_cast<CountingState&>(state).frames++) + ": " + shown(frames)));
    return nodes;
  });
  EXPECT_THAT(notes_of(run_on("...|.", capsule), "x"),
              ElementsAre("0: 0 2", "1: 1 2", "2: 2 2", "0: 3 4", "1: 4 4"));
}

TEST(Stencil, LooksFurtherAheadThanTheFramesInFlight) {
  Pipeline pipeline({make_window_noter("n", {{0, 7}}), make_window_noter("m", {{3}})},
                    {.workers = 1, .frames_in_flight = 1});
  const auto records = run(pipeline, {.source = make_source(20), .frames_in_flight = 1});
  ASSERT_EQ(records.size(), 20u);
  EXPECT_EQ(note_of(records[10], "n_note"), "10 17");
  EXPECT_EQ(note_of(records[10], "m_note"), "13");
}

TEST(Stencil, HasOnlyOneFrameIfTheHostCallsTheCapsule) {
  const auto note_of_call = [](StencilEdge edge) {
    const auto capsule = make_window_noter("n", {{-1, 0, 1}, edge});
    const Frame frame{.image = cv::Mat(4, 4, CV_8UC3, cv::Scalar::all(0)), .index = 5};
    return capsule->process_frame(frame).take().front().extra_data.at("note").get<std::string>();
  };
  EXPECT_EQ(note_of_call(StencilEdge::repeat), "5 5 5");
  EXPECT_EQ(note_of_call(StencilEdge::null), "- 5 -");
  try {
    note_of_call(StencilEdge::error);
    FAIL() << "the edge is an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::stencil_edge);
  }
}

TEST(Stencil, ContinuesAcrossSkippedFramesAndAReplacement) {
  Pipeline pipeline({make_window_noter("n", {{-1, 0}})});
  pipeline.open_stream({.id = "s",
                        .source = source_of("......"),
                        .frames_in_flight = 1,
                        .keep_every = 2,
                        .pull = true});
  std::vector<std::string> notes;
  notes.push_back(note_of(pipeline.next("s").value(), "n_note"));
  auto newer = make_window_noter("n", {{-1, 0, 1}, StencilEdge::null});
  const std::int64_t first = pipeline.replace_capsule(newer).at("s");
  while (const auto record = pipeline.next("s")) {
    const bool is_new = record->frame.index >= first;
    const std::string index = std::to_string(record->frame.index);
    const std::string before = std::to_string(record->frame.index - 2);
    const std::string after =
        record->frame.index == 4 ? "-" : std::to_string(record->frame.index + 2);
    EXPECT_EQ(note_of(*record, "n_note"),
              is_new ? before + " " + index + " " + after : before + " " + index)
        << "a new version sees earlier frames, too";
    notes.push_back(note_of(*record, "n_note"));
  }
  EXPECT_EQ(notes.size(), 3u);
  EXPECT_EQ(notes.front(), "0 0");
}

TEST(Stencil, EndsWhenAVersionWithoutAStencilTakesOver) {
  const auto info_of = [](bool has_stencil) {
    CapsuleInfo info = all_info("g", "x");
    info.output_type.extra_data = {"note"};
    info.stream_state = make_stream_state<CountingState>();
    if (has_stencil) info.stencil = {{0, 2}};
    return info;
  };
  for (int round = 0; round < 30; ++round) {
    auto windowed =
        make_window_capsule(info_of(true), [](auto, std::span<DetectionNodes> nodes, const auto&,
                                              auto&) { return std::move(nodes[0]); });
    Pipeline pipeline({make_numberer("x"), std::move(windowed)});
    pipeline.open_stream({.id = "s", .source = make_source(40), .pull = true});
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(pipeline.next("s"));
    pipeline.replace_capsule(make_capsule(info_of(false), give_back));
    std::int64_t index = 5;
    while (const auto record = pipeline.next("s"))
      EXPECT_EQ(note_of(*record, "x"), std::to_string(index++));
    EXPECT_EQ(index, 40);
  }
}

// A window waits for the nodes of later frames. If these reach a stateful capsule first, they wait
// there for the frame of that window.
TEST(Stencil, EndsItsWindowsWhereAReplacementChangesTheOrderOfThePlan) {
  CapsuleInfo info = all_info("windows", "x");
  info.output_type.extra_data = {"window"};
  info.stencil = {{0, 1}, StencilEdge::null};
  auto windows = make_window_capsule(
      info, [](std::span<const Frame> frames, std::span<DetectionNodes> nodes, const auto&, auto&) {
        DetectionNodes result = DetectionNodes::all();
        for (DetectionNode& node : std::move(nodes[0]).take()) {
          node.extra_data["window"] = shown(frames);
          result.add(std::move(node));
        }
        return result;
      });
  const auto stateful = [](int version, std::vector<std::string> needs) {
    CapsuleInfo own = all_info("stateful", "x");
    own.version = version;
    own.input_type.extra_data = own.output_type.extra_data = std::move(needs);
    own.stream_state = make_stream_state<CountingState>();
    return make_capsule(own, give_back);
  };
  Pipeline pipeline({make_numberer("x"), stateful(1, {"window"}), windows});
  FrameFeed feed;
  pipeline.open_stream({.id = "s", .source = feed.source(), .pull = true});
  feed.push(cv::Mat(8, 8, CV_8UC3, cv::Scalar::all(0)));
  while (pipeline.stats().streams[0].read < 1) std::this_thread::yield();
  pipeline.replace_capsule(stateful(2, {}));
  for (int i = 0; i < 2; ++i) feed.push(cv::Mat(8, 8, CV_8UC3, cv::Scalar::all(0)));
  feed.end();
  std::vector<std::string> shown_windows;
  while (const auto record = pipeline.next("s"))
    shown_windows.push_back(record->objects.at(0).extra_data.at("window").get<std::string>());
  EXPECT_THAT(shown_windows, ElementsAre("0 -", "1 2", "2 -"));
}

/// What a window of that stream must show, computed step by step.
std::string expected_window(const std::string& frames, std::int64_t index, const Stencil& stencil) {
  std::string text;
  for (const int offset : stencil.offsets) {
    std::int64_t at = index;
    std::int64_t real = index;
    bool edge = false;
    for (int i = 0; i < std::abs(offset) && !edge; ++i) {
      const std::int64_t next = at + (offset < 0 ? -1 : 1);
      edge = next < 0 || next == static_cast<std::int64_t>(frames.size()) ||
             frames[static_cast<std::size_t>(std::max(at, next))] == '|';
      if (!edge) at = next;
      if (frames[static_cast<std::size_t>(at)] != '0') real = at;
    }
    const bool missing = edge || frames[static_cast<std::size_t>(at)] == '0';
    text += text.empty() ? "" : " ";
    text += !missing                              ? std::to_string(at)
            : stencil.edge == StencilEdge::repeat ? std::to_string(real)
                                                  : "-";
  }
  return text;
}

TEST(Stencil, ShowsTheRightFramesOfRandomStreams) {
  std::mt19937 random(7);
  const auto below = [&](int bound) {
    return static_cast<int>(random() % static_cast<unsigned>(bound));
  };
  for (int round = 0; round < 300; ++round) {
    Stencil stencil{.edge = below(2) == 0 ? StencilEdge::repeat : StencilEdge::null};
    while (stencil.offsets.empty() || below(3) > 0)
      if (const int offset = below(9) - 4; std::ranges::count(stencil.offsets, offset) == 0)
        stencil.offsets.push_back(offset);
    std::string frames;
    for (int i = below(12); i >= 0; --i) frames += "....|0"[below(6)];
    Pipeline pipeline({make_window_noter("n", stencil)},
                      {.workers = static_cast<std::size_t>(1 + below(4))});
    const auto records = run(pipeline, {.source = source_of(frames),
                                        .frames_in_flight = static_cast<std::size_t>(below(4))});
    ASSERT_EQ(records.size(), frames.size());
    for (const FrameRecord& record : records) {
      const auto index = record.frame.index;
      const bool is_null = frames[static_cast<std::size_t>(index)] == '0';
      EXPECT_EQ(note_of(record, "n_note"),
                is_null ? "no n_note" : expected_window(frames, index, stencil))
          << frames << " at " << index << " " << testing::PrintToString(stencil.offsets);
    }
  }
}

/// A live stream analyses the frames that it has not dropped, and windows consist of those.
TEST(Stencil, SkipsTheDroppedFramesOfALiveStream) {
  std::int64_t dropped = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 dice(seed);
    std::string kinds;
    for (int i = 0; i < 60; ++i) kinds += "...........|0"[dice() % 13];
    const bool oldest = dice() % 2 == 0;
    Pipeline pipeline(
        {make_window_noter("n", {{-1, 0, 2}}),
         make_capsule(detector_info("slow", "x"), [](const Frame& frame, auto, auto&, auto&) {
           for (std::int64_t i = frame.index % 7; i > 0; --i) std::this_thread::yield();
           return DetectionNodes::all();
         })});
    std::vector<FrameRecord> records;
    pipeline.open_stream(
        {.id = "s",
         .source = std::make_unique<MemorySource>(MemorySource::Plan{
             .frames = 60,
             .live = true,
             .before =
                 [&](Frame& frame) {
                   const char kind = kinds[static_cast<std::size_t>(frame.index)];
                   if (kind == '|') frame.discontinuity = Discontinuity::gap;
                   if (kind == '0')
                     frame = {.index = frame.index, .pts = frame.pts, .is_null = true};
                   if (frame.index % 5 == 0) std::this_thread::yield();
                 }}),
         .sinks = {make_callback_sink(
             [&](const FrameRecord& record) { records.push_back(record); })},
         .overflow = oldest ? OverflowPolicy::drop_oldest : OverflowPolicy::drop_newest,
         .frames_in_flight = 2});
    const StreamReport report = pipeline.wait("s");
    ASSERT_FALSE(report.failure);
    std::int64_t accounted = report.frames;
    for (const auto& [reason, count] : report.drops) accounted += count;
    EXPECT_EQ(accounted, 60);
    dropped += 60 - report.frames;

    std::string analysed;  // the stream without its dropped frames
    for (const FrameRecord& record : records)
      analysed += record.frame.is_null                                ? '0'
                  : record.frame.discontinuity != Discontinuity::none ? '|'
                                                                      : '.';
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (records[i].frame.is_null) continue;
      std::string expected;
      for (const int offset : {-1, 0, 2}) {
        const int step = offset < 0 ? -1 : 1;
        auto nearest = static_cast<int>(i);
        for (int at = nearest; at != static_cast<int>(i) + offset;) {
          // Of each two neighbours, the later one must follow the earlier one.
          const int later = step < 0 ? at : at + 1;
          at += step;
          if (at < 0 || at >= static_cast<int>(records.size())) break;
          if (records[static_cast<std::size_t>(later)].frame.discontinuity != Discontinuity::none)
            break;
          if (analysed[static_cast<std::size_t>(at)] != '0') nearest = at;
        }
        expected += (expected.empty() ? "" : " ") +
                    std::to_string(records[static_cast<std::size_t>(nearest)].frame.index);
      }
      ASSERT_EQ(note_of(records[i], "n_note"), expected)
          << "frame " << records[i].frame.index << " of " << kinds << ", seed " << seed;
    }
  }
  EXPECT_GT(dropped, 100);
}

/// Waits `pause` before it gives the frame with that index.
class PausingSource final : public Source {
 public:
  PausingSource(std::unique_ptr<Source> source, std::int64_t index, std::chrono::milliseconds pause)
      : source_(std::move(source)), index_(index), pause_(pause) {}
  SourceInfo info() const override { return source_->info(); }
  std::optional<Frame> read() override {
    auto frame = source_->read();
    if (frame && frame->index == index_) std::this_thread::sleep_for(pause_);
    return frame;
  }

 private:
  const std::unique_ptr<Source> source_;
  const std::int64_t index_;
  const std::chrono::milliseconds pause_;
};

TEST(Stencil, AddsItsWaitForLaterFramesToTheLatency) {
  constexpr std::chrono::milliseconds kPause(50);
  Pipeline pipeline({make_window_noter("w", {{0, 3}})});
  pipeline.open_stream({.id = "s",
                        .source = std::make_unique<PausingSource>(source_of("....."), 3, kPause),
                        .pull = true});
  while (pipeline.next("s")) {
  }
  const Histogram latency = pipeline.stats().streams.at(0).latency_ns;
  ASSERT_EQ(latency.count(), 5u);
  EXPECT_GE(std::chrono::nanoseconds(latency.quantile(0.5)), kPause)
      << "frames 0 to 2 wait for frame 3 and later frames";
}

}  // namespace
}  // namespace vcap::test
