// SPDX-License-Identifier: Apache-2.0
// Streams that run in slices, selections of rows, and groups.
#include <gmock/gmock.h>

#include <semaphore>
#include <thread>

#include <nlohmann/json.hpp>

#include "records/record_line.hpp"
#include "support/clip_packets.hpp"
#include "support/clip_writer.hpp"
#include "support/random_plan.hpp"
#include "support/seen_frames.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/log.hpp"

namespace vcap::test {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> lines_of(const std::vector<FrameRecord>& records) {
  std::vector<std::string> lines;
  for (const FrameRecord& record : records) lines.push_back(record_line(record));
  return lines;
}

/// Compares lines; a failure shows only the first difference.
testing::AssertionResult are_same(const std::vector<std::string>& lines,
                                  const std::vector<std::string>& expected) {
  for (std::size_t i = 0; i < std::max(lines.size(), expected.size()); ++i) {
    const std::string line = i < lines.size() ? lines[i] : "nothing\n";
    const std::string other = i < expected.size() ? expected[i] : "nothing\n";
    if (line != other)
      return testing::AssertionFailure()
             << "line " << i << " is " << line << "in place of " << other;
  }
  return testing::AssertionSuccess();
}

class SlicedStreams : public testing::TestWithParam<unsigned> {};  // the first seed

TEST_P(SlicedStreams, HaveTheRecordsOfARunInOneGo) {
  for (unsigned seed = GetParam(); seed < GetParam() + 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    const auto capsules = random_capsules(dice);
    const std::string frames = random_frames(dice);
    Pipeline pipeline(capsules, {.workers = static_cast<std::size_t>(dice.below(5))});
    const auto config = [&] {
      return StreamConfig{.source = std::make_unique<IndexedSource>(frames),
                          .frames_in_flight = static_cast<std::size_t>(dice.below(6))};
    };
    const auto serial = lines_of(run(pipeline, config()));
    ASSERT_EQ(serial.size(), frames.size());

    StreamConfig sliced = config();
    sliced.slices = static_cast<std::size_t>(2 + dice.below(9));
    const std::size_t slices = sliced.slices;
    EXPECT_TRUE(are_same(lines_of(run(pipeline, std::move(sliced))), serial))
        << frames << " in " << slices << " slices\n"
        << words_of(capsules);

    std::vector<std::int64_t> rows;
    std::vector<std::string> selected;
    for (std::size_t row = 0; row < frames.size(); ++row)
      if (dice.below(4) == 0) {
        rows.push_back(static_cast<std::int64_t>(row));
        selected.push_back(serial[row]);
      }
    if (rows.empty()) continue;
    StreamConfig some = config();
    some.select = Sampler::gather(rows);
    some.slices = static_cast<std::size_t>(1 + dice.below(4));
    EXPECT_TRUE(are_same(lines_of(run(pipeline, std::move(some))), selected)) << frames << "\n"
                                                                              << words_of(capsules);
    for (const auto& capsule : capsules) EXPECT_EQ(capsule->stream_count(), 0u);
    if (HasFailure()) return;
  }
}

TEST_P(SlicedStreams, HaveTheseRecordsForDamagedVideosToo) {
  for (unsigned seed = GetParam(); seed < GetParam() + 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    const auto capsules = random_capsules(dice);
    std::string frames = random_frames(dice);
    for (int i = 1 + dice.below(3); i > 0; --i)
      frames[static_cast<std::size_t>(dice.below(static_cast<int>(frames.size())))] = 'x';
    Pipeline pipeline(capsules);
    const auto serial =
        lines_of(run(pipeline, {.source = std::make_unique<IndexedSource>(frames)}));
    const auto slices = static_cast<std::size_t>(2 + dice.below(5));
    EXPECT_TRUE(are_same(lines_of(run(pipeline, {.source = std::make_unique<IndexedSource>(frames),
                                                 .slices = slices})),
                         serial))
        << frames << " in " << slices << " slices\n"
        << words_of(capsules);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(From, SlicedStreams, testing::Values(0u, 100u, 200u, 300u, 400u),
                         testing::PrintToStringParamName());

TEST(SlicedStream, ContinuesInOrderWhenAVideoIsDamaged) {
  for (const std::string frames :
       {"..........x.........", "x...................", "...................x",
        "....x..x.|....x....", "xxxxxxxxxx.........."}) {
    Pipeline pipeline({make_recent(noting_info("r", "k", false), 4),
                       make_around(noting_info("w", "l", false), {{-1, 0, 1}})});
    const auto serial =
        lines_of(run(pipeline, {.source = std::make_unique<IndexedSource>(frames)}));
    for (const std::size_t slices : {2u, 3u, 7u})
      EXPECT_TRUE(are_same(
          lines_of(
              run(pipeline, {.source = std::make_unique<IndexedSource>(frames), .slices = slices})),
          serial))
          << frames << " in " << slices;
  }
}

std::string with_wrong_bytes(std::string clip, Dice& dice) {
  // In the part with pictures, not in the headers of the container.
  const int begin = static_cast<int>(clip.size() / 20);
  const int length = static_cast<int>(clip.size() * 3 / 4);
  for (int i = 1 + dice.below(12); i > 0; --i)
    clip[static_cast<std::size_t>(begin + dice.below(length))] = static_cast<char>(dice.below(256));
  return clip;
}

TEST(SlicedStream, HandlesADiscontinuityInEveryPlace) {
  CapsuleInfo keeping = noting_info("keeping", "k1", false);
  keeping.keeps_state_at = {Discontinuity::gap, Discontinuity::loop};
  Pipeline pipeline(
      {make_recent(std::move(keeping), 2), make_recent(noting_info("reset", "k2", false), 3),
       make_around(noting_info("repeat", "k3", false), {{-1, 0, 1}}),
       make_around(noting_info("null", "k4", false), {{-2, 0}, StencilEdge::null}),
       make_around(noting_info("error", "k5", false), {{0, 1}, StencilEdge::error}, 2),
       make_recent_single("single", "k5", 1)});
  for (const char kind : std::string("|>rln0"))
    for (std::size_t place = 0; place < 8; ++place)
      for (std::size_t null = 0; null <= 8; ++null) {
        std::string frames(8, '.');
        if (null < 8) frames[null] = '0';
        frames[place] = kind;
        const auto serial =
            lines_of(run(pipeline, {.source = std::make_unique<IndexedSource>(frames)}));
        for (const std::size_t slices : {2u, 3u, 8u})
          ASSERT_TRUE(are_same(
              lines_of(run(pipeline,
                           {.source = std::make_unique<IndexedSource>(frames), .slices = slices})),
              serial))
              << frames << " in " << slices;
      }
}

/// Notes a hash of the pixels of each frame.
std::shared_ptr<Capsule> make_hasher() {
  return make_capsule(noting_info("hasher", "look", false),
                      [](const Frame& frame, auto, const auto&, auto&) {
                        return one_note("look", std::to_string(hash_of(frame.image)));
                      });
}

TEST(SlicedStream, HasThePicturesOfAVideo) {
  const TemporaryFolder folder;
  for (const bool open_groups : {false, true}) {
    const std::string clip = (folder / (open_groups ? "open.mkv" : "closed.mp4")).string();
    write_clip(clip, {.frames = 90, .options = b_frames(open_groups)});
    Pipeline pipeline({make_hasher(), make_around(noting_info("w", "l", false), {{-1, 0, 2}})});
    const auto serial = lines_of(run(pipeline, {.source = open_source(clip)}));
    ASSERT_THAT(serial, SizeIs(90));
    for (const std::size_t slices : {2u, 5u, 17u})
      EXPECT_TRUE(are_same(lines_of(run(pipeline, {.source = open_source(clip), .slices = slices})),
                           serial))
          << clip << " in " << slices;
    std::vector<std::int64_t> rows;
    std::vector<std::string> selected;
    for (const std::int64_t row : {0, 1, 16, 17, 18, 40, 70, 71, 89}) {
      rows.push_back(row);
      selected.push_back(serial[static_cast<std::size_t>(row)]);
    }
    for (const std::size_t slices : {1u, 3u}) {
      StreamConfig config{.source = open_source(clip), .select = Sampler::gather(rows)};
      config.slices = slices;
      EXPECT_TRUE(are_same(lines_of(run(pipeline, std::move(config))), selected)) << clip;
    }
  }
}

TEST(SlicedStream, IsNotOpenedIfAConfigDoesNotFit) {
  CapsuleInfo info = noting_info("r", "k", false);
  info.stream_config_schema = {{"type", "object"},
                               {"properties", {{"line", {{"type", "integer"}}}}}};
  Pipeline pipeline({make_recent(std::move(info), 3)});
  const std::map<std::string, JsonValue> wrong{{"r", {{"line", "x"}}}};
  const auto expect_refused = [&](StreamConfig config) {
    config.id = "s";
    config.source = std::make_unique<IndexedSource>(std::string(40, '.'));
    EXPECT_THAT([&] { pipeline.open_stream(std::move(config)); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_config, HasSubstr("/line")));
  };
  expect_refused({.config = wrong, .slices = 4});
  expect_refused({.config = wrong, .select = Sampler::stride(2)});
  expect_refused({.config = wrong, .groups = {{{0, 3}, {}}}});
  expect_refused({.groups = {{{0, 3}, {}}, {{3, 6}, wrong}}});
  EXPECT_THAT(pipeline.reports(), IsEmpty());
}

TEST(SlicedStream, RunsAsManySlicesAtOnceAsCores) {
  const bool has_two_cores = std::thread::hardware_concurrency() > 1;
  std::binary_semaphore second(0);
  std::atomic<bool> met = false;
  Pipeline pipeline(
      {make_capsule(detector_info("d", "x"), [&](const Frame& frame, auto, auto&, auto&) {
        if (frame.index == 20) second.release();
        if (frame.index == 0)
          met = has_two_cores ? second.try_acquire_for(std::chrono::minutes(1))
                              : second.try_acquire();
        return DetectionNodes::all();
      })});
  run(pipeline, {.source = std::make_unique<IndexedSource>(std::string(40, '.')), .slices = 2});
  EXPECT_EQ(met, has_two_cores) << "the first frame waits for a frame of the other slice";
}

TEST(SlicedStream, HoldsBackSlicesWhoseRecordsWait) {
  constexpr std::int64_t kMost = 2 * (4096 + 64);  // of two slices, with the frames in flight
  constexpr std::int64_t kFrames = 40'000;
  std::atomic<std::int64_t> calls = 0;
  Pipeline pipeline({make_capsule(detector_info("d", "x"), [&](const Frame&, auto, auto&, auto&) {
    ++calls;
    return DetectionNodes::all();
  })});
  std::int64_t farthest = 0;
  pipeline.open_stream({.id = "s",
                        .source = std::make_unique<IndexedSource>(std::string(kFrames, '.')),
                        .sinks = {make_callback_sink(
                            [&](const FrameRecord& record) {
                              // The first record waits for more calls than a slice keeps records.
                              if (record.frame.index == 0)
                                yield_until("4097 calls", [&] { return calls > 4096; });
                              farthest = std::max(farthest, calls - record.frame.index);
                            },
                            false)},
                        .slices = 2});
  EXPECT_EQ(pipeline.wait("s").frames, kFrames);
  EXPECT_GT(farthest, 4096);
  EXPECT_LE(farthest, kMost) << "without the bound, the second slice would end long before the "
                                "records of the first slice are written";
}

TEST(SlicedStream, HasTheFramesOfADamagedVideoOfARunInOneGo) {
  const TemporaryFolder folder;
  int shorter = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    const bool open_groups = seed % 2 == 1;
    const std::string whole = open_groups ? "open.mkv" : "closed.mp4";
    if (seed < 2) write_clip(folder / whole, {.frames = 90, .options = b_frames(open_groups)});
    const std::string clip =
        folder.write("damaged" + whole, with_wrong_bytes(read_file(folder / whole), dice)).string();
    if (seed % 4 >= 2) destroy(clip, packet_of(folder / whole, 20 + dice.below(50)));
    // Pixels are not compared: what a decoder shows for damaged parts depends on what its threads
    // have just done, and differs between two runs in one go.
    Pipeline pipeline({make_recent(noting_info("r", "k", false), 4)});
    const auto serial = lines_of(run(pipeline, {.source = open_source(clip)}));
    if (serial.size() < 90) ++shorter;
    if (!open_source(clip)->random_access()) continue;
    for (const std::size_t slices : {2u, 5u})
      EXPECT_TRUE(are_same(lines_of(run(pipeline, {.source = open_source(clip), .slices = slices})),
                           serial))
          << slices << " slices";
  }
  EXPECT_GE(shorter, 5) << "too few pictures were lost for this test";
}

TEST(SlicedStream, IsCompleteIfOnlyItsLookAheadIsDamaged) {
  Pipeline pipeline({make_around(noting_info("w", "l", false), {{0, 1, 2}})});
  const std::string frames = "..........x.........";
  const auto serial = lines_of(run(pipeline, {.source = std::make_unique<IndexedSource>(frames)}));
  EXPECT_THAT(lines_of(run(pipeline, {.source = std::make_unique<IndexedSource>(frames),
                                      .select = Sampler::ranges({{2, 8}})})),
              ElementsAreArray(serial.begin() + 2, serial.begin() + 8));
  StreamConfig bounded{.source = std::make_unique<IndexedSource>(frames), .max_frames = 14};
  bounded.slices = 3;
  EXPECT_THAT(run(pipeline, std::move(bounded)), SizeIs(14))
      << "frames after the selection were read";
}

TEST(Groups, FailWhenAVideoIsDamaged) {
  Pipeline pipeline({make_detector("d", "x")});
  pipeline.open_stream({.id = "s",
                        .source = std::make_unique<IndexedSource>("....x....."),
                        .groups = {{{0, 3}, {}}, {{2, 8}, {}}}});
  const StreamReport report = pipeline.wait("s");
  EXPECT_GE(report.frames, 3);
  ASSERT_TRUE(report.failure);
  EXPECT_THAT(*report.failure, HasSubstr("frame 4"));
}

TEST(Selection, IsRefusedIfItsRowsCannotBeFound) {
  Pipeline pipeline({make_detector("d", "x")});
  EXPECT_THAT(
      [&] {
        pipeline.open_stream({.id = "s", .source = make_source(30), .select = Sampler::stride(2)});
      },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("is not known")));
  constexpr std::int64_t kFar = std::int64_t{1} << 60;
  pipeline.open_stream(
      {.id = "s", .source = make_source(30), .select = Sampler::ranges({{10, kFar}})});
  const StreamReport report = pipeline.wait("s");
  EXPECT_EQ(report.frames, 20);
  EXPECT_THAT(report.failure.value_or(""),
              HasSubstr("ends after 30 frames, but frame 30 was requested"));
}

TEST(SlicedStream, CallsCapsulesOnlyForTheFramesTheyNeed) {
  std::atomic<int> calls = 0;
  auto counted = make_capsule(detector_info("slow", "x"), [&](const Frame&, auto, auto&, auto&) {
    ++calls;
    return DetectionNodes::all();
  });
  Pipeline pipeline({counted, make_recent(noting_info("r", "k", false), 10)});
  run(pipeline, {.source = std::make_unique<IndexedSource>(std::string(100, '.')), .slices = 5});
  EXPECT_EQ(calls, 100) << "called for the warm-up of another capsule";
}

std::shared_ptr<Capsule> make_counter(std::optional<std::int64_t> warmup, int most) {
  CapsuleInfo info = noting_info("counter", "seen", false);
  info.stream_state = make_stream_state<CountingState>();
  info.warmup = warmup;
  return make_capsule(std::move(info),
                      [most](const Frame&, auto, const auto&, BaseStreamState& state) {
                        int& seen = static_cast<CountingState&>(state).frames;
                        DetectionNodes nodes = DetectionNodes::all();
                        nodes.add(note("seen", std::to_string(std::min(seen, most))));
                        ++seen;
                        return nodes;
                      });
}

std::vector<std::string> seen_at(const std::vector<std::int64_t>& rows,
                                 std::shared_ptr<Capsule> capsule) {
  Pipeline pipeline({std::move(capsule)});
  return notes_of(run(pipeline, {.source = std::make_unique<IndexedSource>(std::string(28, '.')),
                                 .select = Sampler::gather(rows)}),
                  "seen");
}

TEST(Selection, GivesABoundedCapsuleItsWarmUp) {
  // Scanner gives [0, 3, 3, 4, 5] for a kernel of warm-up 3 that counts all frames it has seen. A
  // capsule that depends only on its warm-up counts to 3 for every cut of the rows. The last
  // capsule here depends on more than it declares, so its results depend on the cut.
  // [golden]
  EXPECT_THAT(seen_at({0, 10, 25, 26, 27}, make_counter(3, 3)),
              ElementsAre("0", "3", "3", "3", "3"));
  EXPECT_THAT(seen_at({0, 2, 4}, make_counter(3, 3)), ElementsAre("0", "2", "3"));
  EXPECT_THAT(seen_at({0, 10, 25, 26, 27}, make_counter(3, 99)),
              ElementsAre("0", "3", "3", "4", "5"));
  // [/golden]
}

TEST(Selection, RunsAllFramesBeforeForUnboundedState) {
  EXPECT_THAT(seen_at({0, 10, 25}, make_counter({}, 99)), ElementsAre("0", "10", "25"));
}

TEST(Selection, KeepsTheRowsOfTheSource) {
  Pipeline pipeline({make_detector("d", "x")});
  std::vector<std::int64_t> indexes;
  for (const FrameRecord& record :
       run(pipeline, {.source = std::make_unique<IndexedSource>(std::string(50, '.')),
                     .select = Sampler::ranges({{3, 5}, {40, 42}})}))
    indexes.push_back(record.frame.index);
  EXPECT_THAT(indexes, ElementsAre(3, 4, 40, 41));
}

TEST(Selection, ReadsASourceWithoutIndexInOrder) {
  Pipeline pipeline({make_recent(noting_info("r", "k", false), 4)});
  const auto all = lines_of(run(pipeline, {.source = make_source(30)}));
  EXPECT_THAT(
      lines_of(run(pipeline, {.source = make_source(30), .select = Sampler::gather({2, 20, 29})})),
      ElementsAre(all[2], all[20], all[29]));
}

TEST(Slices, AreRefusedIfTheyAreImpossible) {
  Pipeline pipeline({make_counter({}, 9), make_detector("d", "x")});
  const auto expect_refused = [&](StreamConfig config, const char* why) {
    config.id = "s";
    if (!config.source) config.source = std::make_unique<IndexedSource>(std::string(40, '.'));
    EXPECT_THAT(
        [&] { pipeline.open_stream(std::move(config)); },
        ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                     testing::AllOf(HasSubstr("stream s"), HasSubstr(why))));
  };
  expect_refused({.slices = 2}, "the state of capsule counter is unbounded");
  expect_refused({.source = make_source(40), .slices = 2}, "positions of the frames in memory");
  expect_refused({.source = std::make_unique<MemorySource>(MemorySource::Plan{.live = true}),
                  .select = Sampler::stride(2)},
                 "not stored");
  expect_refused({.overflow = OverflowPolicy::drop_oldest, .slices = 2}, "drops frames");
  expect_refused({.keep_every = 3, .slices = 2}, "skips frames");
  StreamConfig quarantine{.slices = 2};
  quarantine.quarantine.failures = 1;
  expect_refused(std::move(quarantine), "in quarantine");
  expect_refused({.slices = 2, .groups = {{{0, 3}}}}, "groups cannot be combined with");
  expect_refused({.groups = {{{0, 3}}, {{30, 41}}}}, "group 1 has rows 30 to 41");
  EXPECT_THAT(pipeline.reports(), IsEmpty());
  EXPECT_THROW(pipeline.open_stream({.id = "s",
                                     .source = std::make_unique<IndexedSource>("..."),
                                     .select = Sampler::gather({3})}),
               InvalidArgument);
}

TEST(Slices, AreNotMadeIfTheySaveNoTime) {
  const auto report_of = [](std::shared_ptr<Capsule> capsule, std::size_t frames,
                            std::unique_ptr<Source> source = nullptr) {
    Pipeline pipeline({std::move(capsule)});
    if (!source) source = std::make_unique<IndexedSource>(std::string(frames, '.'));
    pipeline.open_stream({.id = "s", .source = std::move(source), .slices = 0});
    return pipeline.wait("s");
  };
  EXPECT_THAT(report_of(make_counter({}, 9), 500).not_sliced,
              HasSubstr("capsule counter is unbounded"));
  EXPECT_THAT(report_of(make_detector("d", "x"), 500, make_source(500)).not_sliced,
              HasSubstr("are not known"));
  if (std::thread::hardware_concurrency() < 2) return;
  EXPECT_THAT(report_of(make_counter(200, 200), 500).not_sliced,
              HasSubstr("also reads 200 frames"));
  EXPECT_THAT(report_of(make_detector("d", "x"), 20).not_sliced, HasSubstr("too few"));
  const StreamReport report = report_of(make_counter(5, 5), 1000);
  EXPECT_EQ(report.not_sliced, "");
  EXPECT_GE(report.slices, 2);
  EXPECT_EQ(report.frames, 1000);
}

TEST(Groups, AreStreamsOfTheirOwn) {
  CapsuleInfo info = noting_info("r", "k", false);
  Pipeline pipeline({make_recent(std::move(info), 100)});
  const std::string frames(20, '.');
  const auto records =
      run(pipeline, {.source = std::make_unique<IndexedSource>(frames),
                     .config = {{"r", {{"line", 1}}}},
                     .groups = {{{0, 4}, {}}, {{2, 6}, {{"r", {{"line", 2}}}}}, {{19, 20}, {}}}});
  std::vector<std::string> places;
  for (const FrameRecord& record : records)
    places.push_back(std::to_string(*record.group) + ":" + std::to_string(record.frame.index) +
                     (record.frame.discontinuity == Discontinuity::start ? "s" : "") + "@" +
                     std::to_string(record.frame.pts / std::chrono::milliseconds(40)));
  EXPECT_THAT(places, ElementsAre("0:0s@0", "0:1@1", "0:2@2", "0:3@3", "1:0s@2", "1:1@3", "1:2@4",
                                  "1:3@5", "2:0s@19"));
  EXPECT_NE(note_of(records[0], "k"), note_of(records[4], "k"))
      << "the groups have different configs";
  EXPECT_THAT(record_line(records[4]), HasSubstr("\"group\":1,\"frame_index\":0"));
}

TEST(SlicedStream, CountsFramesWithoutACapsuleInQuarantine) {
  set_log_hook([](LogLevel, std::string_view) {});
  const auto failing = make_capsule(
      detector_info("failing", "person"),
      [](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState&) -> DetectionNodes {
        throw std::runtime_error("the model is gone");
      });
  Pipeline pipeline({failing}, {.quarantine = {.failures = 1}});
  std::int64_t left_out = 0;
  pipeline.open_stream({.id = "s",
                        .source = std::make_unique<IndexedSource>(std::string(200, '.')),
                        .sinks = {make_callback_sink([&](const FrameRecord& record) {
                          ASSERT_THAT(record.errors, SizeIs(1));
                          if (record.errors[0].code == "quarantined") ++left_out;
                        })},
                        .frames_in_flight = 4,
                        .slices = 3});
  const StreamReport report = pipeline.wait("s");
  EXPECT_EQ(report.errors, 200);
  EXPECT_GT(left_out, 0);
  EXPECT_EQ(report.quarantined, (std::map<std::string, std::int64_t>{{"failing", left_out}}));
  set_log_hook({});
}

TEST(SlicedStream, EndsWithASinkThatFails) {
  Pipeline pipeline({make_detector("d", "x")});
  std::int64_t written = 0;
  pipeline.open_stream({.id = "s",
                        .source = std::make_unique<IndexedSource>(std::string(100, '.')),
                        .sinks = {make_callback_sink([&](const FrameRecord& record) {
                          if (record.frame.index == 33)
                            throw OutputError(ErrorCode::output_write, "full");
                          EXPECT_EQ(record.frame.index, written++);
                        })},
                        .slices = 4});
  const StreamReport report = pipeline.wait("s");
  EXPECT_EQ(report.frames, 33);
  EXPECT_EQ(written, 33);
  EXPECT_EQ(report.failure, "full");
  EXPECT_GE(report.drops.at("stream_failed"), 1);
}

TEST(SlicedStream, ReleasesPixelsThatNoSinkWants) {
  Pipeline pipeline({make_detector("d", "x")});
  for (const bool wanted : {false, true}) {
    pipeline.open_stream({.id = "s",
                          .source = std::make_unique<IndexedSource>(std::string(40, '.')),
                          .sinks = {make_callback_sink(
                              [wanted](const FrameRecord& record) {
                                EXPECT_EQ(record.frame.image.empty(), !wanted);
                                EXPECT_EQ(record.resolution, cv::Size(8, 8));
                                EXPECT_THAT(record_line(record), HasSubstr("\"width\":8"));
                              },
                              wanted)},
                          .slices = 3});
    EXPECT_EQ(pipeline.wait("s").frames, 40);
  }
}

TEST(SlicedStream, CanBePulledStoppedAndClosed) {
  Pipeline pipeline({make_recent(noting_info("r", "k", false), 3)});
  const auto open = [&](bool pull) {
    pipeline.open_stream({.id = "s",
                          .source = std::make_unique<IndexedSource>(std::string(200, '.')),
                          .pull = pull,
                          .slices = 6});
  };
  open(true);
  std::int64_t index = 0;
  while (const auto record = pipeline.next("s")) EXPECT_EQ(record->frame.index, index++);
  EXPECT_EQ(index, 200);
  EXPECT_EQ(pipeline.wait("s").frames, 200);

  open(true);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(pipeline.next("s")->frame.index, i);
  EXPECT_EQ(pipeline.close_stream("s").frames, 10);

  open(false);
  EXPECT_THROW(pipeline.set_option("s", "r", "none", true), InvalidArgument);
  pipeline.stop();
  const StreamReport report = pipeline.wait("s");
  EXPECT_LE(report.frames, 200);
  EXPECT_FALSE(report.failure);
  open(false);  // the pipeline ends it
}

TEST(SlicedStream, CanEndAtAnyMoment) {
  for (unsigned round = 0; round < 200; ++round) {
    Dice dice(round);
    Pipeline pipeline(random_capsules(dice));
    std::int64_t last = -1;
    const bool pull = dice.below(3) == 0;
    pipeline.open_stream({.id = "s",
                          .source = std::make_unique<IndexedSource>(std::string(300, '.')),
                          .sinks = {make_callback_sink([&](const FrameRecord& record) {
                            EXPECT_EQ(record.frame.index, last + 1);
                            last = record.frame.index;
                          })},
                          .pull = pull,
                          .slices = static_cast<std::size_t>(2 + dice.below(6))});
    const int pulls = dice.below(200);
    std::jthread puller;
    if (pull)
      puller = std::jthread([&] {
        try {
          for (int i = pulls; i > 0 && pipeline.next("s"); --i) {
          }
        } catch (const SourceError& closed) {
        }
      });
    for (int i = dice.below(500); i > 0; --i) static_cast<void>(pipeline.stats());
    const StreamReport report = pipeline.close_stream("s");
    EXPECT_EQ(report.frames, last + 1);
    EXPECT_FALSE(report.failure);
  }
}

}  // namespace
}  // namespace vcap::test
