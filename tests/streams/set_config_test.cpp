// SPDX-License-Identifier: Apache-2.0
// A running stream gets another config of a capsule.
#include <gmock/gmock.h>

#include <optional>

#include <nlohmann/json.hpp>

#include "support/bounded_wait.hpp"
#include "support/operation_helpers.hpp"
#include "support/pipeline_helpers.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"
#include "vcap/capsule/stream_parameters.hpp"
#include "vcap/sources/frame_feed.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kForbiddenZone = 13;

int zone_of(const StreamInfo& info) {
  const int zone = info.config.at("zone").get<int>();
  if (zone == kForbiddenZone) throw std::runtime_error("there is no such zone");
  return zone;
}

/// Counts frames from the saved number on. Cannot continue in a zone below 0.
struct ZoneState final : BaseStreamState {
  explicit ZoneState(const StreamInfo& info)
      : zone(zone_of(info)),
        frames(info.saved.is_null() ? 0 : info.saved.at("frames").get<int>()),
        saved_by(info.saved_by) {
    if (zone < 0 && !info.saved.is_null()) throw std::runtime_error("another kind of zone");
  }
  nlohmann::json save() const override { return {{"frames", frames}}; }
  const int zone;
  int frames;
  const int saved_by;
};

struct ZoneParameters final : BaseStreamParameters {
  explicit ZoneParameters(const StreamInfo& info) : zone(zone_of(info)) {}
  const int zone;
};

CapsuleInfo zones_info(int version, int most) {
  CapsuleInfo info = detector_info("zones", "zone");
  info.version = version;
  info.options = {{"size", IntOption{.default_value = 1}}};
  info.stream_config_schema = {
      {"properties", {{"zone", {{"type", "integer"}, {"maximum", most}, {"default", 1}}}}},
      {"additionalProperties", false}};
  return info;
}

DetectionNodes zone_node(nlohmann::json data) {
  DetectionNode node{.name = "zone"};
  node.extra_data = std::move(data);
  DetectionNodes nodes = DetectionNodes::all();
  nodes.add(std::move(node));
  return nodes;
}

/// Finds one node with what its state holds.
std::shared_ptr<Capsule> stateful_zones(int version = 1, int most = 1000) {
  CapsuleInfo info = zones_info(version, most);
  info.stream_state = make_stream_state<ZoneState>();
  return make_capsule(
      info, [version](const Frame&, DetectionNodes, const OptionValues&, BaseStreamState& state) {
        auto& own = state_of<ZoneState>(state);
        return zone_node({{"zone", own.zone},
                          {"frames", ++own.frames},
                          {"saved_by", own.saved_by},
                          {"version", version}});
      });
}

/// Finds one node with its zone, in no order.
std::shared_ptr<Capsule> stateless_zones(std::function<void(const Frame&)> before = {}) {
  CapsuleInfo info = zones_info(1, 1000);
  info.stream_parameters = make_stream_parameters<ZoneParameters>();
  return make_capsule(info, [before](const Frame& frame, DetectionNodes, const OptionValues&,
                                     BaseStreamState& state) {
    if (before) before(frame);
    return zone_node({{"zone", parameters_of<ZoneParameters>(state).zone}});
  });
}

/// A stream whose frames a test pushes, and whose records it pulls.
class Yard {
 public:
  explicit Yard(Pipeline& pipeline, StreamConfig config = {}) : pipeline_(pipeline) {
    config.id = "yard";
    config.source = feed_.source();
    config.pull = true;
    pipeline_.open_stream(std::move(config));
  }
  void push() { feed_.push(cv::Mat(12, 16, CV_8UC3, cv::Scalar::all(7))); }
  FrameRecord pull() { return pipeline_.next("yard").value(); }
  FrameRecord play() {
    push();
    return pull();
  }
  std::int64_t set(int zone, bool keep_state = true) {
    return pipeline_.set_config("yard", "zones", {{"zone", zone}}, keep_state);
  }
  void end() {
    feed_.end();
    while (pipeline_.next("yard")) {
    }
  }

 private:
  Pipeline& pipeline_;
  FrameFeed feed_{};
};

int value_in(const FrameRecord& record, const char* key) {
  return record.objects.at(0).extra_data.at(key).get<int>();
}
int zone_in(const FrameRecord& record) { return value_in(record, "zone"); }

TEST(SetConfig, TakesEffectAtAnExactFrameThatRecordsIt) {
  const auto zones = stateful_zones();
  Pipeline pipeline({zones});
  StreamConfig config;
  config.config["zones"] = {{"zone", 3}};
  Yard yard(pipeline, std::move(config));
  EXPECT_EQ(zone_in(yard.play()), 3);
  EXPECT_EQ(zone_in(yard.play()), 3);
  EXPECT_EQ(yard.set(5), 2);
  const FrameRecord first = yard.play();
  EXPECT_EQ(zone_in(first), 5);
  ASSERT_EQ(first.config_changes.size(), 1u);
  EXPECT_EQ(first.config_changes[0].capsule, "zones");
  EXPECT_EQ(*first.config_changes[0].config, nlohmann::json({{"zone", 5}}));
  EXPECT_TRUE(first.config_changes[0].keep_state);
  EXPECT_THAT(first.replacements, IsEmpty());
  const FrameRecord second = yard.play();
  EXPECT_EQ(zone_in(second), 5);
  EXPECT_THAT(second.config_changes, IsEmpty());
  EXPECT_EQ(zones->stream_count(), 1u);
  EXPECT_FALSE(zones->save_state("yard").is_null()) << "the new state is found by the stream's id";
  pipeline.close_stream("yard");
  EXPECT_EQ(zones->stream_count(), 0u);
}

TEST(SetConfig, ContinuesWithTheSavedStateUnlessANewOneIsWanted) {
  Pipeline pipeline({stateful_zones(4)});
  Yard yard(pipeline);
  for (int i = 0; i < 3; ++i) yard.play();
  yard.set(5);
  const FrameRecord kept = yard.play();
  EXPECT_EQ(value_in(kept, "frames"), 4);
  EXPECT_EQ(value_in(kept, "saved_by"), 4);
  yard.set(6, false);
  const FrameRecord fresh = yard.play();
  EXPECT_EQ(value_in(fresh, "frames"), 1);
  EXPECT_EQ(value_in(fresh, "saved_by"), 0);
  EXPECT_FALSE(fresh.config_changes.at(0).keep_state);
  yard.set(7, false);
  yard.set(8);
  EXPECT_EQ(value_in(yard.play(), "frames"), 1) << "one of the changes has not kept the state";
}

TEST(SetConfig, MakesANewStateAfterOneThatCannotContinue) {
  Pipeline pipeline({stateful_zones()});
  Yard yard(pipeline);
  yard.play();
  EXPECT_EQ(yard.set(-2), 1);
  const FrameRecord failed = yard.play();
  ASSERT_EQ(failed.errors.size(), 1u);
  EXPECT_EQ(failed.errors[0].code, "capsule_threw");
  EXPECT_THAT(failed.errors[0].message, HasSubstr("another kind of zone"));
  const FrameRecord fresh = yard.play();
  EXPECT_THAT(fresh.errors, IsEmpty());
  EXPECT_EQ(zone_in(fresh), -2);
  EXPECT_EQ(value_in(fresh, "frames"), 1);
}

TEST(SetConfig, GivesAStatelessCapsuleNewParameters) {
  const auto zones = stateless_zones();
  Pipeline pipeline({zones});
  Yard yard(pipeline);
  EXPECT_EQ(zone_in(yard.play()), 1) << "the schema's default";
  EXPECT_EQ(yard.set(5), 1);
  const FrameRecord first = yard.play();
  EXPECT_EQ(zone_in(first), 5);
  EXPECT_EQ(first.config_changes.size(), 1u);
  EXPECT_EQ(zone_in(yard.play()), 5);
}

TEST(SetConfig, LeavesTheOldOneToFramesThatWereReadBefore) {
  Latch entered, release;
  Pipeline pipeline({stateless_zones([&](const Frame& frame) {
    if (frame.index > 0) return;
    entered.open();
    release.wait();
  })});
  Yard yard(pipeline);
  yard.push();
  yard.push();
  entered.wait();
  yield_until("both frames", [&] { return pipeline.stats().streams.at(0).read == 2; });
  EXPECT_EQ(yard.set(5), 2);
  pipeline.set_option("yard", "zones", "size", std::int64_t{2});
  yard.push();
  release.open();
  std::vector<int> zones;
  for (int i = 0; i < 3; ++i) zones.push_back(zone_in(yard.pull()));
  EXPECT_THAT(zones, ElementsAre(1, 1, 5));
}

TEST(SetConfig, ChangesNothingIfItIsRefused) {
  Pipeline pipeline({stateful_zones(1, 9), make_detector("cars", "car")});
  StreamConfig config;
  config.config["zones"] = {{"zone", 3}};
  Yard yard(pipeline, std::move(config));
  yard.play();
  EXPECT_THAT([&] { yard.set(10); },
              ThrowsError<InvalidArgument>(
                  ErrorCode::invalid_config,
                  HasSubstr("stream yard's config of capsule zones: /zone is 10")));
  EXPECT_THAT([&] { pipeline.set_config("yard", "zones", nlohmann::json::array()); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_config, HasSubstr("give an object")));
  EXPECT_THAT(
      [&] {
        pipeline.set_config("yard", "cars", {{"zone", 1}});
      },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_config, HasSubstr("leave it out")));
  EXPECT_THAT(
      [&] { pipeline.set_config("yard", "bikes", JsonValue::object()); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("no such capsule")));
  EXPECT_THAT([&] { pipeline.set_config("gate", "zones", JsonValue::object()); },
              ThrowsError<SourceError>(ErrorCode::unknown_stream, HasSubstr("gate")));
  const FrameRecord record = yard.play();
  EXPECT_THAT(record.config_changes, IsEmpty());
  EXPECT_EQ(zone_in(record), 3);
  EXPECT_EQ(value_in(record, "frames"), 2);
  EXPECT_EQ(yard.set(9), 2);
  EXPECT_EQ(zone_in(yard.play()), 9);
}

TEST(SetConfig, ChangesNothingIfTheCapsuleThrowsAtIt) {
  for (const auto& zones : {stateful_zones(), stateless_zones()}) {
    Pipeline pipeline({zones});
    Yard yard(pipeline);
    yard.play();
    yard.set(3);
    yard.play();
    EXPECT_THAT([&] { yard.set(kForbiddenZone); },
                ThrowsError<InvalidArgument>(
                    ErrorCode::invalid_config,
                    AllOf(HasSubstr("capsule zones made no "),
                          HasSubstr("yard\" with this config: there is no such zone"))));
    const FrameRecord record = yard.play();
    EXPECT_THAT(record.config_changes, IsEmpty());
    EXPECT_THAT(record.errors, IsEmpty());
    EXPECT_EQ(zone_in(record), 3);
  }
}

TEST(SetConfig, RefusesAStreamThatDoesNotGoThroughTheCapsule) {
  Pipeline pipeline({stateful_zones(), make_detector("cars", "car")});
  StreamConfig config;
  config.capsules = {{"cars"}};
  Yard yard(pipeline, std::move(config));
  EXPECT_THAT([&] { yard.set(5); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           HasSubstr("does not go through that capsule")));
}

TEST(SetConfig, RefusesAStreamInGroups) {
  Pipeline pipeline({stateless_zones()});
  StreamConfig config{.id = "yard", .source = std::make_unique<IndexedSource>("....")};
  config.groups = {{.rows = {0, 2}}, {.rows = {2, 4}}};
  pipeline.open_stream(std::move(config));
  EXPECT_THAT(
      [&] {
        pipeline.set_config("yard", "zones", {{"zone", 5}});
      },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("runs in slices")));
  const StreamSettings settings = pipeline.stream_settings("yard");
  EXPECT_FALSE(settings.options_can_change);
  EXPECT_FALSE(settings.configs_can_change);
  EXPECT_EQ(*settings.capsules.at(0).config, nlohmann::json({{"zone", 1}}));
  pipeline.wait("yard");
}

TEST(SetConfig, StaysWhenTheCapsuleIsReplaced) {
  Pipeline pipeline({stateful_zones(1)});
  Yard yard(pipeline);
  yard.play();
  yard.set(50);
  pipeline.replace_capsule(stateful_zones(2));
  const FrameRecord record = yard.play();
  EXPECT_EQ(zone_in(record), 50);
  EXPECT_EQ(value_in(record, "version"), 2);
  EXPECT_EQ(value_in(record, "frames"), 2);
  EXPECT_EQ(record.config_changes.size(), 1u);
  EXPECT_THAT([&] { pipeline.replace_capsule(stateful_zones(3, 9)); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_config, HasSubstr("/zone is 50")));
  yard.set(5);
  pipeline.replace_capsule(stateful_zones(4, 9));
  yard.set(6);
  const FrameRecord last = yard.play();
  EXPECT_EQ(zone_in(last), 6);
  EXPECT_EQ(value_in(last, "version"), 4);
  EXPECT_EQ(value_in(last, "frames"), 3);
}

TEST(SetConfig, AlsoSuitsTheCapsuleThatATrialMayBringBack) {
  set_log_hook([](LogLevel, std::string_view) {});
  Pipeline pipeline({stateful_zones(1, 9)});
  Yard yard(pipeline);
  CapsuleInfo info = zones_info(2, 1000);
  info.stream_state = make_stream_state<ZoneState>();
  pipeline.replace_capsule(
      make_capsule(info,
                   [](const Frame&, DetectionNodes, const OptionValues&,
                      BaseStreamState&) -> DetectionNodes { throw std::runtime_error("broken"); }),
      {.trial_frames = 100});
  EXPECT_THAT([&] { yard.set(10); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_config, HasSubstr("/zone is 10")));
  yard.set(7);
  EXPECT_EQ(yard.play().errors.size(), 1u);
  FrameRecord record = yard.play();
  while (record.replacements.empty()) record = yard.play();
  EXPECT_EQ(value_in(record, "version"), 1);
  EXPECT_EQ(zone_in(record), 7);
  yard.end();
  set_log_hook({});
}

TEST(SetConfig, HasNoEffectOnAStreamThatHasEnded) {
  const auto zones = stateful_zones();
  Pipeline pipeline({zones});
  Yard yard(pipeline);
  yard.play();
  yard.end();
  EXPECT_EQ(yard.set(5), 1);
  EXPECT_EQ(zones->stream_count(), 0u);
  EXPECT_THAT([&] { yard.set(5000); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_config, HasSubstr("5000")));
}

TEST(StreamSettings, AreThoseOfTheNextFrame) {
  const auto zones = stateful_zones(3);
  Pipeline pipeline({make_detector("cars", "car"), zones});
  StreamConfig config;
  config.options["zones"] = zones->default_options();
  config.options["zones"].set("size", std::int64_t{4});
  Yard yard(pipeline, std::move(config));
  StreamSettings settings = pipeline.stream_settings("yard");
  EXPECT_EQ(settings.id, "yard");
  EXPECT_TRUE(settings.options_can_change && settings.configs_can_change);
  ASSERT_EQ(settings.capsules.size(), 2u);
  EXPECT_EQ(settings.capsules[0].name, "cars");
  EXPECT_FALSE(settings.capsules[0].takes_config);
  const CapsuleSettings& own = settings.capsules[1];
  EXPECT_EQ(own.name, "zones");
  EXPECT_EQ(own.version, 3);
  EXPECT_EQ(own.options.get<std::int64_t>("size"), 4);
  EXPECT_EQ(*own.config, nlohmann::json({{"zone", 1}}));
  EXPECT_EQ(*own.config_schema, *zones->info().stream_config_schema);
  EXPECT_TRUE(own.takes_config);

  yard.set(8);
  pipeline.set_option("yard", "zones", "size", std::int64_t{6});
  settings = pipeline.stream_settings("yard");
  EXPECT_EQ(*settings.capsules.at(1).config, nlohmann::json({{"zone", 8}}));
  EXPECT_EQ(settings.capsules[1].options.get<std::int64_t>("size"), 6);
  EXPECT_THAT([&] { pipeline.stream_settings("gate"); },
              ThrowsError<SourceError>(ErrorCode::unknown_stream, HasSubstr("gate")));
}

}  // namespace
}  // namespace vcap::test
