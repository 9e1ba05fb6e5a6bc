// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "examples/examples.hpp"

namespace {

using Ids = std::vector<vcap::Uuid>;

/// A stream through the tracker, frame after frame.
class Stream {
 public:
  Stream(std::shared_ptr<vcap::Capsule> capsule, std::string id)
      : capsule_(std::move(capsule)), id_(std::move(id)), options_(capsule_->default_options()) {}

  vcap::OptionValues& options() { return options_; }

  Ids show(const std::vector<cv::Rect2d>& boxes,
           vcap::Discontinuity discontinuity = vcap::Discontinuity::none) {
    vcap::DetectionNodes persons = vcap::DetectionNodes::all();
    for (const cv::Rect2d& box : boxes) persons.add(examples::person(box));
    const vcap::Frame frame{.image = image_, .index = index_++, .discontinuity = discontinuity};
    Ids ids;
    for (const vcap::DetectionNode& node :
         capsule_->process_frame(frame, std::move(persons), options_, id_))
      ids.push_back(node.track_id.value());
    return ids;
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

TEST_F(TrackerPerson, KeepsIdsWhateverTheOrderOfDetections) {
  const Ids first = stream_.show({kSomebody, kSomebodyElse});
  EXPECT_EQ(stream_.show({kSomebodyElse, kSomebody}), (Ids{first[1], first[0]}));
}

TEST_F(TrackerPerson, KeepsAnIdThroughFiveMissedFrames) {
  const Ids before = stream_.show({kSomebody});
  stream_.show_nobody(5);
  EXPECT_EQ(stream_.show({kSomebody}), before);
  stream_.show_nobody(5);
  EXPECT_EQ(stream_.show({kSomebody}), before) << "having been seen counts from anew";
}

TEST_F(TrackerPerson, ForgetsAfterSixMissedFrames) {
  const Ids before = stream_.show({kSomebody});
  stream_.show_nobody(6);
  EXPECT_NE(stream_.show({kSomebody}), before);
}

TEST_F(TrackerPerson, ForgetsAsSoonAsItsOptionSays) {
  stream_.options().set("max_missed_frames", 1);
  const Ids before = stream_.show({kSomebody});
  stream_.show_nobody(1);
  EXPECT_EQ(stream_.show({kSomebody}), before);
  stream_.show_nobody(2);
  EXPECT_NE(stream_.show({kSomebody}), before);
}

TEST_F(TrackerPerson, GivesANewIdToWhomStandsElsewhere) {
  const Ids before = stream_.show({kSomebody});
  EXPECT_NE(stream_.show({kSomebodyElse}), before);
}

TEST_F(TrackerPerson, AsksForTheOverlapThatItsOptionSays) {
  const cv::Point2d half_a_width(30, 0);  // overlap 30/90
  const Ids before = stream_.show({kSomebody});
  stream_.options().set("min_iou", 0.4);
  EXPECT_NE(stream_.show({kSomebody + half_a_width}), before);
  stream_.options().set("min_iou", 0.3);
  const Ids second = stream_.show({kSomebody + half_a_width});
  EXPECT_EQ(stream_.show({kSomebody + half_a_width * 2}), second);
}

// The best single pair is (second before, first now), but then nothing is left for the others.
TEST_F(TrackerPerson, PairsPersonsSoThatTheWholeOverlapsMost) {
  const Ids before = stream_.show({{100, 100, 60, 120}, {124, 100, 60, 120}});
  EXPECT_EQ(stream_.show({{122, 100, 60, 120}, {148, 100, 60, 120}}), before);
}

TEST_F(TrackerPerson, StartsAfreshAfterADiscontinuity) {
  const Ids before = stream_.show({kSomebody});
  for (const auto discontinuity : {vcap::Discontinuity::gap, vcap::Discontinuity::seek,
                                   vcap::Discontinuity::reconnect, vcap::Discontinuity::loop})
    EXPECT_NE(stream_.show({kSomebody}, discontinuity), before);
}

TEST_F(TrackerPerson, NeverGivesAnIdInTwoStreams) {
  Stream other(capsule_, "exit");
  const Ids here = stream_.show({kSomebody, kSomebodyElse});
  const Ids there = other.show({kSomebody, kSomebodyElse});
  for (const vcap::Uuid& id : there) EXPECT_THAT(here, testing::Not(testing::Contains(id)));
}

TEST_F(TrackerPerson, GivesTheSameIdsInEveryRunOfAStream) {
  Stream again(examples::load("tracker_person"), "entrance");
  EXPECT_EQ(stream_.show({kSomebody, kSomebodyElse}), again.show({kSomebody, kSomebodyElse}));
}

TEST_F(TrackerPerson, GoesOnFromWhatAnotherVersionSaved) {
  const Ids before = stream_.show({kSomebody});
  const nlohmann::json saved = capsule_->save_state("entrance");
  const auto newer = examples::load("tracker_person");
  newer->open_stream({.id = "entrance", .seed = 7, .saved = saved, .saved_by = 1});
  Stream again(newer, "entrance");
  const Ids both = again.show({kSomebody, kSomebodyElse});
  EXPECT_EQ(both[0], before[0]);
  EXPECT_EQ(both[1], stream_.show({kSomebody, kSomebodyElse})[1]) << "chance goes on too";
}

TEST_F(TrackerPerson, ReplacesIdsThatAnotherTrackerGave) {
  const vcap::Uuid foreign = vcap::Uuid::random();
  vcap::DetectionNode node = examples::person(kSomebody);
  node.track_id = foreign;
  const vcap::DetectionNodes tracked =
      capsule_->process_frame({}, vcap::DetectionNodes::all({node}), {}, "replay");
  EXPECT_NE(tracked[0].track_id.value(), foreign);
}

}  // namespace
