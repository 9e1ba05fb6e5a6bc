// SPDX-License-Identifier: Apache-2.0
// Tests of streams in a pipeline: state, options, drops, failures, ends.
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <thread>

#include <nlohmann/json.hpp>

#include "support/operation_helpers.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

CapsuleInfo stateful(CapsuleInfo info) {
  info.stream_state = make_stream_state<CountingState>();
  return info;
}

/// Counts the frames of its stream, and notes the count on the node of each frame.
std::shared_ptr<Capsule> make_counter(std::string name = "counter") {
  return make_capsule(
      stateful(all_info(std::move(name), "person")),
      [](const Frame&, DetectionNodes nodes, const OptionValues&, BaseStreamState& state) {
        const int count = dynamic_cast<CountingState&>(state).frames++;
        for (DetectionNode& node : nodes) node.extra_data["count"] = count;
        return nodes;
      });
}

std::int64_t dropped(const StreamReport& report) {
  std::int64_t sum = 0;
  for (const auto& [reason, count] : report.drops) sum += count;
  return sum;
}

TEST(Stream, ReachesAStatefulCapsuleInOrderOneFrameAtATime) {
  std::atomic<int> inside{0};
  std::atomic<bool> together{false};
  std::vector<std::int64_t> seen;
  const auto recorder = make_capsule(
      stateful(all_info("recorder", "person")),
      [&](const Frame& frame, DetectionNodes nodes, const OptionValues&, BaseStreamState&) {
        if (++inside > 1) together = true;
        seen.push_back(frame.index);
        --inside;
        return nodes;
      });
  // The capsule before it finishes frames out of order: an even frame only after the next odd one.
  std::vector<Latch> latches(100);
  const auto shuffler = make_capsule(
      all_info("shuffler", "person"),
      [&](const Frame& frame, DetectionNodes nodes, const OptionValues&, BaseStreamState&) {
        const auto i = static_cast<std::size_t>(frame.index);
        if (i % 2 == 0)
          latches[i + 1].wait();
        else
          latches[i].open();
        return nodes;
      });
  // Calls of the shuffler wait for each other, so all workers may be in them.
  Pipeline pipeline({make_detector("detector", "person"), shuffler, recorder},
                    {.workers = 4, .max_concurrent_calls = {{"shuffler", 4}}});
  EXPECT_THAT(run(pipeline, {.source = make_source(100), .frames_in_flight = 4}), SizeIs(100));
  ASSERT_THAT(seen, SizeIs(100));
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_FALSE(together);
}

TEST(Stream, HasAStateOfItsOwn) {
  Pipeline pipeline({make_detector("detector", "person"), make_counter()});
  for (const char* id : {"a", "b"}) {
    const auto records = run(pipeline, {.id = id, .source = make_source(30)});
    EXPECT_EQ(records[29].objects[0].extra_data.at("count"), 29);
  }
}

TEST(Stream, LeavesNoStateBehind) {
  const auto counter = make_counter();
  Pipeline pipeline({make_detector("detector", "person"), counter});
  run(pipeline, {.source = make_source(3)});
  EXPECT_EQ(counter->stream_count(), 0u);
  EXPECT_EQ(run(pipeline, {.source = make_source(3)})[0].objects[0].extra_data.at("count"), 0);
}

TEST(Stream, IsNotOpenedIfItsConfigurationDoesNotFit) {
  CapsuleInfo info = stateful(detector_info("asker", "person"));
  info.stream_config_schema = {{"properties", {{"zone", {{"maximum", 9}}}}}};
  const auto asker = make_capsule(info, give_back);
  const auto other = make_capsule(stateful(detector_info("other", "car")), give_back);
  Pipeline pipeline({other, asker, make_detector("finder", "dog")});
  const auto refuses = [&](const std::string& capsule, const std::string& complaint) {
    StreamConfig config{.id = "gate", .source = make_source(1)};
    config.config[capsule] = {{"zone", 10}};
    EXPECT_THAT([&] { pipeline.open_stream(std::move(config)); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_config, HasSubstr(complaint)));
    EXPECT_THAT(pipeline.reports(), IsEmpty());
    EXPECT_EQ(asker->stream_count() + other->stream_count(), 0u);
  };
  refuses("asker", "stream gate's config of capsule asker: /zone is 10");
  refuses("finder", "could use it");
}

TEST(Stream, PassesItsConfigurationAndSeedToTheState) {
  std::vector<StreamInfo> infos;
  const auto asker =
      make_capsule(stateful(detector_info("asker", "person")),
                   [&](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState& state) {
                     infos.push_back(dynamic_cast<CountingState&>(state).info);
                     return DetectionNodes::all();
                   });
  Pipeline pipeline({asker});
  for (const bool live : {false, false, true, true})
    run(pipeline,
        {.id = "gate",
         .source = std::make_unique<MemorySource>(MemorySource::Plan{.frames = 1, .live = live}),
         .config = {{"asker", {{"zone", 7}}}}});
  ASSERT_THAT(infos, SizeIs(4));
  EXPECT_EQ(infos[0].id, "gate");
  EXPECT_EQ(infos[0].config, nlohmann::json({{"zone", 7}}));
  EXPECT_EQ(infos[0].seed, infos[1].seed) << "seeds of a stored source must repeat";
  EXPECT_NE(infos[2].seed, infos[3].seed) << "seeds of a live source must differ";
}

TEST(Stream, ResetsAStateAtADiscontinuityEvenIfThatFrameHasNoNode) {
  const auto detector =
      make_capsule(detector_info("detector", "person"),
                   [](const Frame& frame, DetectionNodes, const OptionValues&, BaseStreamState&) {
                     DetectionNodes nodes = DetectionNodes::all();
                     if (frame.index != 5) nodes.add(node_at("person", 0, 0));
                     return nodes;
                   });
  const auto counter = make_capsule(
      stateful(single_info("counter", "person")),
      [](const Frame&, DetectionNodes nodes, const OptionValues&, BaseStreamState& state) {
        nodes.node().extra_data["count"] = dynamic_cast<CountingState&>(state).frames++;
        return nodes;
      });
  Pipeline pipeline({detector, counter});
  const auto records =
      run(pipeline,
          {.source = std::make_unique<MemorySource>(MemorySource::Plan{.before = [](Frame& frame) {
             if (frame.index == 5) frame.discontinuity = Discontinuity::loop;
           }})});
  EXPECT_EQ(records[4].objects[0].extra_data.at("count"), 4);
  EXPECT_EQ(records[6].objects[0].extra_data.at("count"), 0);
  EXPECT_EQ(records[6].frame.discontinuity, Discontinuity::none)
      << "a record has the frame's own discontinuity";
}

TEST(Stream, AppliesAnOptionChangeAtExactlyTheReturnedFrame) {
  CapsuleInfo info = detector_info("detector", "person");
  info.options = {{"threshold", FloatOption{.default_value = 0.5, .min = 0, .max = 1}}};
  const auto detector = make_capsule(
      info, [](const Frame&, DetectionNodes, const OptionValues& options, BaseStreamState&) {
        DetectionNode node = node_at("person", 0, 0);
        node.extra_data["threshold"] = options.get<double>("threshold");
        return DetectionNodes::all({node});
      });
  Pipeline pipeline({detector});
  std::int64_t from = -1;
  const auto records =
      run(pipeline, {.id = "a",
                     .source = std::make_unique<MemorySource>(MemorySource::Plan{
                         .frames = 60, .before = [&](Frame& frame) {
                           if (frame.index == 40)
                             from = pipeline.set_option("a", "detector", "threshold", 0.9);
                         }})});
  // The frames before it may not have begun.
  EXPECT_LE(from, 40);
  EXPECT_GE(from, 0);
  for (const FrameRecord& record : records) {
    EXPECT_EQ(record.objects[0].extra_data.at("threshold"), record.frame.index < from ? 0.5 : 0.9);
    ASSERT_EQ(record.option_changes.size(), record.frame.index == from ? 1u : 0u)
        << record.frame.index;
  }
  const auto& change = records.at(static_cast<std::size_t>(from)).option_changes.at(0);
  EXPECT_EQ(change.capsule, "detector");
  EXPECT_EQ(change.option, "threshold");
  EXPECT_EQ(std::get<double>(change.value), 0.9);
}

CapsuleInfo threshold_info() {
  CapsuleInfo info = detector_info("detector", "person");
  info.output_type.extra_data = {"threshold"};
  info.options = {{"threshold", FloatOption{.default_value = 0.5, .min = 0, .max = 1}}};
  return info;
}

struct OptionCase {
  std::string name;
  bool stateful;
  std::size_t batch;   ///< 0: the capsule takes frames one by one
  std::size_t places;  ///< bound on calls; 0: none
  bool windows;
};

class OptionsOf : public testing::TestWithParam<OptionCase> {};

/// While frame 3 is in the capsule, later frames have been read and wait. They have not begun.
TEST_P(OptionsOf, HoldFromTheFirstFrameThatHasNotBegun) {
  constexpr std::int64_t kFrames = 40;
  Latch entered, release;
  std::mutex mutex;
  std::map<std::int64_t, double> seen;
  const auto look = [&](const Frame& frame, const OptionValues& options) {
    {
      const std::lock_guard lock(mutex);
      seen[frame.index] = options.get<double>("threshold");
    }
    if (frame.index != 3) return;
    entered.open();
    release.wait();
  };
  CapsuleInfo info = threshold_info();
  if (GetParam().stateful) info.stream_state = make_stream_state<CountingState>();
  if (GetParam().batch > 0) info.batch = {.maximum = GetParam().batch};
  if (GetParam().windows) info.stencil = Stencil{.offsets = {0, 1}};
  const auto capsule =
      GetParam().windows
          ? make_window_capsule(
                info,
                [&](std::span<const Frame> frames, auto, const auto& options, auto&) {
                  look(frames.front(), options);
                  return DetectionNodes::all();
                })
          : make_capsule(info, [&](const Frame& frame, auto, const auto& options, auto&) {
              look(frame, options);
              return DetectionNodes::all();
            });
  Pipeline pipeline({capsule},
                    {.workers = 1, .max_concurrent_calls = {{"detector", GetParam().places}}});
  std::vector<std::int64_t> listed;
  pipeline.open_stream({.id = "s",
                        .source = make_source(kFrames),
                        .sinks = {make_callback_sink([&](const FrameRecord& record) {
                          for (const auto& change : record.option_changes) {
                            EXPECT_EQ(std::get<double>(change.value), 0.9);
                            listed.push_back(record.frame.index);
                          }
                        })},
                        .frames_in_flight = 32});
  entered.wait();
  yield_until("frames that were read", [&] { return pipeline.stats().streams[0].read >= 30; });
  EXPECT_EQ(pipeline.set_option("s", "detector", "threshold", 0.9), 4);
  release.open();
  EXPECT_EQ(pipeline.wait("s").frames, kFrames);
  EXPECT_THAT(listed, ElementsAre(4));
  ASSERT_EQ(seen.size(), static_cast<std::size_t>(kFrames));
  for (const auto& [index, threshold] : seen) EXPECT_EQ(threshold, index < 4 ? 0.5 : 0.9) << index;
}

INSTANTIATE_TEST_SUITE_P(Stream, OptionsOf,
                         testing::Values(OptionCase{"FramesAlone", false, 0, 0, false},
                                         OptionCase{"ACapsuleWithState", true, 0, 0, false},
                                         OptionCase{"ACapsuleAtItsBound", false, 0, 1, false},
                                         OptionCase{"FramesThatGather", false, 8, 0, false},
                                         OptionCase{"FramesThatGatherAtTheBound", false, 8, 1,
                                                    false},
                                         OptionCase{"Windows", false, 0, 0, true}),
                         [](const auto& test) { return test.param.name; });

/// With three workers, frames begin in any order; the change holds from one frame on in each.
TEST(Stream, ChangesOptionsAtOneFrameHoweverFramesBegin) {
  Pipeline pipeline({make_capsule(threshold_info(),
                                  [](const Frame&, auto, const auto& options, auto&) {
                                    DetectionNode node = node_at("person", 0, 0);
                                    node.extra_data["threshold"] =
                                        options.template get<double>("threshold");
                                    return DetectionNodes::all({node});
                                  })},
                    {.workers = 3});
  std::map<std::int64_t, double> from{{0, 0.5}};  // by frame: the value that holds from there
  std::map<std::int64_t, double> seen;
  pipeline.open_stream({.id = "s",
                        .source = make_source(3000),
                        .sinks = {make_callback_sink([&](const FrameRecord& record) {
                          seen[record.frame.index] = record.objects[0].extra_data.at("threshold");
                        })},
                        .frames_in_flight = 16});
  for (int i = 1; i <= 50; ++i) {
    const double value = i / 100.0;
    from[pipeline.set_option("s", "detector", "threshold", value)] = value;
    std::this_thread::yield();
  }
  EXPECT_EQ(pipeline.wait("s").frames, 3000);
  for (const auto& [index, threshold] : seen)
    ASSERT_EQ(threshold, std::prev(from.upper_bound(index))->second) << "frame " << index;
}

/// A live stream has read more frames than it has workers when the option changes.
TEST(Stream, ChangesOptionsOfALiveStreamWithinAsManyFramesAsWorkers) {
  constexpr int kWorkers = 3;
  Latch release;
  std::mutex mutex;
  std::map<double, int> calls;  // by threshold
  const auto count = [&](double threshold) {
    const std::lock_guard lock(mutex);
    return calls[threshold];
  };
  Pipeline pipeline({make_capsule(threshold_info(),
                                  [&](const auto&, auto, const auto& options, auto&) {
                                    {
                                      const std::lock_guard lock(mutex);
                                      ++calls[options.template get<double>("threshold")];
                                    }
                                    release.wait();
                                    return DetectionNodes::all();
                                  })},
                    {.workers = kWorkers});
  pipeline.open_stream(
      {.id = "s",
       .source = std::make_unique<MemorySource>(MemorySource::Plan{.frames = 200, .live = true}),
       .frames_in_flight = 16});
  yield_until("a call in each worker", [&] { return count(0.5) == kWorkers; });
  yield_until("frames that were read", [&] { return pipeline.stats().streams[0].read == 200; });
  // The frames in the calls may have indexes with gaps, since the stream drops frames.
  const std::int64_t from = pipeline.set_option("s", "detector", "threshold", 0.9);
  EXPECT_GE(from, kWorkers);
  EXPECT_EQ(pipeline.set_option("s", "detector", "threshold", 0.8), from) << "no frame has begun";
  release.open();
  const StreamReport report = pipeline.wait("s");
  EXPECT_EQ(count(0.5), kWorkers);
  EXPECT_EQ(count(0.9), 0);
  EXPECT_EQ(count(0.8), report.frames - kWorkers);
  EXPECT_GE(count(0.8), 10) << "those that were read before the change";
}

TEST(Stream, StartsWithTheGivenOptions) {
  CapsuleInfo info = detector_info("detector", "person");
  info.options = {{"threshold", FloatOption{.default_value = 0.5, .min = 0, .max = 1}}};
  std::vector<double> seen;
  const auto detector = make_capsule(
      info, [&](const Frame&, DetectionNodes, const OptionValues& options, BaseStreamState&) {
        seen.push_back(options.get<double>("threshold"));
        return DetectionNodes::all();
      });
  Pipeline pipeline({detector});
  OptionValues options = detector->default_options();
  options.set("threshold", 0.25);
  run(pipeline, {.source = make_source(1), .options = {{"detector", options}}});
  run(pipeline, {.source = make_source(1), .options = {{"detector", {}}}});
  EXPECT_THAT(seen, ElementsAre(0.25, 0.5));
}

TEST(Stream, RefusesOptionsThatTheCapsuleDoesNotHave) {
  Pipeline pipeline({make_detector("detector", "person")});
  const OptionValues others({{"size", IntOption{}}}, "capsule other");
  EXPECT_THAT(([&] {
                pipeline.open_stream(
                    {.id = "a", .source = make_source(1), .options = {{"detector", others}}});
              }),
              ThrowsError<OptionError>(ErrorCode::unknown_option, HasSubstr("detector")));
  EXPECT_THAT(([&] {
                pipeline.open_stream(
                    {.id = "a", .source = make_source(1), .options = {{"detektor", others}}});
              }),
              ThrowsError<InvalidArgument>(
                  ErrorCode::invalid_argument,
                  AllOf(HasSubstr("capsule detektor"), HasSubstr("it has detector"))));
  EXPECT_THAT(pipeline.reports(), IsEmpty());
}

TEST(Stream, RefusesAnOptionValueThatIsOutOfRange) {
  CapsuleInfo info = detector_info("detector", "person");
  info.options = {{"threshold", FloatOption{.default_value = 0.5, .min = 0, .max = 1}}};
  Pipeline pipeline({make_capsule(info, [](const Frame&, DetectionNodes, const OptionValues&,
                                           BaseStreamState&) { return DetectionNodes::all(); })});
  pipeline.open_stream({.id = "a", .source = make_source(1)});
  EXPECT_THAT([&] { pipeline.set_option("a", "detector", "threshold", 1.7); },
              ThrowsError<OptionError>(ErrorCode::option_range,
                                       AllOf(HasSubstr("capsule detector"), HasSubstr("1.7"))));
  EXPECT_THAT([&] { pipeline.set_option("b", "detector", "threshold", 0.7); },
              ThrowsError<SourceError>(ErrorCode::unknown_stream, HasSubstr("stream b")));
}

TEST(Stream, NeedsAUniqueIdUntilItIsForgotten) {
  Pipeline pipeline({});
  pipeline.open_stream({.id = "a", .source = make_source(1)});
  EXPECT_THAT(([&] { pipeline.open_stream({.id = "a", .source = make_source(1)}); }),
              ThrowsError<SourceError>(ErrorCode::duplicate_stream, HasSubstr("stream a")));
  pipeline.wait("a");
  pipeline.open_stream({.id = "a", .source = make_source(1)});
  pipeline.close_stream("a");
  EXPECT_THAT([&] { pipeline.wait("a"); },
              ThrowsError<SourceError>(ErrorCode::unknown_stream, HasSubstr("stream a")));
}

TEST(Stream, KeepsTheStateOfAnotherPipelineIfItCannotBeOpened) {
  const auto counter = make_counter();
  Pipeline first({make_detector("detector", "person"), counter});
  Pipeline second({make_detector("detector", "person"), counter});
  Latch go;
  first.open_stream({.id = "a",
                     .source = std::make_unique<MemorySource>(
                         MemorySource::Plan{.before = [&](Frame&) { go.wait(); }})});
  EXPECT_THROW(second.open_stream({.id = "a", .source = make_source(1)}), InvalidArgument);
  EXPECT_EQ(counter->stream_count(), 1u);
  go.open();
  first.wait("a");
}

TEST(Stream, ReadsNoMoreThanMaxFrames) {
  std::atomic<std::int64_t> given{0};
  Pipeline pipeline({});
  EXPECT_THAT(run(pipeline, {.source = std::make_unique<MemorySource>(
                                 MemorySource::Plan{.frames = 100, .given = &given}),
                             .max_frames = 12}),
              SizeIs(12));
  EXPECT_EQ(given, 12);
  EXPECT_THAT(run(pipeline, {.source = make_source(5), .max_frames = 0}), IsEmpty());
}

TEST(Stream, NeverHasMoreFramesInFlightThanItsBound) {
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<std::int64_t> given{0};
  std::atomic<std::int64_t> delivered{0};
  std::atomic<std::int64_t> most_held{0};
  const auto watcher =
      make_capsule(detector_info("watcher", "person"),
                   [&](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState&) {
                     const int now = ++inside;
                     for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
                     }
                     const std::int64_t held = given - delivered;
                     for (std::int64_t seen = most_held;
                          seen < held && !most_held.compare_exchange_weak(seen, held);) {
                     }
                     --inside;
                     return DetectionNodes::all();
                   });
  Pipeline pipeline({watcher}, {.workers = 8});
  pipeline.open_stream(
      {.id = "a",
       .source = std::make_unique<MemorySource>(MemorySource::Plan{.frames = 500, .given = &given}),
       .sinks = {make_callback_sink([&](const FrameRecord&) { ++delivered; })},
       .frames_in_flight = 3});
  EXPECT_EQ(pipeline.wait("a").frames, 500);
  EXPECT_LE(most, 3);
  EXPECT_LE(most_held, 3);
}

TEST(Stream, DropsTheOldestFrameNotYetBegunAndReportsIt) {
  Latch first_begun, go;
  const auto slow =
      make_capsule(detector_info("slow", "person"),
                   [&](const Frame& frame, DetectionNodes, const OptionValues&, BaseStreamState&) {
                     if (frame.index == 0) {
                       first_begun.open();
                       go.wait();
                     }
                     return DetectionNodes::all();
                   });
  Pipeline pipeline({slow});
  const auto records =
      run(pipeline,
          {.source = std::make_unique<MemorySource>(MemorySource::Plan{.frames = 6,
                                                                       .live = true,
                                                                       .before =
                                                                           [&](Frame& frame) {
                                                                             if (frame.index == 1)
                                                                               first_begun.wait();
                                                                             if (frame.index == 5)
                                                                               go.open();
                                                                           }}),
           .overflow = OverflowPolicy::drop_oldest,
           .frames_in_flight = 1});
  // Frame 0 is held until 5 is about to be given, so that 1, 2 and 3 are dropped. 4 may have begun
  // before 5 came, or not.
  std::vector<std::int64_t> told, recorded;
  for (const FrameRecord& record : records) {
    recorded.push_back(record.frame.index);
    EXPECT_EQ(record.frame.discontinuity,
              record.frame.index == 0 ? Discontinuity::start : Discontinuity::none);
    for (const FrameRecord::Drop& drop : record.drops) {
      told.push_back(drop.frame_index);
      EXPECT_EQ(drop.reason, "overload");
      EXPECT_LT(drop.frame_index, record.frame.index);
    }
  }
  EXPECT_EQ(recorded.size() + told.size(), 6u);
  EXPECT_THAT(std::vector(told.begin(), told.begin() + 3), ElementsAre(1, 2, 3));
  EXPECT_EQ(recorded.front(), 0);
  EXPECT_EQ(recorded.back(), 5);
}

TEST(Stream, PassesOnTheDiscontinuityOfADroppedFrame) {
  Latch begun, go;
  const auto slow =
      make_capsule(detector_info("slow", "person"),
                   [&](const Frame& frame, DetectionNodes, const OptionValues&, BaseStreamState&) {
                     if (frame.index == 0) {
                       begun.open();
                       go.wait();
                     }
                     return DetectionNodes::all();
                   });
  Pipeline pipeline({slow});
  const auto records = run(pipeline, {.source = std::make_unique<MemorySource>(MemorySource::Plan{
                                          .frames = 3,
                                          .live = true,
                                          .before =
                                              [&](Frame& frame) {
                                                if (frame.index == 1) {
                                                  begun.wait();
                                                  frame.discontinuity = Discontinuity::reconnect;
                                                }
                                              },
                                          .after_last = [&] { go.open(); }}),
                                      .frames_in_flight = 1});
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(records[1].frame.index, 2);
  EXPECT_EQ(records[1].frame.discontinuity, Discontinuity::reconnect);
}

TEST(Stream, DoesNotEndOthersWhenItsSourceFails) {
  std::vector<std::string> log;
  set_log_hook([&log](LogLevel, std::string_view line) { log.emplace_back(line); });
  Pipeline pipeline({make_detector("detector", "person")});
  pipeline.open_stream({.id = "good", .source = make_source(200)});
  pipeline.open_stream(
      {.id = "bad",
       .source = std::make_unique<MemorySource>(MemorySource::Plan{.before = [](Frame& frame) {
         if (frame.index == 6) throw SourceError(ErrorCode::source_read, "the cable is cut");
       }})});
  const StreamReport bad = pipeline.wait("bad");
  EXPECT_EQ(bad.frames, 6) << "frames read before the failure must be recorded";
  EXPECT_EQ(bad.failure, "the cable is cut");
  EXPECT_THROW(std::rethrow_exception(bad.failure_cause), SourceError);
  const StreamReport good = pipeline.wait("good");
  EXPECT_EQ(good.frames, 200);
  EXPECT_FALSE(good.failure);
  set_log_hook({});
  EXPECT_THAT(log, ElementsAre(AllOf(HasSubstr("stream bad"), HasSubstr("the cable is cut"))))
      << "the failure must be logged at once";
}

TEST(Stream, DoesNotEndOthersWhenASinkFails) {
  Pipeline pipeline({make_detector("detector", "person")});
  std::atomic<std::int64_t> given{0};
  pipeline.open_stream({.id = "good", .source = make_source(200)});
  pipeline.open_stream(
      {.id = "bad",
       .source = std::make_unique<MemorySource>(MemorySource::Plan{.frames = 500, .given = &given}),
       .sinks = {make_callback_sink([](const FrameRecord& record) {
         if (record.frame.index == 6) throw OutputError(ErrorCode::output_write, "disk full");
       })}});
  const StreamReport bad = pipeline.wait("bad");
  EXPECT_EQ(bad.failure, "disk full");
  EXPECT_THROW(std::rethrow_exception(bad.failure_cause), OutputError);
  EXPECT_EQ(bad.frames, 6);
  EXPECT_EQ(bad.frames + dropped(bad), given);
  EXPECT_LT(given, 500) << "the source was read to its end";
  EXPECT_EQ(pipeline.wait("good").frames, 200);
}

TEST(Stream, FailsIfItsSourceBreaksTheContract) {
  const auto failure_of = [](std::function<void(Frame&)> change) {
    Pipeline pipeline({});
    pipeline.open_stream({.id = "a",
                          .source = std::make_unique<MemorySource>(
                              MemorySource::Plan{.before = [change](Frame& frame) {
                                if (frame.index == 3) change(frame);
                              }})});
    return pipeline.wait("a").failure.value_or("none");
  };
  EXPECT_THAT(failure_of([](Frame& frame) { frame.image = cv::Mat(); }),
              HasSubstr("memory returned frame 3 without pixels"));
  EXPECT_THAT(failure_of([](Frame& frame) { frame.image = cv::Mat::zeros(2, 2, CV_8UC1); }),
              HasSubstr("CV_8UC3"));
  EXPECT_THAT(failure_of([](Frame& frame) { frame.index = 2; }),
              HasSubstr("memory returned frame index 2 after 2"));
}

TEST(Stream, AnswersFramesInFlightWhenItIsClosed) {
  std::atomic<std::int64_t> given{0};
  Latch ten;
  Pipeline pipeline({make_detector("detector", "person"), make_counter()});
  pipeline.open_stream(
      {.id = "a",
       .source = std::make_unique<MemorySource>(MemorySource::Plan{.frames = -1, .given = &given}),
       .sinks = {make_callback_sink([&](const FrameRecord& record) {
         if (record.frame.index == 10) ten.open();
       })}});
  ten.wait();
  const StreamReport report = pipeline.close_stream("a");
  EXPECT_TRUE(report.ended);
  EXPECT_FALSE(report.failure);
  EXPECT_EQ(report.frames, given);
}

TEST(Stream, IsInterruptedWhileItsSourceWaits) {
  Latch waiting, interrupted;
  Pipeline pipeline({});
  pipeline.open_stream({.id = "a",
                        .source = std::make_unique<MemorySource>(MemorySource::Plan{
                            .before =
                                [&](Frame& frame) {
                                  if (frame.index != 2) return;
                                  waiting.open();
                                  interrupted.wait();
                                  throw SourceError(ErrorCode::source_read, "stopped");
                                },
                            .on_interrupt = [&] { interrupted.open(); }})});
  waiting.wait();
  pipeline.stop();
  const StreamReport report = pipeline.wait("a");
  EXPECT_EQ(report.frames, 2);
  EXPECT_FALSE(report.failure) << "a source that is stopped may end its wait by throwing";
}

TEST(Stream, IsStoppedWhileItsSourceWaitsForRoom) {
  Latch begun, go;
  const auto slow =
      make_capsule(detector_info("slow", "person"),
                   [&](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState&) {
                     begun.open();
                     go.wait();
                     return DetectionNodes::all();
                   });
  Pipeline pipeline({slow});
  pipeline.open_stream({.id = "a", .source = make_source(-1), .frames_in_flight = 2});
  begun.wait();
  pipeline.stop();
  go.open();
  EXPECT_LE(pipeline.wait("a").frames, 2);
}

TEST(Stream, EndsWithThePipeline) {
  std::atomic<std::int64_t> given{0};
  std::atomic<std::int64_t> records{0};
  const auto counter = make_counter();
  {
    Pipeline pipeline({make_detector("detector", "person"), counter});
    for (const char* id : {"a", "b", "c"})
      pipeline.open_stream({.id = id,
                            .source = std::make_unique<MemorySource>(
                                MemorySource::Plan{.frames = -1, .given = &given}),
                            .sinks = {make_callback_sink([&](const FrameRecord&) { ++records; })}});
  }
  EXPECT_EQ(records, given);
  EXPECT_EQ(counter->stream_count(), 0u);
}

TEST(Stream, IsInTheReportsWhileItRuns) {
  Latch held, go;
  Pipeline pipeline({});
  pipeline.open_stream({.id = "a",
                        .source = std::make_unique<MemorySource>(
                            MemorySource::Plan{.frames = 5, .before = [&](Frame& frame) {
                                                 if (frame.index < 4) return;
                                                 held.open();
                                                 go.wait();
                                               }})});
  held.wait();
  const auto reports = pipeline.reports();
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_EQ(reports[0].id, "a");
  EXPECT_FALSE(reports[0].ended);
  go.open();
  EXPECT_EQ(pipeline.wait("a").frames, 5);
  EXPECT_THAT(pipeline.reports(), IsEmpty());
}

TEST(Stream, DoesNotDelayOthersWhenItIsSlow) {
  // The slow stream holds one worker. The other worker must reach the frames of the quick stream,
  // although many frames of the slow one were there before.
  Latch slow_begun, go;
  const auto detector =
      make_capsule(detector_info("detector", "person"),
                   [&](const Frame& frame, DetectionNodes, const OptionValues&, BaseStreamState&) {
                     if (frame.image.cols == 32 && frame.index == 0) {
                       slow_begun.open();
                       go.wait();
                     }
                     return DetectionNodes::all();
                   });
  Pipeline pipeline({detector}, {.workers = 2});
  pipeline.open_stream({.id = "slow",
                        .source = std::make_unique<MemorySource>(
                            MemorySource::Plan{.frames = 500, .size = {32, 32}}),
                        .frames_in_flight = 100});
  slow_begun.wait();
  EXPECT_THAT(run(pipeline, {.id = "quick", .source = make_source(100)}), SizeIs(100));
  go.open();
  EXPECT_EQ(pipeline.wait("slow").frames, 500);
}

}  // namespace
}  // namespace vcap::test
