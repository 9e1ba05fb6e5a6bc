// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <random>

#include <nlohmann/json.hpp>

#include "examples/examples.hpp"

namespace {

using Ids = std::vector<vcap::Uuid>;

Ids ids_of(const vcap::DetectionNodes& persons) {
  Ids ids;
  for (const vcap::DetectionNode& node : persons) ids.push_back(node.track_id.value());
  return ids;
}

/// Sends a stream through the tracker, one frame at a time, 25 frames a second.
class Stream {
 public:
  Stream(std::shared_ptr<vcap::Capsule> capsule, std::string id)
      : capsule_(std::move(capsule)), id_(std::move(id)), options_(capsule_->default_options()) {}

  vcap::OptionValues& options() { return options_; }

  vcap::DetectionNodes show_nodes(vcap::DetectionNodes persons,
                                  vcap::Discontinuity discontinuity = vcap::Discontinuity::none) {
    const vcap::Frame frame{.image = image_,
                            .index = index_,
                            .pts = std::chrono::milliseconds(40 * index_),
                            .discontinuity = discontinuity};
    ++index_;
    return capsule_->process_frame(frame, std::move(persons), options_, id_);
  }

  Ids show(const std::vector<cv::Rect2d>& boxes,
           vcap::Discontinuity discontinuity = vcap::Discontinuity::none) {
    vcap::DetectionNodes persons = vcap::DetectionNodes::all();
    for (const cv::Rect2d& box : boxes) persons.add(examples::person(box));
    return ids_of(show_nodes(std::move(persons), discontinuity));
  }

  Ids show_sure(const cv::Rect2d& box, double confidence) {
    vcap::DetectionNode node = examples::person(box);
    node.extra_data["detection_confidence"] = confidence;
    return ids_of(show_nodes(vcap::DetectionNodes::all({node})));
  }

  void show_nobody(int frames) {
    for (int i = 0; i < frames; ++i) EXPECT_TRUE(show({}).empty());
  }

 private:
  std::shared_ptr<vcap::Capsule> capsule_;
  std::string id_;
  vcap::OptionValues options_;
  std::int64_t index_ = 0;
  cv::Mat image_{576, 768, CV_8UC3, cv::Scalar::all(0)};
};

const cv::Rect2d kSomebody(100, 100, 60, 120);
const cv::Rect2d kSomebodyElse(400, 100, 60, 120);

class TrackerPerson : public testing::Test {
 protected:
  std::shared_ptr<vcap::Capsule> capsule_ = examples::load("tracker_person");
  Stream stream_{capsule_, "entrance"};
};

TEST_F(TrackerPerson, KeepsTheIdsOfPersonsWhoMove) {
  const Ids first = stream_.show({kSomebody, kSomebodyElse});
  EXPECT_NE(first[0], first[1]);
  for (int step = 1; step <= 20; ++step) {
    const cv::Point2d way(8.0 * step, 3.0 * step);
    EXPECT_EQ(stream_.show({kSomebody + way, kSomebodyElse + way}), first) << "step " << step;
  }
}

TEST_F(TrackerPerson, KeepsIdsInAnyOrderOfDetections) {
  const Ids first = stream_.show({kSomebody, kSomebodyElse});
  EXPECT_EQ(stream_.show({kSomebodyElse, kSomebody}), (Ids{first[1], first[0]}));
}

TEST_F(TrackerPerson, KeepsAnIdForASecondAndAHalf) {
  const Ids before = stream_.show({kSomebody});
  stream_.show_nobody(36);
  EXPECT_EQ(stream_.show({kSomebody}), before);
  stream_.show_nobody(36);
  EXPECT_EQ(stream_.show({kSomebody}), before) << "the time since the last sight begins again";
  stream_.show_nobody(38);
  EXPECT_NE(stream_.show({kSomebody}), before);
}

TEST_F(TrackerPerson, ForgetsPersonsAfterTheTimeOfItsOption) {
  stream_.options().set("max_lost", 0.1);
  const Ids before = stream_.show({kSomebody});
  stream_.show_nobody(1);
  EXPECT_EQ(stream_.show({kSomebody}), before);
  stream_.show_nobody(3);
  EXPECT_NE(stream_.show({kSomebody}), before);
}

TEST_F(TrackerPerson, GivesANewIdToAPersonElsewhere) {
  const Ids before = stream_.show({kSomebody});
  EXPECT_NE(stream_.show({kSomebodyElse}), before);
}

TEST_F(TrackerPerson, RequiresTheOverlapOfItsOption) {
  const cv::Point2d half_a_width(30, 0);
  const Ids before = stream_.show({kSomebody});
  stream_.options().set("min_iou", 0.8);
  EXPECT_NE(stream_.show({kSomebody + half_a_width}), before);
  stream_.options().set("min_iou", 0.2);
  const Ids second = stream_.show({kSomebody + half_a_width * 2});
  EXPECT_EQ(stream_.show({kSomebody + half_a_width * 3}), second);
}

// The best single pair is (second before, first now), but then the other two overlap too little.
TEST_F(TrackerPerson, PairsPersonsForTheGreatestTotalOverlap) {
  const Ids before = stream_.show({{100, 100, 60, 120}, {124, 100, 60, 120}});
  EXPECT_EQ(stream_.show({{114, 100, 60, 120}, {138, 100, 60, 120}}), before);
}

TEST_F(TrackerPerson, WaitsForASecondDetectionOfAnUnsurePerson) {
  EXPECT_TRUE(stream_.show_sure(kSomebody, 0.6).empty());
  const Ids second = stream_.show_sure(kSomebody, 0.6);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(stream_.show_sure(kSomebody, 0.2), second) << "an unsure detection of a known person";
  stream_.options().set("confirm_at_once", 0.5);
  EXPECT_EQ(stream_.show_sure(kSomebodyElse, 0.6).size(), 1u);
}

TEST_F(TrackerPerson, SmoothsTheBoxAndKeepsThatOfTheDetector) {
  stream_.show({kSomebody});
  vcap::DetectionNode moved = examples::person(kSomebody + cv::Point2d(10, 0));
  moved.attributes["upper_color"] = "red";
  moved.extra_data["detection_confidence"] = 0.9;
  const vcap::DetectionNodes tracked = stream_.show_nodes(vcap::DetectionNodes::all({moved}));
  EXPECT_EQ(tracked[0].detection_bbox, moved.bbox());
  EXPECT_GT(tracked[0].bbox().x1, 100);
  EXPECT_LT(tracked[0].bbox().x1, 110);
  EXPECT_EQ(tracked[0].attributes, moved.attributes);
  EXPECT_EQ(tracked[0].extra_data, moved.extra_data);
}

TEST_F(TrackerPerson, GivesPredictedBoxesForTheTimeOfItsOption) {
  stream_.options().set("emit_lost_for", 0.1);
  const Ids first = stream_.show({kSomebody});
  for (int i = 0; i < 2; ++i) {
    const vcap::DetectionNodes predicted = stream_.show_nodes(vcap::DetectionNodes::all());
    EXPECT_EQ(ids_of(predicted), first);
    EXPECT_EQ(predicted[0].extra_data.at("predicted"), true);
    EXPECT_EQ(predicted[0].detection_bbox, std::nullopt);
  }
  stream_.show_nobody(1);
}

TEST_F(TrackerPerson, PredictsNobodyOutsideThePicture) {
  stream_.options().set("emit_lost_for", 1.0);
  for (int x = 0; x <= 80; x += 8) stream_.show({{720.0 + x, 100, 60, 120}});
  stream_.show_nobody(3);
}

TEST_F(TrackerPerson, DistinguishesPersonsByTheirEncodings) {
  const auto look = [&](const cv::Rect2d& red, const cv::Rect2d& blue) {
    vcap::DetectionNode one = examples::person(red), other = examples::person(blue);
    one.encoding = {1, 0};
    other.encoding = {0, 1};
    return ids_of(stream_.show_nodes(vcap::DetectionNodes::all({one, other})));
  };
  const cv::Rect2d beside = kSomebody + cv::Point2d(80, 0);
  const Ids before = look(kSomebody, beside);
  stream_.show_nobody(25);
  EXPECT_EQ(look(beside, kSomebody), before)
      << "the persons changed places while they were not seen";
}

TEST_F(TrackerPerson, StartsAgainAfterADiscontinuity) {
  const Ids before = stream_.show({kSomebody});
  for (const auto discontinuity : {vcap::Discontinuity::gap, vcap::Discontinuity::seek,
                                   vcap::Discontinuity::reconnect, vcap::Discontinuity::loop})
    EXPECT_NE(stream_.show({kSomebody}, discontinuity), before);
}

TEST_F(TrackerPerson, NeverGivesOneIdInTwoStreams) {
  Stream other(capsule_, "exit");
  const Ids here = stream_.show({kSomebody, kSomebodyElse});
  const Ids there = other.show({kSomebody, kSomebodyElse});
  for (const vcap::Uuid& id : there) EXPECT_THAT(here, testing::Not(testing::Contains(id)));
}

TEST_F(TrackerPerson, GivesTheSameIdsInEveryRunOfAStream) {
  Stream again(examples::load("tracker_person"), "entrance");
  EXPECT_EQ(stream_.show({kSomebody, kSomebodyElse}), again.show({kSomebody, kSomebodyElse}));
}

/// The persons of one stream, who move at random, come and go.
std::vector<vcap::DetectionNodes> wanderers(unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<cv::Rect2d> places;
  for (int i = 0; i < 6; ++i)
    places.emplace_back(600 * share(engine), 400 * share(engine), 60, 120);
  std::vector<vcap::DetectionNodes> frames;
  for (int frame = 0; frame < 40; ++frame) {
    frames.push_back(vcap::DetectionNodes::all());
    for (cv::Rect2d& place : places) {
      place += cv::Point2d(10 * share(engine) - 5, 6 * share(engine) - 3);
      if (share(engine) < 0.2) continue;
      frames.back().add(examples::person(place));
    }
  }
  return frames;
}

TEST_F(TrackerPerson, GivesTheSameForInterleavedStreamsAsForEachAlone) {
  constexpr unsigned kStreams = 4;
  std::vector<std::vector<vcap::DetectionNodes>> alone(kStreams);
  for (unsigned s = 0; s < kStreams; ++s) {
    Stream stream(examples::load("tracker_person"), std::to_string(s));
    for (vcap::DetectionNodes& nodes : wanderers(s))
      alone[s].push_back(stream.show_nodes(std::move(nodes)));
  }
  std::vector<Stream> streams;
  for (unsigned s = 0; s < kStreams; ++s) streams.emplace_back(capsule_, std::to_string(s));
  for (std::size_t frame = 0; frame < alone[0].size(); ++frame)
    for (unsigned s = 0; s < kStreams; ++s)
      EXPECT_EQ(streams[s].show_nodes(wanderers(s)[frame]), alone[s][frame])
          << "stream " << s << ", frame " << frame;
}

TEST_F(TrackerPerson, ContinuesFromAStateThatAnotherVersionSaved) {
  const Ids before = stream_.show({kSomebody});
  const nlohmann::json saved = capsule_->save_state("entrance");
  const auto newer = examples::load("tracker_person");
  newer->open_stream({.id = "entrance", .seed = 7, .saved = saved, .saved_by = 1});
  Stream again(newer, "entrance");
  const Ids both = again.show({kSomebody, kSomebodyElse});
  EXPECT_EQ(both[0], before[0]);
  EXPECT_EQ(both[1], stream_.show({kSomebody, kSomebodyElse})[1])
      << "the random numbers do not continue";
}

TEST_F(TrackerPerson, ReplacesIdsThatAnotherTrackerGave) {
  const vcap::Uuid foreign = vcap::Uuid::random();
  vcap::DetectionNode node = examples::person(kSomebody);
  node.track_id = foreign;
  const vcap::DetectionNodes tracked =
      capsule_->process_frame({.image = cv::Mat(8, 8, CV_8UC3, cv::Scalar::all(0))},
                              vcap::DetectionNodes::all({node}), {}, "replay");
  EXPECT_NE(tracked[0].track_id.value(), foreign);
}

}  // namespace
