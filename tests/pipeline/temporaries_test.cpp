// SPDX-License-Identifier: Apache-2.0
// Accessors of a temporary give a value, which a reference or a range-based for loop keeps alive;
// or they do not compile. Otherwise `for (auto& step : pipeline.plan().steps())` reads freed
// memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/pipeline_helpers.hpp"
#include "vcap/algorithms/multi_object_tracker.hpp"
#include "vcap/capsule.hpp"
#include "vcap/image/image.hpp"
#include "vcap/loading/crypto/encryption_key.hpp"
#include "vcap/loading/crypto/signing_key.hpp"
#include "vcap/plan/plan.hpp"
#include "vcap/sources/source.hpp"

namespace vcap::test {
namespace {

template <class Value, class Given>
constexpr bool is = std::is_same_v<Given, Value>;

// By value from temporaries, and without a copy from all else.
static_assert(is<std::vector<Plan::Step>, decltype(std::declval<Plan>().steps())>);
static_assert(is<const std::vector<Plan::Step>&, decltype(std::declval<const Plan&>().steps())>);
static_assert(is<std::vector<Plan::LeftOut>, decltype(std::declval<Plan>().left_out())>);
static_assert(
    is<const std::vector<Plan::LeftOut>&, decltype(std::declval<const Plan&>().left_out())>);
static_assert(is<std::vector<Plan::Conflict>, decltype(std::declval<Plan>().conflicts())>);
static_assert(
    is<const std::vector<Plan::Conflict>&, decltype(std::declval<const Plan&>().conflicts())>);
static_assert(is<std::string, decltype(std::declval<DeviceMapper>().name())>);
static_assert(is<const std::string&, decltype(std::declval<const DeviceMapper&>().name())>);
static_assert(is<DetectionNode, decltype(std::declval<DetectionNodes>().node())>);
static_assert(is<const DetectionNode&, decltype(std::declval<const DetectionNodes&>().node())>);
static_assert(is<DetectionNode, decltype(std::declval<DetectionNodes>()[0])>);
static_assert(is<const DetectionNode&, decltype(std::declval<const DetectionNodes&>()[0])>);
static_assert(is<std::array<std::uint8_t, 16>, decltype(std::declval<Uuid>().bytes())>);
static_assert(
    is<const std::array<std::uint8_t, 16>&, decltype(std::declval<const Uuid&>().bytes())>);
static_assert(is<std::string, decltype(std::declval<CapsuleLoadError>().entry())>);
static_assert(is<const std::string&, decltype(std::declval<const CapsuleLoadError&>().entry())>);
static_assert(is<KeyId::Bytes, decltype(std::declval<KeyId>().bytes())>);
static_assert(is<const KeyId::Bytes&, decltype(std::declval<const KeyId&>().bytes())>);
static_assert(is<PublicKey::Bytes, decltype(std::declval<PublicKey>().bytes())>);
static_assert(is<const PublicKey::Bytes&, decltype(std::declval<const PublicKey&>().bytes())>);
static_assert(is<PublicKey, decltype(std::declval<SecretKey>().public_key())>);
static_assert(is<const PublicKey&, decltype(std::declval<const SecretKey&>().public_key())>);
static_assert(is<BoundingBox, decltype(std::declval<Crop>().box())>);
static_assert(is<const BoundingBox&, decltype(std::declval<const Crop&>().box())>);
static_assert(is<PictureMap, decltype(std::declval<Resize>().map())>);
static_assert(is<const PictureMap&, decltype(std::declval<const Resize&>().map())>);
static_assert(is<Resize, decltype(std::declval<Resize>().fit_width(1))>);
static_assert(is<Resize, decltype(std::declval<Resize>().fit_height(1))>);
static_assert(is<Resize, decltype(std::declval<Resize>().fit_both({}))>);
static_assert(is<Resize, decltype(std::declval<Resize>().fit_one({}))>);
static_assert(is<Resize, decltype(std::declval<Resize>().fit_exact({}))>);
static_assert(is<Resize, decltype(std::declval<Resize>().crop({}, Resize::Sides::all))>);
static_assert(is<Resize, decltype(std::declval<Resize>().crop({}, cv::Point()))>);
static_assert(is<Resize, decltype(std::declval<Resize>().pad({}, Resize::Sides::all))>);
static_assert(is<Resize, decltype(std::declval<Resize>().pad({}, cv::Point()))>);
static_assert(is<Resize&, decltype(std::declval<Resize&>().fit_width(1).pad({}, cv::Point()))>);
static_assert(is<cv::Mat, decltype(std::declval<BackgroundModel>().background())>);
static_assert(is<const cv::Mat&, decltype(std::declval<const BackgroundModel&>().background())>);
static_assert(is<BackgroundModel, decltype(std::declval<MovingPeopleDetector>().background())>);
static_assert(is<HeightModel, decltype(std::declval<MovingPeopleDetector>().heights())>);
static_assert(is<MovingPeopleSettings, decltype(std::declval<MovingPeopleDetector>().settings())>);
static_assert(is<TrackerSettings, decltype(std::declval<MultiObjectTracker>().settings())>);
static_assert(is<nlohmann::json, decltype(std::declval<JsonValue>()["a"])>);
static_assert(is<nlohmann::json, decltype(std::declval<JsonValue>().at("a"))>);
static_assert(is<const nlohmann::json&, decltype(std::declval<const JsonValue&>().at("a"))>);
static_assert(is<nlohmann::json, decltype(*std::declval<JsonValue>())>);
static_assert(is<nlohmann::json&, decltype(*std::declval<JsonValue&>())>);
static_assert(is<const nlohmann::json&, decltype(*std::declval<const JsonValue&>())>);
static_assert(std::is_convertible_v<JsonValue&, nlohmann::json&> &&
              !std::is_convertible_v<JsonValue, nlohmann::json&>);
static_assert(is<BrokenPictures, decltype(std::declval<const Source&>().broken_pictures())>);

// Where a value would be large, or a view of what is gone, it does not compile.
template <class T>
concept GivesInfo = requires {
  std::declval<T>().info();
};
static_assert(GivesInfo<const Capsule&> && !GivesInfo<Capsule>);
template <class T>
concept GivesName = requires {
  std::declval<T>().name();
};
static_assert(GivesName<const Capsule&> && !GivesName<Capsule>);
template <class T>
concept GivesOutputPolicy = requires {
  std::declval<T>().output_policy();
};
static_assert(GivesOutputPolicy<const Capsule&> && !GivesOutputPolicy<Capsule>);
template <class T>
concept GivesConfig = requires {
  std::declval<T>().config();
};
static_assert(GivesConfig<const BaseCapsule&> && !GivesConfig<BaseCapsule>);
template <class T>
concept GivesText = requires {
  std::declval<T>().text("a");
};
static_assert(GivesText<const CapsuleFiles&> && !GivesText<CapsuleFiles>);
template <class T>
concept GivesElements = requires {
  std::declval<T>()["a"];
};
static_assert(GivesElements<const CapsuleFiles&> && !GivesElements<CapsuleFiles>);
template <class T>
concept GivesIterators = requires {
  std::declval<T>().begin(), std::declval<T>().end();
};
static_assert(GivesIterators<const DetectionNodes&> && GivesIterators<DetectionNodes&> &&
              !GivesIterators<DetectionNodes>);
template <class T>
concept GivesItems = requires {
  std::declval<T>().items();
};
static_assert(GivesItems<const JsonValue&> && !GivesItems<JsonValue>);
template <class T>
concept GivesMembers = requires {
  std::declval<T>().operator->();
};
static_assert(GivesMembers<JsonValue&> && GivesMembers<const JsonValue&> &&
              !GivesMembers<JsonValue> && !GivesMembers<const JsonValue>);
template <class T>
concept GivesSecret = requires {
  std::declval<T>().secret();
};
static_assert(GivesSecret<const EncryptionKey&> && !GivesSecret<EncryptionKey>);

TEST(Temporaries, CanBeIteratedOver) {
  const Pipeline pipeline({make_capsule(single_info("later", "person"), give_back),
                           make_detector("detector", "person")});
  std::string names;
  for (const auto& step : pipeline.plan().steps()) names += step.name + " ";
  EXPECT_EQ(names, "detector later ");
  const std::vector<Plan::LeftOut>& left_out = pipeline.plan().left_out();
  EXPECT_TRUE(left_out.empty());
}

TEST(Temporaries, GiveTheirNodesAway) {
  const auto detector = make_detector("detector", "person", 3);
  const Frame frame{.image = cv::Mat(8, 8, CV_8UC3), .index = 7};
  const DetectionNode& node = detector->process_frame(frame)[1];
  EXPECT_EQ(node.coords, node_at("person", 7, 20).coords);
  std::size_t count = 0;
  for (const DetectionNode& one : detector->process_frame(frame)) count += one.name == "person";
  EXPECT_EQ(count, 3u);
}

TEST(Temporaries, KeepTheirChainOfResizes) {
  const cv::Mat picture(40, 80, CV_8UC3, cv::Scalar::all(0));
  const Resize& resize = Resize(picture).fit_width(40).pad({50, 50}, cv::Point(1, 2));
  EXPECT_EQ(resize.image().size(), cv::Size(50, 50));
  EXPECT_EQ(resize.from_frame({0, 0}), cv::Point2d(1, 2));
}

}  // namespace
}  // namespace vcap::test
