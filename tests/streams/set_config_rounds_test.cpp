// SPDX-License-Identifier: Apache-2.0
// Random rounds: threads change configs and options of a stream and replace its capsule, while
// frames run and the stream ends. Every record must have what the changes say that are listed in it
// and before it. A failing round prints its seed.
#include <gmock/gmock.h>

#include <atomic>
#include <random>
#include <thread>

#include <nlohmann/json.hpp>

#include "support/pipeline_helpers.hpp"
#include "support/sanitizers.hpp"
#include "vcap/base/error.hpp"
#include "vcap/capsule/stream_parameters.hpp"

namespace vcap::test {
namespace {

constexpr unsigned kConfigRounds = kUnderSanitizer ? 60 : 400;
constexpr int kChangers = 3;

/// The config's number, and the frames since the state began.
struct RoundState final : BaseStreamState {
  explicit RoundState(const StreamInfo& info)
      : number(info.config.at("number").get<int>()),
        frames(info.saved.is_null() ? 0 : info.saved.get<int>()) {}
  nlohmann::json save() const override { return frames; }
  const int number;
  int frames;
};

struct RoundParameters final : BaseStreamParameters {
  explicit RoundParameters(const StreamInfo& info) : number(info.config.at("number").get<int>()) {}
  const int number;
};

/// Gives a node that says with what it was made and called.
std::shared_ptr<Capsule> teller(int version, bool has_state, bool is_batched) {
  CapsuleInfo info = detector_info("teller", "told");
  info.version = version;
  info.options = {{"size", IntOption{.default_value = 0}}};
  info.stream_config_schema = {
      {"properties", {{"number", {{"type", "integer"}, {"minimum", 0}, {"default", 0}}}}}};
  if (has_state) info.stream_state = make_stream_state<RoundState>();
  if (!has_state) info.stream_parameters = make_stream_parameters<RoundParameters>();
  if (is_batched && !has_state) info.batch = BatchSizes{.preferred = 2, .maximum = 4};
  return make_capsule(
      info, [version, has_state](const Frame&, DetectionNodes, const OptionValues& options,
                                 BaseStreamState& state) {
        DetectionNode node{.name = "told"};
        node.extra_data = {{"version", version}, {"size", options.get<std::int64_t>("size")}};
        if (has_state) {
          auto& own = state_of<RoundState>(state);
          node.extra_data["frames"] = ++own.frames;
          node.extra_data["number"] = own.number;
        } else {
          node.extra_data["number"] = parameters_of<RoundParameters>(state).number;
        }
        DetectionNodes nodes = DetectionNodes::all();
        nodes.add(std::move(node));
        return nodes;
      });
}

/// What the records up to now say of the next one.
class Expected {
 public:
  void check(const FrameRecord& record) {
    EXPECT_THAT(record.errors, testing::IsEmpty());
    bool keeps_state = true;
    for (const auto& change : record.config_changes) {
      number_ = change.config.at("number").get<int>();
      keeps_state = keeps_state && change.keep_state;
      ++config_changes_;
    }
    for (const auto& change : record.option_changes) size_ = std::get<std::int64_t>(change.value);
    for (const auto& change : record.replacements) version_ = change.to_version;
    const nlohmann::json& told = *record.objects.at(0).extra_data;
    EXPECT_EQ(told.at("number"), number_) << record.frame.index;
    EXPECT_EQ(told.at("size"), size_) << record.frame.index;
    EXPECT_EQ(told.at("version"), version_) << record.frame.index;
    if (!told.contains("frames")) return;
    frames_ = keeps_state ? frames_ + 1 : 1;
    EXPECT_EQ(told.at("frames"), frames_) << record.frame.index;
  }
  int config_changes() const noexcept { return config_changes_; }

 private:
  int number_ = 0;
  std::int64_t size_ = 0;
  int version_ = 1;
  int frames_ = 0;
  int config_changes_ = 0;
};

struct RoundCase {
  unsigned seed;
  bool has_state;
  bool is_batched;
  bool is_closed_early;
  std::int64_t frames;
};

/// One thread's changes, until the stream is gone. Counts those of configs that were accepted.
void change_some(Pipeline& pipeline, const RoundCase& round, int thread,
                 std::atomic<int>& next_version, std::atomic<int>& accepted) {
  std::minstd_rand random(round.seed * kChangers + static_cast<unsigned>(thread) + 1);
  for (int i = 0; i < 12; ++i) {
    const auto dice = random() % 10;
    const int number = thread * 1000 + i;
    try {
      if (dice < 6) {
        EXPECT_GE(pipeline.set_config("stream", "teller", {{"number", number}}, dice % 3 != 0), 0);
        ++accepted;
      } else if (dice == 6) {
        pipeline.set_config("stream", "teller", {{"number", -1}});
        ADD_FAILURE() << "a config that does not fit was accepted";
      } else if (dice == 7) {
        pipeline.set_option("stream", "teller", "size", std::int64_t{number});
      } else if (dice == 8) {
        pipeline.replace_capsule(
            teller(++next_version, round.has_state, round.is_batched && random() % 2 == 0));
      } else {
        const StreamSettings settings = pipeline.stream_settings("stream");
        EXPECT_GE(settings.capsules.at(0).config.at("number").get<int>(), 0);
      }
    } catch (const InvalidArgument& refused) {
      EXPECT_EQ(refused.code(), ErrorCode::invalid_config);
      EXPECT_EQ(dice, 6u) << refused.what();
    } catch (const SourceError& error) {
      EXPECT_EQ(error.code(), ErrorCode::unknown_stream);
    }
    if (random() % 3 == 0) std::this_thread::yield();
  }
}

TEST(SetConfigRounds, GiveEachFrameWhatItsRecordSays) {
  int listed = 0;
  for (unsigned seed = 0; seed < kConfigRounds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::minstd_rand random(seed + 1);
    const RoundCase round{.seed = seed,
                          .has_state = random() % 2 == 0,
                          .is_batched = random() % 2 == 0,
                          .is_closed_early = random() % 3 == 0,
                          .frames = static_cast<std::int64_t>(random() % 60)};
    const auto first = teller(1, round.has_state, round.is_batched);
    std::atomic<int> accepted = 0;
    Expected expected;
    {
      Pipeline pipeline({first});
      StreamConfig config{
          .id = "stream",
          .source = std::make_unique<MemorySource>(MemorySource::Plan{
              .frames = round.frames, .before = [](Frame&) { std::this_thread::yield(); }})};
      config.sinks = {
          make_callback_sink([&](const FrameRecord& record) { expected.check(record); })};
      pipeline.open_stream(std::move(config));
      std::atomic<int> version = 1;
      std::vector<std::thread> threads;
      for (int thread = 0; thread < kChangers; ++thread)
        threads.emplace_back(
            [&, thread] { change_some(pipeline, round, thread, version, accepted); });
      const StreamReport report =
          round.is_closed_early ? pipeline.close_stream("stream") : pipeline.wait("stream");
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(report.failure.value_or(""), "");
      if (!round.is_closed_early) {
        EXPECT_EQ(report.frames, round.frames);
      }
    }
    EXPECT_EQ(first->stream_count(), 0u);
    EXPECT_LE(expected.config_changes(), accepted);
    listed += expected.config_changes();
  }
  EXPECT_GT(listed, 0) << "no change reached a frame in any round";
}

}  // namespace
}  // namespace vcap::test
