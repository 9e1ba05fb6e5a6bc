// SPDX-License-Identifier: Apache-2.0
// Rounds of random pipelines, streams, failures and ends. In each, every frame that a source gave
// must be recorded once, in order, or counted as dropped. A failing round prints its seed.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <random>
#include <thread>

#include <nlohmann/json.hpp>

#include "support/isolated_capsule.hpp"
#include "support/pipeline_helpers.hpp"
#include "support/sanitizers.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/capsule/base_backend.hpp"

namespace vcap::test {
namespace {

constexpr unsigned kRounds = kUnderSanitizer ? 100 : 500;

/// Random numbers that threads may share. Which thread gets which number does not matter.
class RoundDice {
 public:
  explicit RoundDice(unsigned seed) : engine_(seed) {}
  int upto(int most) {
    const std::lock_guard lock(mutex_);
    return std::uniform_int_distribution<int>(0, most)(engine_);
  }
  bool one_in(int n) { return upto(n - 1) == 0; }

 private:
  std::mutex mutex_;
  std::mt19937 engine_;
};

/// Throws at random, and at random returns no nodes.
Process moody(RoundDice& dice) {
  return [&dice](const Frame&, DetectionNodes nodes, const OptionValues&, BaseStreamState& state) {
    if (auto* counting = dynamic_cast<CountingState*>(&state)) ++counting->frames;
    if (dice.one_in(10)) throw std::runtime_error("moody");
    if (dice.one_in(8)) std::this_thread::yield();
    if (nodes.kind() != Size::single && !nodes.empty() && dice.one_in(10))
      nodes = DetectionNodes::all();
    return nodes;
  };
}

/// Runs its nodes through a batch, so that workers block on futures.
class BatchingCapsule final : public BaseCapsule {
 public:
  class Batcher final : public BaseBackend<int, int> {
   public:
    DetectionNodes process_frame(const Frame& frame, DetectionNodes nodes, const OptionValues&,
                                 BaseStreamState&) override {
      const int answer = predict(static_cast<int>(frame.index));
      nodes.node().extra_data["answer"] = answer;
      return nodes;
    }
    std::vector<int> batch_predict(std::span<const int> inputs) override {
      if (inputs[0] % 11 == 5) throw std::runtime_error("bad batch");
      return {inputs.begin(), inputs.end()};
    }
  };
  std::unique_ptr<Backend> load_backend(const CapsuleFiles&, const std::string&) override {
    return std::make_unique<Batcher>();
  }
};

std::vector<std::shared_ptr<Capsule>> random_capsules(RoundDice& dice) {
  std::vector<std::shared_ptr<Capsule>> capsules;
  const auto maybe_stateful = [&](CapsuleInfo info) {
    if (dice.one_in(2)) info.stream_state = make_stream_state<CountingState>();
    return info;
  };
  capsules.push_back(make_detector("people", "person", dice.upto(4)));
  if (dice.one_in(2)) capsules.push_back(make_detector("cars", "car", dice.upto(2)));
  for (int i = dice.upto(3); i > 0; --i) {
    const std::string name = "capsule" + std::to_string(i);
    capsules.push_back(make_capsule(
        maybe_stateful(dice.one_in(2) ? all_info(name, "person") : single_info(name, "person")),
        moody(dice)));
  }
  if (dice.one_in(4)) {
    CapsuleInfo info = single_info("batcher", "person");
    info.version = 1;
    capsules.push_back(test::kept_capsule_of(std::move(info), std::make_unique<BatchingCapsule>(),
                                             Capsule::Setup{.devices = {"CPU:0"}}));
  }
  return capsules;
}

/// A new version of one of the round's capsules; at random, one that does not fit.
std::shared_ptr<Capsule> random_successor(const std::shared_ptr<Capsule>& before, RoundDice& dice) {
  CapsuleInfo info = before->info();
  info.version = before->info().version + 1;
  info.stream_state = {};
  if (dice.one_in(2)) info.stream_state = make_stream_state<CountingState>();
  if (dice.one_in(10)) info.output_type.detections = {"stranger"};
  if (info.input_type.size != Size::none) return make_capsule(std::move(info), moody(dice));
  const std::string name = info.output_type.detections.front();
  return make_capsule(std::move(info), [name](const Frame& frame, DetectionNodes,
                                              const OptionValues&, BaseStreamState&) {
    DetectionNodes nodes = DetectionNodes::all();
    nodes.add(node_at(name, static_cast<double>(frame.index), 0));
    return nodes;
  });
}

/// Replaces capsules while the streams run and end.
void replace_some(Pipeline& pipeline, std::vector<std::shared_ptr<Capsule>> capsules,
                  RoundDice& dice, std::vector<std::shared_ptr<Capsule>>& all) {
  for (int i = dice.upto(3); i > 0; --i) {
    std::shared_ptr<Capsule>& place =
        capsules[static_cast<std::size_t>(dice.upto(static_cast<int>(capsules.size()) - 1))];
    try {
      auto next = random_successor(place, dice);
      all.push_back(next);
      pipeline.replace_capsule(
          next, {.keep_state = dice.one_in(2), .trial_frames = dice.one_in(3) ? dice.upto(20) : 0});
      place = std::move(next);
    } catch (const PlanError& does_not_fit) {
    } catch (const InvalidArgument& on_trial) {
    }
  }
}

/// What a round observes of one of its streams.
struct Watched {
  std::atomic<std::int64_t> given{0};
  // Only the stream's delivery writes the next three.
  std::int64_t recorded = 0;
  std::int64_t told = 0;             ///< drops that records reported
  std::vector<std::int64_t> seen{};  ///< indexes of both, in the order of arrival
  bool sink_fails = false;
  bool source_fails = false;
  bool pulled = false;
  bool tells_all = false;  ///< no drop can come after the last record
};

StreamConfig random_stream(const std::string& id, RoundDice& dice, Watched& watched) {
  const bool endless = dice.one_in(4);
  const int length = dice.upto(25);
  watched.sink_fails = dice.one_in(6);
  watched.source_fails = dice.one_in(6);
  const std::int64_t bad_record = watched.sink_fails ? dice.upto(10) : -1;
  const std::int64_t bad_frame = watched.source_fails ? dice.upto(10) : -1;
  StreamConfig config{.id = id};
  config.source = std::make_unique<MemorySource>(
      MemorySource::Plan{.frames = endless ? -1 : length,
                         .live = dice.one_in(3),
                         .before =
                             [&dice, bad_frame](Frame& frame) {
                               if (frame.index == bad_frame)
                                 throw SourceError(ErrorCode::source_read, "cut");
                               if (dice.one_in(9)) frame.discontinuity = Discontinuity::gap;
                             },
                         .given = &watched.given});
  config.sinks = {make_callback_sink([&watched, bad_record](const FrameRecord& record) {
    if (record.frame.index == bad_record) throw OutputError(ErrorCode::output_write, "full");
    for (const FrameRecord::Drop& drop : record.drops) {
      watched.seen.push_back(drop.frame_index);
      watched.told += drop.count;
    }
    watched.seen.push_back(record.frame.index);
    ++watched.recorded;
  })};
  config.frames_in_flight = static_cast<std::size_t>(dice.upto(6));  // 0: automatic
  config.overflow = static_cast<OverflowPolicy>(dice.upto(3));
  if (dice.one_in(5)) config.max_frames = dice.upto(20);
  if (dice.one_in(4)) config.keep_every = 1 + dice.upto(3);
  if (dice.one_in(3))
    config.quarantine = {.failures = static_cast<std::size_t>(1 + dice.upto(3)),
                         .window = std::chrono::seconds(1),
                         .pause = std::chrono::milliseconds(40 * (1 + dice.upto(5)))};
  // So short that also some calls without a fault are given up.
  if (dice.one_in(4)) config.capsule_deadline = std::chrono::microseconds(dice.upto(300));
  config.pull = watched.pulled = dice.one_in(4);
  watched.tells_all = !watched.sink_fails && !config.pull && config.keep_every == 1 &&
                      config.overflow != OverflowPolicy::drop_newest;
  return config;
}

void check(const StreamReport& report, const Watched& watched) {
  SCOPED_TRACE("stream " + report.id);
  std::int64_t dropped = 0;
  for (const auto& [reason, count] : report.drops) dropped += count;
  EXPECT_TRUE(report.ended);
  EXPECT_EQ(report.frames + dropped, watched.given);
  EXPECT_EQ(report.frames, watched.recorded);
  EXPECT_LE(watched.told, dropped);
  // Each frame is there once, and in the order of the source.
  EXPECT_EQ(std::ranges::adjacent_find(watched.seen, std::greater_equal<>()), watched.seen.end());
  if (watched.tells_all) {
    EXPECT_EQ(watched.told, dropped);
  }
  EXPECT_TRUE(!report.failure || watched.sink_fails || watched.source_fails) << *report.failure;
}

/// Pulls records until the stream has ended or is unknown.
void pull_all(Pipeline& pipeline, const std::string& id) {
  try {
    while (pipeline.next(id)) {
    }
  } catch (const SourceError& forgotten) {
  }
}

std::map<std::string, std::size_t> random_bounds(
    RoundDice& dice, const std::vector<std::shared_ptr<Capsule>>& capsules) {
  std::map<std::string, std::size_t> bounds;
  for (const std::shared_ptr<Capsule>& capsule : capsules)
    if (dice.one_in(2)) bounds[capsule->name()] = static_cast<std::size_t>(dice.upto(3));
  return bounds;
}

void play_round(unsigned seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  RoundDice dice(seed);
  constexpr int kMostStreams = 4;
  std::array<Watched, kMostStreams> watched;
  std::vector<StreamReport> reports;
  const auto capsules = random_capsules(dice);
  auto all = capsules;  // every version
  const int streams = 1 + dice.upto(kMostStreams - 1);
  {
    const auto bound = static_cast<std::size_t>(dice.one_in(2) ? 0 : dice.upto(4));
    Pipeline pipeline(capsules, {.workers = static_cast<std::size_t>(dice.upto(4)),
                                 .frames_in_flight = bound,
                                 .quarantine = {.failures = dice.one_in(4) ? 5u : 0u},
                                 .max_concurrent_calls = random_bounds(dice, capsules)});
    for (int i = 0; i < streams; ++i) {
      StreamConfig config =
          random_stream(std::to_string(i), dice, watched[static_cast<std::size_t>(i)]);
      if (dice.one_in(4)) config.capsules = {{"people"}};
      // If there is no room, the newest frame may be dropped, and no record follows it.
      if (bound > 0) watched[static_cast<std::size_t>(i)].tells_all = false;
      pipeline.open_stream(std::move(config));
    }
    // Ends race with each other: threads close some streams, this one stops and awaits others, and
    // in some rounds the destructor of the pipeline ends all of them.
    std::vector<std::thread> closers;
    std::mutex mutex;
    std::jthread replacer;
    if (dice.one_in(2))
      replacer = std::jthread([&] { replace_some(pipeline, capsules, dice, all); });
    if (!dice.one_in(4)) {
      for (int i = 0; i < streams; ++i)
        for (int j = watched[static_cast<std::size_t>(i)].pulled ? 1 + dice.upto(1) : 0; j > 0; --j)
          closers.emplace_back([&pipeline, id = std::to_string(i)] { pull_all(pipeline, id); });
      for (int i = 0; i < streams; ++i)
        if (dice.one_in(2))
          closers.emplace_back([&, id = std::to_string(i)] {
            try {
              StreamReport report = pipeline.close_stream(id);
              const std::lock_guard lock(mutex);
              if (std::ranges::find(reports, report.id, &StreamReport::id) == reports.end())
                reports.push_back(std::move(report));
            } catch (const SourceError& waited_for_meanwhile) {
            }
          });
      pipeline.stop();
      for (const StreamReport& open : pipeline.reports()) {
        try {
          StreamReport report = pipeline.wait(open.id);
          const std::lock_guard lock(mutex);
          if (std::ranges::find(reports, report.id, &StreamReport::id) == reports.end())
            reports.push_back(std::move(report));
        } catch (const SourceError& closed_meanwhile) {
        }
      }
      for (std::thread& closer : closers) closer.join();
      EXPECT_EQ(reports.size(), static_cast<std::size_t>(streams));
    }
  }
  for (const StreamReport& report : reports)
    check(report, watched[static_cast<std::size_t>(std::stoi(report.id))]);
  for (const auto& capsule : all) {
    EXPECT_EQ(capsule->stream_count(), 0u);
    capsule->close();  // waits for the calls that were given up
  }
}

class RandomRounds : public testing::TestWithParam<unsigned> {};  // the first seed

TEST_P(RandomRounds, AccountForEveryFrame) {
  set_log_hook([](LogLevel, std::string_view) {});
  for (unsigned i = 0; i < kRounds && !testing::Test::HasFailure(); ++i) play_round(GetParam() + i);
  set_log_hook({});
}

INSTANTIATE_TEST_SUITE_P(From, RandomRounds, testing::Range(0u, 6 * kRounds, kRounds),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace vcap::test
