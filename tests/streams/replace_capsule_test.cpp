// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <thread>

#include <nlohmann/json.hpp>

#include "support/pipeline_helpers.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/sources/frame_feed.hpp"

namespace vcap::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

cv::Mat pixels() { return cv::Mat(12, 16, CV_8UC3, cv::Scalar::all(7)); }

/// Finds one node that has the version in its extra data.
std::shared_ptr<Capsule> detector(int version) {
  CapsuleInfo info = detector_info("detector", "person");
  info.version = version;
  return make_capsule(
      info, [version](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState&) {
        DetectionNode node = node_at("person", 0, 0);
        node.extra_data["version"] = version;
        DetectionNodes nodes = DetectionNodes::all();
        nodes.add(std::move(node));
        return nodes;
      });
}

/// Counts the frames that it and the state before it have seen.
struct SavingState final : BaseStreamState {
  explicit SavingState(const StreamInfo& info)
      : frames(info.saved.is_null() ? 0 : info.saved.at("frames").get<int>()),
        saved_by(info.saved_by),
        config(info.config) {}
  nlohmann::json save() const override { return {{"frames", frames}}; }
  int frames;
  int saved_by;
  nlohmann::json config;
};

CapsuleInfo counter_info(int version) {
  CapsuleInfo info = detector_info("counter", "count");
  info.version = version;
  info.stream_state = make_stream_state<SavingState>();
  return info;
}

/// Finds one node that holds the values of its state.
std::shared_ptr<Capsule> counter(int version, std::vector<Discontinuity> keeps_state_at = {}) {
  CapsuleInfo info = counter_info(version);
  info.keeps_state_at = std::move(keeps_state_at);
  return make_capsule(
      info, [version](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState& state) {
        auto& own = dynamic_cast<SavingState&>(state);
        DetectionNode node{.name = "count"};
        node.extra_data = {{"frames", ++own.frames},
                           {"version", version},
                           {"saved_by", own.saved_by},
                           {"config", own.config}};
        DetectionNodes nodes = DetectionNodes::all();
        nodes.add(std::move(node));
        return nodes;
      });
}

/// A stream for single frames: a test pushes each one and pulls its record.
class Hand {
 public:
  Hand(Pipeline& pipeline, std::string id, StreamConfig config = {})
      : pipeline_(pipeline), id_(std::move(id)) {
    config.id = id_;
    config.source = feed_.source();
    config.pull = true;
    pipeline_.open_stream(std::move(config));
  }
  void push() { feed_.push(pixels()); }
  FrameRecord pull() { return pipeline_.next(id_).value(); }
  FrameRecord play() {
    push();
    return pull();
  }
  StreamReport end() {
    feed_.end();
    while (pipeline_.next(id_)) {
    }
    return pipeline_.wait(id_);
  }

 private:
  Pipeline& pipeline_;
  const std::string id_;
  FrameFeed feed_{};
};

int version_in(const FrameRecord& record) {
  return record.objects.at(0).extra_data.at("version").get<int>();
}
int count_in(const FrameRecord& record) {
  return record.objects.at(0).extra_data.at("frames").get<int>();
}

TEST(ReplaceCapsule, TakesEffectAtAnExactFrameThatRecordsIt) {
  Pipeline pipeline({detector(1)});
  Hand gate(pipeline, "gate");
  EXPECT_EQ(version_in(gate.play()), 1);
  EXPECT_EQ(version_in(gate.play()), 1);
  EXPECT_THAT(pipeline.replace_capsule(detector(2)), ElementsAre(std::pair("gate", 2)));
  const FrameRecord first = gate.play();
  EXPECT_EQ(first.frame.index, 2);
  EXPECT_EQ(version_in(first), 2);
  ASSERT_EQ(first.replacements.size(), 1u);
  EXPECT_EQ(first.replacements[0].capsule, "detector");
  EXPECT_EQ(first.replacements[0].from_version, 1);
  EXPECT_EQ(first.replacements[0].to_version, 2);
  const FrameRecord second = gate.play();
  EXPECT_EQ(version_in(second), 2);
  EXPECT_THAT(second.replacements, IsEmpty());
  EXPECT_EQ(gate.end().frames, 4);
}

TEST(ReplaceCapsule, FinishesFramesInFlightOnTheOldCapsule) {
  Latch release;
  CapsuleInfo info = detector_info("detector", "person");
  auto old =
      make_capsule(info, [&](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState&) {
        release.wait();
        return DetectionNodes::all();
      });
  const std::weak_ptr<Capsule> watched = old;
  Pipeline pipeline({std::move(old)});
  Hand gate(pipeline, "gate");
  gate.push();
  yield_until("the frame", [&] { return pipeline.stats().streams[0].read >= 1; });
  EXPECT_THAT(pipeline.replace_capsule(detector(2)), ElementsAre(std::pair("gate", 1)));
  EXPECT_EQ(version_in((gate.push(), release.open(), gate.pull(), gate.pull())), 2);
  // Nothing else holds the old capsule, so it is closed and destroyed after its last frame.
  yield_until("the end of the old capsule", [&] { return watched.expired(); });
  EXPECT_EQ(pipeline.stats().capsules.size(), 1u);
}

TEST(ReplaceCapsule, ContinuesWithTheSavedStateOfTheOldCapsule) {
  const auto old = counter(1), newer = counter(2);
  Pipeline pipeline({old});
  StreamConfig config;
  config.config["counter"] = {{"zone", 3}};
  Hand gate(pipeline, "gate", std::move(config));
  for (int i = 0; i < 3; ++i) gate.play();
  pipeline.replace_capsule(newer);
  const FrameRecord record = gate.play();
  EXPECT_EQ(count_in(record), 4);
  EXPECT_EQ(record.objects[0].extra_data["saved_by"], 1);
  EXPECT_EQ(record.objects[0].extra_data["config"], nlohmann::json({{"zone", 3}}));
  EXPECT_EQ(old->stream_count(), 0u);
  EXPECT_EQ(newer->stream_count(), 1u);
  gate.end();
  EXPECT_EQ(newer->stream_count(), 0u);
}

TEST(ReplaceCapsule, RefusesACapsuleThatDoesNotTakeAStreamsConfig) {
  Pipeline pipeline({counter(1)});
  StreamConfig config;
  config.config["counter"] = {{"zone", 3}};
  Hand gate(pipeline, "gate", std::move(config));
  gate.play();
  CapsuleInfo info = counter_info(2);
  info.stream_config_schema = {{"properties", {{"zone", {{"type", "string"}}}}}};
  const auto newer = make_capsule(info, give_back);
  EXPECT_THAT([&] { pipeline.replace_capsule(newer); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_config,
                                           HasSubstr("/zone is 3, but a string is needed")));
  EXPECT_EQ(newer->stream_count(), 0u);
  EXPECT_EQ(version_in(gate.play()), 1);
  gate.end();
}

TEST(ReplaceCapsule, ContinuesWithTheStateAcrossVersionsWithoutAFrame) {
  Pipeline pipeline({counter(1)});
  Hand gate(pipeline, "gate");
  for (int i = 0; i < 3; ++i) gate.play();
  pipeline.replace_capsule(counter(2));
  pipeline.replace_capsule(counter(3));
  const FrameRecord record = gate.play();
  EXPECT_EQ(count_in(record), 4);
  EXPECT_EQ(record.replacements.size(), 2u);
  pipeline.replace_capsule(counter(4), {.keep_state = false});
  pipeline.replace_capsule(counter(5));
  EXPECT_EQ(count_in(gate.play()), 1) << "a version in between does not keep the state";
}

TEST(ReplaceCapsule, ContinuesWithTheStateIfACapsuleReturnsBeforeAFrame) {
  const auto first = counter(1);
  Pipeline pipeline({first});
  Hand gate(pipeline, "gate");
  for (int i = 0; i < 3; ++i) gate.play();
  pipeline.replace_capsule(counter(2));
  pipeline.replace_capsule(first);
  EXPECT_EQ(count_in(gate.play()), 4);
  gate.end();
  EXPECT_EQ(first->stream_count(), 0u);
}

TEST(ReplaceCapsule, NeverChangesTheSetOfCapsules) {
  const auto consumer = [](const std::string& name, const std::string& nodes) {
    return make_capsule(all_info(name, nodes), give_back);
  };
  Pipeline pipeline({detector(1), consumer("people", "person"), consumer("cars", "car")},
                    {.unfit = UnfitPolicy::leave_out});
  Hand gate(pipeline, "gate");
  gate.play();
  const auto finding = [](std::vector<std::string> names) {
    CapsuleInfo info = detector_info("detector", "person");
    info.version = 2;
    info.output_type.detections = std::move(names);
    return make_capsule(info, give_back);
  };
  EXPECT_THAT([&] { pipeline.replace_capsule(finding({"dog"})); },
              ThrowsError<PlanError>(ErrorCode::unsatisfied_input, HasSubstr("capsule people")));
  EXPECT_THAT(
      [&] {
        pipeline.replace_capsule(finding({"person", "car"}));
      },
      ThrowsError<PlanError>(ErrorCode::unsatisfied_input,
                             HasSubstr("capsule cars would no longer be left out")));
  CapsuleInfo lost = all_info("detector", "bike");
  lost.version = 2;
  EXPECT_THAT([&] { pipeline.replace_capsule(make_capsule(lost, give_back)); },
              ThrowsError<PlanError>(ErrorCode::unsatisfied_input, HasSubstr("detector")));
  const FrameRecord record = gate.play();
  EXPECT_EQ(version_in(record), 1);
  EXPECT_THAT(record.replacements, IsEmpty());
}

TEST(ReplaceCapsule, ResetsTheStateIfItIsNotKept) {
  Pipeline pipeline({counter(1)});
  Hand gate(pipeline, "gate");
  for (int i = 0; i < 3; ++i) gate.play();
  pipeline.replace_capsule(counter(2), {.keep_state = false});
  EXPECT_EQ(count_in(gate.play()), 1);
}

TEST(ReplaceCapsule, ResetsTheStateAtADiscontinuity) {
  Pipeline pipeline({counter(1)});
  FrameFeed feed;
  pipeline.open_stream({.id = "gate", .source = feed.source(), .pull = true});
  feed.push(pixels());
  pipeline.next("gate");
  pipeline.replace_capsule(counter(2));
  feed.push(pixels(), {}, Discontinuity::gap);
  EXPECT_EQ(count_in(*pipeline.next("gate")), 1);
}

TEST(ReplaceCapsule, ContinuesAtADiscontinuityThatKeepsTheState) {
  Pipeline pipeline({counter(1, {Discontinuity::gap})});
  FrameFeed feed;
  pipeline.open_stream({.id = "gate", .source = feed.source(), .pull = true});
  const auto play = [&](Discontinuity discontinuity) {
    feed.push(pixels(), {}, discontinuity);
    return count_in(*pipeline.next("gate"));
  };
  EXPECT_EQ(play(Discontinuity::none), 1);
  EXPECT_EQ(play(Discontinuity::gap), 2);
  EXPECT_EQ(play(Discontinuity::reconnect), 1);
  pipeline.replace_capsule(counter(2, {Discontinuity::gap}));
  EXPECT_EQ(play(Discontinuity::gap), 2);
}

TEST(ReplaceCapsule, DoesNotCarryOverAStateThatADroppedFrameEnded) {
  Pipeline pipeline({counter(1, {Discontinuity::gap})});
  const auto records = run(pipeline, {.source = std::make_unique<MemorySource>(MemorySource::Plan{
                                          .frames = 7,
                                          .before =
                                              [](Frame& frame) {
                                                if (frame.index == 3)
                                                  frame.discontinuity = Discontinuity::reconnect;
                                                if (frame.index == 4 || frame.index == 6)
                                                  frame.discontinuity = Discontinuity::gap;
                                              }}),
                                      .keep_every = 2});
  std::vector<int> counts;
  for (const FrameRecord& record : records) counts.push_back(count_in(record));
  EXPECT_THAT(counts, ElementsAre(1, 2, 1, 2)) << "0, 2, 4 after 3, 6";
  EXPECT_EQ(records[2].frame.discontinuity, Discontinuity::reconnect);
  EXPECT_EQ(records[3].frame.discontinuity, Discontinuity::gap);
}

TEST(ReplaceCapsule, KeepsTheOptionsOfStreams) {
  const auto with_threshold = [](int version, double most) {
    CapsuleInfo info = detector_info("detector", "person");
    info.version = version;
    info.options = {{"threshold", FloatOption{.default_value = 0.1, .min = 0.0, .max = most}}};
    return make_capsule(
        info, [](const Frame&, DetectionNodes, const OptionValues& options, BaseStreamState&) {
          DetectionNode node{.name = "person"};
          node.extra_data["threshold"] = options.get<double>("threshold");
          DetectionNodes nodes = DetectionNodes::all();
          nodes.add(std::move(node));
          return nodes;
        });
  };
  Pipeline pipeline({with_threshold(1, 1.0)});
  Hand gate(pipeline, "gate");
  pipeline.set_option("gate", "detector", "threshold", 0.75);
  pipeline.replace_capsule(with_threshold(2, 1.0));
  const FrameRecord record = gate.play();
  EXPECT_EQ(record.objects[0].extra_data["threshold"], 0.75);
  ASSERT_EQ(record.option_changes.size(), 1u);
  EXPECT_EQ(record.option_changes[0].option, "threshold");
  EXPECT_EQ(record.option_changes[0].value, OptionValue(0.75));
  EXPECT_THAT([&] { pipeline.replace_capsule(with_threshold(3, 0.5)); },
              ThrowsError<OptionError>(ErrorCode::option_range, HasSubstr("stream gate")));
  EXPECT_EQ(gate.play().objects[0].extra_data["threshold"], 0.75)
      << "the refused replacement has changed the options";
}

TEST(ReplaceCapsule, ChangesNothingIfTheNewCapsuleDoesNotFit) {
  Pipeline pipeline({detector(1), make_capsule(all_info("consumer", "person"), give_back)});
  Hand gate(pipeline, "gate");
  gate.play();
  CapsuleInfo stranger = detector_info("detector", "car");
  stranger.version = 2;
  EXPECT_THAT([&] { pipeline.replace_capsule(make_capsule(stranger, give_back)); },
              ThrowsError<PlanError>(ErrorCode::unsatisfied_input, HasSubstr("person")));
  CapsuleInfo other = detector_info("other", "person");
  EXPECT_THAT(
      [&] { pipeline.replace_capsule(make_capsule(other, give_back)); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("no such capsule")));
  EXPECT_THAT([&] { pipeline.replace_capsule(make_capsule(stranger, give_back, false)); },
              ThrowsError<CapsuleLoadError>(ErrorCode::no_backend, HasSubstr("inference_mode")));
  EXPECT_THAT([&] { pipeline.replace_capsule(nullptr); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("is null")));
  const FrameRecord record = gate.play();
  EXPECT_EQ(version_in(record), 1);
  EXPECT_THAT(record.replacements, IsEmpty());
}

TEST(ReplaceCapsule, ChangesNothingIfTheStateOfAStreamCannotBeOpened) {
  const auto old = counter(1), newer = counter(2);
  Pipeline elsewhere({newer});
  Hand taken(elsewhere, "gate");
  Pipeline pipeline({old});
  Hand first(pipeline, "first"), gate(pipeline, "gate");
  EXPECT_THAT([&] { pipeline.replace_capsule(newer); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("open already")));
  EXPECT_EQ(newer->stream_count(), 1u) << "the state opened for the first stream must be closed";
  EXPECT_EQ(version_in(gate.play()), 1);
  EXPECT_EQ(version_in(first.play()), 1);
}

TEST(ReplaceCapsule, GoesBackWhenTheNewCapsuleFailsInItsTrial) {
  std::vector<std::string> lines;
  std::mutex mutex;
  set_log_hook([&](LogLevel, std::string_view line) {
    const std::lock_guard lock(mutex);
    lines.emplace_back(line);
  });
  const auto old = counter(1);
  CapsuleInfo info = detector_info("counter", "count");
  info.version = 2;
  info.stream_state = make_stream_state<SavingState>();
  const auto bad = make_capsule(
      info, [](const Frame& frame, DetectionNodes, const OptionValues&, BaseStreamState&) {
        if (frame.index >= 3) throw std::runtime_error("does not work");
        DetectionNode node{.name = "count"};
        node.extra_data["version"] = 2;
        DetectionNodes nodes = DetectionNodes::all();
        nodes.add(std::move(node));
        return nodes;
      });
  Pipeline pipeline({old});
  Hand gate(pipeline, "gate"), yard(pipeline, "yard");
  for (int i = 0; i < 2; ++i) gate.play();
  yard.play();
  pipeline.replace_capsule(bad, {.trial_frames = 100});
  EXPECT_THAT([&] { pipeline.replace_capsule(counter(3)); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("on trial")));
  EXPECT_EQ(version_in(gate.play()), 2);
  EXPECT_EQ(gate.play().errors.size(), 1u);
  // The failed frame is answered before all streams have the old version again.
  FrameRecord record = gate.play();
  while (record.replacements.empty()) record = gate.play();
  EXPECT_EQ(record.replacements[0].to_version, 1);
  EXPECT_EQ(version_in(record), 1);
  EXPECT_EQ(count_in(record), 1) << "the state must be reset";
  EXPECT_EQ(version_in(yard.play()), 1);
  gate.end();
  yard.end();
  EXPECT_EQ(old->stream_count(), 0u);
  EXPECT_EQ(bad->stream_count(), 0u);
  set_log_hook({});
  EXPECT_THAT(
      lines, testing::Contains(HasSubstr("failed in its trial; all streams go back to version 1")));
}

TEST(ReplaceCapsule, GoesBackWhileAFrameOfTheOldVersionIsInFlight) {
  Latch failed;
  bool went_back = false;
  set_log_hook([&](LogLevel, std::string_view line) {
    if (line.find("failed in its trial") == std::string_view::npos) return;
    went_back = line.find("all streams go back to version 1") != std::string_view::npos;
    failed.open();
  });
  const auto old = counter(1);
  Pipeline pipeline({old});
  Hand gate(pipeline, "gate");
  gate.push();  // not pulled, so it stays in flight with its state
  while (pipeline.stats().streams[0].read < 1) std::this_thread::yield();
  CapsuleInfo info = detector_info("counter", "count");  // without a state
  info.version = 2;
  pipeline.replace_capsule(make_capsule(info,
                                        [](const Frame&, DetectionNodes, const OptionValues&,
                                           BaseStreamState&) -> DetectionNodes {
                                          throw std::runtime_error("does not work");
                                        }),
                           {.trial_frames = 100});
  gate.push();
  failed.wait();
  set_log_hook({});
  EXPECT_TRUE(went_back);
  EXPECT_EQ(count_in(gate.pull()), 1);
  EXPECT_EQ(gate.pull().errors.size(), 1u);
  EXPECT_EQ(count_in(gate.play()), 1) << "the state must be reset";
  EXPECT_EQ(count_in(gate.play()), 2) << "it must survive the end of the old frame";
  EXPECT_EQ(old->stream_count(), 1u);
  pipeline.replace_capsule(counter(3));
  EXPECT_EQ(count_in(gate.play()), 3);
  gate.end();
  EXPECT_EQ(old->stream_count(), 0u);
}

// Frames of both versions of a stateful capsule are in flight when a version without a state takes
// over.
TEST(ReplaceCapsule, MovesTheStateAlsoIfItIsReplacedMeanwhile) {
  Latch entered, release;
  CapsuleInfo info = counter_info(1);
  const auto old = make_capsule(
      info, [&](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState& state) {
        entered.open();
        release.wait();
        dynamic_cast<SavingState&>(state).frames = 7;
        return DetectionNodes::all();
      });
  Pipeline pipeline({old});
  Hand gate(pipeline, "gate");
  gate.push();
  entered.wait();
  pipeline.replace_capsule(counter(2));
  gate.push();
  while (pipeline.stats().streams[0].read < 2) std::this_thread::yield();
  info = detector_info("counter", "count");
  info.version = 3;
  pipeline.replace_capsule(make_capsule(info, give_back));
  release.open();
  gate.pull();
  EXPECT_EQ(count_in(gate.pull()), 8);
  gate.end();
}

TEST(ReplaceCapsule, ReleasesTheOldCapsuleWhenTheTrialIsPassed) {
  auto old = detector(1);
  const std::weak_ptr<Capsule> watched = old;
  Pipeline pipeline({std::move(old)});
  Hand gate(pipeline, "gate");
  gate.play();
  pipeline.replace_capsule(detector(2), {.trial_frames = 2});
  gate.play();
  EXPECT_FALSE(watched.expired());
  gate.play();
  gate.play();
  yield_until("the end of the old capsule", [&] { return watched.expired(); });
}

TEST(ReplaceCapsule, SwitchesBetweenStatelessAndStateful) {
  const auto stateful = [](int version) {
    CapsuleInfo info = detector_info("detector", "person");
    info.version = version;
    info.stream_state = make_stream_state<CountingState>();
    return make_capsule(
        info, [version](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState& state) {
          DetectionNode node{.name = "person"};
          node.extra_data = {{"version", version},
                             {"frames", ++dynamic_cast<CountingState&>(state).frames}};
          DetectionNodes nodes = DetectionNodes::all();
          nodes.add(std::move(node));
          return nodes;
        });
  };
  Pipeline pipeline({detector(1)});
  Hand gate(pipeline, "gate");
  gate.play();
  const auto second = stateful(2);
  pipeline.replace_capsule(second);
  EXPECT_EQ(count_in(gate.play()), 1);
  EXPECT_EQ(count_in(gate.play()), 2);
  pipeline.replace_capsule(detector(3));
  EXPECT_EQ(version_in(gate.play()), 3);
  yield_until("the end of the state", [&] { return second->stream_count() == 0; });
  pipeline.replace_capsule(stateful(4));
  EXPECT_EQ(count_in(gate.play()), 1);
  EXPECT_EQ(gate.end().frames, 5);
}

TEST(ReplaceCapsule, ChangesNoStreamThatDoesNotUseTheCapsule) {
  Pipeline pipeline({detector(1), make_detector("cars", "car")});
  StreamConfig config;
  config.capsules = {{"cars"}};
  Hand road(pipeline, "road", std::move(config));
  EXPECT_THAT(pipeline.replace_capsule(detector(2)), IsEmpty());
  EXPECT_THAT(road.play().replacements, IsEmpty());
}

// Versions change while frames come in. Each frame is answered once and in order, and an old
// version never follows a newer one.
TEST(ReplaceCapsule, NeverGoesBackWhileFramesStream) {
  Pipeline pipeline({counter(1)});
  std::vector<std::pair<int, int>> seen;  // version and count
  StreamConfig config{.id = "gate"};
  config.source = std::make_unique<MemorySource>(
      MemorySource::Plan{.frames = -1, .before = [](Frame&) { std::this_thread::yield(); }});
  config.sinks = {make_callback_sink(
      [&](const FrameRecord& record) { seen.emplace_back(version_in(record), count_in(record)); })};
  pipeline.open_stream(std::move(config));
  for (int version = 2; version < 40; ++version) pipeline.replace_capsule(counter(version));
  const StreamReport report = pipeline.close_stream("gate");
  EXPECT_EQ(report.frames, static_cast<std::int64_t>(seen.size()));
  for (std::size_t i = 1; i < seen.size(); ++i) {
    EXPECT_GE(seen[i].first, seen[i - 1].first);
    EXPECT_EQ(seen[i].second, seen[i - 1].second + 1) << "the state must continue";
  }
}

/// The counts of three frames; the first one has this discontinuity and index 1000.
std::vector<int> counts_after(Discontinuity first, std::vector<Discontinuity> keeps_state_at) {
  Pipeline pipeline({counter(2, std::move(keeps_state_at))});
  std::vector<int> counts;
  StreamConfig config{.id = "gate"};
  config.source = std::make_unique<MemorySource>(
      MemorySource::Plan{.frames = 3, .before = [first](Frame& frame) {
                           if (frame.index == 0) frame.discontinuity = first;
                           frame.index += 1000;
                         }});
  config.saved = {{"counter", {.state = {{"frames", 40}}, .version = 1}}};
  config.sinks = {make_callback_sink([&](const FrameRecord& record) {
    EXPECT_EQ(record.frame.index, 1000 + static_cast<std::int64_t>(counts.size()));
    counts.push_back(count_in(record));
  })};
  pipeline.open_stream(std::move(config));
  EXPECT_EQ(pipeline.wait("gate").frames, 3);
  return counts;
}

TEST(SavedState, GoesOnInAnotherProcessIfTheCapsuleKeepsItsStateAtAReconnection) {
  EXPECT_THAT(counts_after(Discontinuity::reconnect, {Discontinuity::reconnect}),
              ElementsAre(41, 42, 43));
  EXPECT_THAT(counts_after(Discontinuity::reconnect, {}), ElementsAre(1, 2, 3));
  EXPECT_THAT(counts_after(Discontinuity::start, {Discontinuity::reconnect}), ElementsAre(1, 2, 3));
}

TEST(SavedState, IsNotUsedAgainIfTheCapsuleComesBack) {
  const std::shared_ptr<Capsule> first = counter(1, {Discontinuity::reconnect});
  Pipeline pipeline({first});
  StreamConfig config;
  config.saved = {{"counter", {.state = {{"frames", 40}}, .version = 1}}};
  Hand gate(pipeline, "gate", std::move(config));
  gate.play();
  pipeline.replace_capsule(counter(2), {.keep_state = false});
  EXPECT_EQ(count_in(gate.play()), 1);
  pipeline.replace_capsule(first, {.keep_state = false});
  EXPECT_EQ(count_in(gate.play()), 1);
}

TEST(SavedState, OfACapsuleThatIsNotThereIsRefused) {
  Pipeline pipeline({counter(1)});
  StreamConfig config{.id = "gate"};
  config.source = std::make_unique<MemorySource>(MemorySource::Plan{.frames = 1});
  config.saved = {{"other", {.state = {{"frames", 40}}, .version = 1}}};
  EXPECT_THAT([&] { pipeline.open_stream(std::move(config)); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("other")));
}

}  // namespace
}  // namespace vcap::test
