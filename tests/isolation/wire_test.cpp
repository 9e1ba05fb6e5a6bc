// SPDX-License-Identifier: Apache-2.0
#include "isolation/wire.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "capsule/output_check.hpp"
#include "isolation/wire_examples.hpp"
#include "isolation/wire_values.hpp"
#include "support/nested_nodes.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

using test::full_frame;
using test::full_nodes;
using test::message_of;
using test::nested_lists;
using test::nested_persons;
using test::sent;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using Json = nlohmann::json;

auto refuses(const char* text) {
  return ThrowsError<Error>(ErrorCode::misbehaving_capsule, HasSubstr(text));
}

template <class Value>
void read_as(const WireMessage& message) {
  WireReader reader(message, "capsule people");
  Value value{};
  reader(value);
  reader.end();
}

std::size_t levels_of(const std::vector<DetectionNode>& nodes) {
  return nodes.empty() ? 0 : 1 + levels_of(nodes.front().children);
}

TEST(Wire, KeepsNodesExactly) {
  const DetectionNodes nodes = full_nodes();
  const DetectionNodes arrived = sent(nodes);
  EXPECT_EQ(arrived, nodes) << "which also says that pictures share their pixels";
  EXPECT_TRUE(std::signbit(arrived[0].coords[0].y)) << "minus zero";
  EXPECT_EQ(sent(DetectionNodes::none()), DetectionNodes::none());
  const DetectionNodes single = DetectionNodes::single({.name = "one"});
  EXPECT_EQ(sent(single), single);
  EXPECT_EQ(sent(DetectionNodes::all()), DetectionNodes::all());
}

TEST(Wire, KeepsNumbersThatAreNotFiniteForTheCheckOfOutput) {
  DetectionNodes nodes = DetectionNodes::all(
      {{.name = "a", .coords = {{std::nan(""), std::numeric_limits<double>::infinity()}}}});
  const cv::Point2d point = sent(nodes)[0].coords[0];
  EXPECT_TRUE(std::isnan(point.x));
  EXPECT_TRUE(std::isinf(point.y));
}

TEST(Wire, KeepsFramesAndSharesTheirPixels) {
  const Frame frame = full_frame();
  const Frame arrived = sent(frame);
  EXPECT_EQ(arrived.image.data, frame.image.data);
  EXPECT_EQ(arrived.index, -7);
  EXPECT_EQ(arrived.pts, frame.pts);
  EXPECT_EQ(arrived.discontinuity, Discontinuity::reconnect);
  EXPECT_TRUE(arrived.is_null);
  EXPECT_EQ(arrived.source_file, "cat/1.jpg");
  EXPECT_EQ(arrived.pictures, frame.pictures);
  EXPECT_TRUE(sent(Frame{}).image.empty());
}

TEST(Wire, KeepsEveryKindOfJson) {
  const Json value = {{"null", nullptr},
                      {"truth", {true, false}},
                      {"least", std::numeric_limits<std::int64_t>::min()},
                      {"greatest", std::numeric_limits<std::uint64_t>::max()},
                      {"real", 1.0},
                      {"text", std::string("a\0b\xff", 4)},
                      {"empty", {Json::array(), Json::object(), ""}},
                      {"binary", Json::binary({1, 2, 3}, 77)},
                      {"plain_binary", Json::binary({})}};
  const Json arrived = sent(value);
  EXPECT_EQ(arrived, value);
  for (const auto& [key, field] : value.items())
    EXPECT_EQ(arrived.at(key).type(), field.type()) << key;
  EXPECT_TRUE(arrived.at("binary").get_binary().has_subtype());
  EXPECT_FALSE(arrived.at("plain_binary").get_binary().has_subtype());
  EXPECT_TRUE(sent(Json(Json::value_t::discarded)).is_discarded());
}

TEST(Wire, KeepsTheOtherValuesOfCalls) {
  const StreamInfo info{.id = "gate",
                        .config = {{"a", 1}},
                        .seed = std::numeric_limits<std::uint64_t>::max(),
                        .saved = {1, 2},
                        .saved_by = 3};
  const StreamInfo arrived = sent(info);
  EXPECT_EQ(arrived.id, "gate");
  EXPECT_EQ(arrived.config, info.config);
  EXPECT_EQ(arrived.seed, info.seed);
  EXPECT_EQ(arrived.saved, info.saved);
  EXPECT_EQ(arrived.saved_by, 3);

  EXPECT_EQ(sent(BatchSizes{3, 9}), (BatchSizes{3, 9}));
  const Stencil stencil{.offsets = {-1, 0, 4}, .edge = StencilEdge::error};
  EXPECT_EQ(sent(stencil), stencil);

  BatchStatistics statistics{.queued = 1,
                             .running = 2,
                             .accepted = 3,
                             .answered = 4,
                             .failed = 5,
                             .dropped = 6,
                             .expired = 7,
                             .cancelled = 8,
                             .closed = 9,
                             .rejected = 10,
                             .batch_sizes = {},
                             .wait_ns = {},
                             .predict_ns = {}};
  statistics.batch_sizes.add(40, 3);
  statistics.wait_ns.add(123'456'789);
  const BatchStatistics counted = sent(statistics);
  EXPECT_THAT(
      (std::vector<std::uint64_t>{
          counted.queued, counted.running, counted.accepted, counted.answered, counted.failed,
          counted.dropped, counted.expired, counted.cancelled, counted.closed, counted.rejected}),
      ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_EQ(counted.batch_sizes.buckets(), statistics.batch_sizes.buckets());
  EXPECT_EQ(counted.wait_ns.buckets(), statistics.wait_ns.buckets());
  EXPECT_EQ(counted.wait_ns.mean(), statistics.wait_ns.mean());
  EXPECT_EQ(counted.predict_ns.count(), 0u);

  const ResourceOptions options{.cache = "/a",
                                .mirror = "https://b",
                                .offline = true,
                                .certificates = "c.pem",
                                .cache_bytes = 5,
                                .connect_timeout = std::chrono::milliseconds(6),
                                .stall_timeout = std::chrono::seconds(7),
                                .attempts = 8};
  const ResourceOptions given = sent(options);
  EXPECT_EQ(given.cache, "/a");
  EXPECT_EQ(given.mirror, "https://b");
  EXPECT_TRUE(given.offline);
  EXPECT_EQ(given.certificates, "c.pem");
  EXPECT_EQ(given.cache_bytes, 5u);
  EXPECT_EQ(given.connect_timeout, options.connect_timeout);
  EXPECT_EQ(given.stall_timeout, options.stall_timeout);
  EXPECT_EQ(given.attempts, 8);
}

TEST(Wire, KeepsOptionsOfAllTypes) {
  const OptionValues defaults(
      Options{{"float", FloatOption{}},
              {"int", IntOption{}},
              {"bool", BoolOption{}},
              {"enum", EnumOption{.default_value = "a", .choices = {"a", "b"}}},
              {"text", TextOption{}}});
  OptionValues values = defaults;
  values.set("float", 0.1);
  values.set("int", std::numeric_limits<std::int64_t>::min());
  values.set("bool", true);
  values.set("enum", "b");
  values.set("text", "ü");
  EXPECT_EQ(sent(values, defaults), values);
  EXPECT_THAT(
      [&] {
        sent(values, OptionValues(Options{{"other", BoolOption{}}}));
      },
      ThrowsError<OptionError>(ErrorCode::unknown_option, HasSubstr("is unknown")));
}

TEST(Wire, LeavesOutWhatIsBelowItsLevels) {
  for (const std::size_t levels : {64, 65}) {
    EXPECT_EQ(sent(nested_persons(levels)), nested_persons(levels)) << levels;
    EXPECT_EQ(sent(nested_lists(levels)), nested_lists(levels)) << levels;
  }
  DetectionNodes deep = nested_persons(100'000);
  EXPECT_EQ(levels_of(std::move(sent(deep)).take()), kMostWireLevels);
  detail::discard(std::move(deep));
  Json cut = nested_lists(100'000);
  const Json arrived = sent(cut);
  const Json* innermost = &arrived;
  std::size_t levels = 1;
  for (; innermost->is_array() && !innermost->empty(); ++levels) innermost = &innermost->front();
  EXPECT_TRUE(innermost->is_null());
  EXPECT_EQ(levels, kMostWireLevels + 1);
}

TEST(Wire, RefusesMoreLevelsThanItWrites) {
  // A node of one level, whose children are written by hand; the last ones have none.
  WireWriter writer;
  writer(std::uint8_t{2});  // Size::all
  for (std::size_t level = 0; level < kMostWireLevels + 1; ++level)
    writer(std::uint32_t{1}, std::string(), std::vector<int>(), false, std::vector<int>(),
           std::vector<int>(), false, false, Json());
  writer(std::uint32_t{0}, std::uint32_t{0});
  const WireMessage nodes = std::move(writer).take();
  EXPECT_THAT([&] { read_as<DetectionNodes>(nodes); }, refuses("more than 65 levels"));

  WireWriter lists;
  constexpr std::uint8_t kList = 7;
  for (int level = 0; level < 40'000; ++level) lists(kList, std::uint32_t{1});
  lists(std::uint8_t{0});
  const WireMessage deep = std::move(lists).take();
  EXPECT_THAT([&] { read_as<Json>(deep); }, refuses("more than 65 levels"));
}

TEST(Wire, RefusesWhatIsNoMessage) {
  EXPECT_THAT([] { read_as<bool>({}); }, refuses("ends too early"));
  EXPECT_THAT([] { read_as<bool>({.bytes = std::string("\x7f\0\0", 3)}); },
              refuses("is of version 127, and this is version 1"));
  EXPECT_THAT([] { read_as<bool>(message_of(std::uint8_t{2})); }, refuses("a bool of 2"));
  EXPECT_THAT([] { read_as<bool>(message_of(true, true)); },
              refuses("capsule people sent a message that has more than belongs to it"));
  WireMessage one_picture = message_of(true);
  one_picture.pictures.emplace_back();
  EXPECT_THAT([&] { read_as<bool>(one_picture); }, refuses("has more"));
  EXPECT_THAT([] { read_as<cv::Mat>(message_of()); }, refuses("lacks a picture"));
  EXPECT_THAT([] { read_as<std::string>(message_of(std::uint32_t{0xffffffff})); },
              refuses("ends too early"));
  EXPECT_THAT([] { read_as<std::vector<double>>(message_of(std::uint32_t{0x20000000}, 1.0)); },
              refuses("ends too early"));
  EXPECT_THAT([] { read_as<Json>(message_of(std::uint8_t{11})); }, refuses("an unknown choice"));
  // A single node, and two of them.
  EXPECT_THAT(
      [] {
        WireMessage message = message_of(DetectionNodes::all({{.name = "a"}, {.name = "b"}}));
        message.bytes[sizeof kWireVersion] = 1;
        read_as<DetectionNodes>(message);
      },
      refuses("nodes that are not of their size"));
}

TEST(Wire, BoundsTheSizeOfAMessage) {
  const std::string text(kMostWireBytes, 'x');
  EXPECT_THAT([&] { message_of(text); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("are allowed")));
  EXPECT_THAT([&] { read_as<std::string>({.bytes = text + "x"}); }, refuses("is too large"));
  EXPECT_THAT([&] { read_as<bool>({.pictures = std::vector<cv::Mat>(kMostWirePictures + 1)}); },
              refuses("is too large"));
}

TEST(Wire, RefusesEveryMessageThatIsCutShort) {
  const WireMessage whole = message_of(full_frame(), full_nodes());
  for (std::size_t size = 0; size < whole.bytes.size(); ++size) {
    const WireMessage cut{.bytes = whole.bytes.substr(0, size), .pictures = whole.pictures};
    EXPECT_THAT(
        [&] {
          WireReader reader(cut, "capsule people");
          Frame frame;
          DetectionNodes nodes;
          reader(frame, nodes);
          reader.end();
        },
        refuses(""))
        << size;
  }
}

TEST(Wire, ReadsOrRefusesDamagedMessages) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const WireMessage whole = message_of(full_frame(), full_nodes());
  int refused = 0;
  constexpr int kRounds = 20'000;
  for (int i = 0; i < kRounds; ++i) {
    WireMessage damaged = whole;
    for (std::size_t times = 1 + random() % 3; times > 0; --times)
      damaged.bytes[random() % damaged.bytes.size()] = static_cast<char>(random());
    try {
      WireReader reader(damaged, "capsule people");
      Frame frame;
      DetectionNodes nodes;
      reader(frame, nodes);
      reader.end();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::misbehaving_capsule);
      ++refused;
    }
  }
  EXPECT_THAT(refused, testing::AllOf(testing::Gt(kRounds / 10), testing::Lt(kRounds)));
}

}  // namespace
}  // namespace vcap
