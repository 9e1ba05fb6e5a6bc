// SPDX-License-Identifier: Apache-2.0
#include "records/frame_objects.hpp"

#include <gmock/gmock.h>

#include "support/temporary_folder.hpp"
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

constexpr const char* kCsv =
    "stream_id,frame_index,name,x,y,w,h,width,height\n"
    "door,0,person,1,2,3,4,16,12\n"
    "gate,1,car,1,2,3,4,16,12\n"
    "door,2,person,5,6,7,8,16,12\n"
    "door,2,dog,5,6,2,2,16,12\n";
constexpr const char* kCoco =
    R"({"categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
  "images": [{"id": 1, "file_name": "pets/b7.jpg"}, {"id": 2, "file_name": "a9.jpg"}],
  "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]},
                  {"id": 2, "image_id": 2, "category_id": 2, "bbox": [1, 2, 3, 4]}]})";

Frame frame_at(std::int64_t index, std::string source_file = "", cv::Size size = {16, 12}) {
  return {.image = cv::Mat(size, CV_8UC3), .index = index, .source_file = std::move(source_file)};
}

/// The names of the frame's objects.
std::vector<std::string> found(FrameObjects& objects, const Frame& frame) {
  std::vector<std::string> names;
  for (const DetectionNode& node : objects.of(frame)) names.push_back(node.name);
  return names;
}

class FrameObjectsTest : public testing::Test {
 protected:
  FrameObjectsTest() {
    set_log_hook([this](LogLevel, std::string_view text) { log_.emplace_back(text); });
  }
  ~FrameObjectsTest() override { set_log_hook({}); }

  std::shared_ptr<const GivenObjects> write(const std::string& name, const std::string& content,
                                            std::map<std::string, std::string> names = {}) const {
    return read(folder_.write(name, content), std::move(names));
  }
  static std::shared_ptr<const GivenObjects> read(const std::string& path,
                                                  std::map<std::string, std::string> names = {}) {
    return std::make_shared<const GivenObjects>(
        ObjectsFile{.path = path, .read = {}, .names = std::move(names)});
  }
  template <class Call>
  static void expect_refused(Call call, const std::string& why) {
    EXPECT_THAT(call, ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(why)));
  }

  const TemporaryFolder folder_;
  std::vector<std::string> log_;
};

TEST_F(FrameObjectsTest, GivesAFrameTheObjectsWithItsIndex) {
  const auto given = write("a.csv", kCsv);
  EXPECT_THAT(given->streams(), ElementsAre("door", "gate"));
  EXPECT_EQ(given->kept(), nullptr) << "CSV is read in constant memory";
  FrameObjects door(given, "door", std::nullopt);
  EXPECT_THAT(found(door, frame_at(0)), ElementsAre("person"));
  EXPECT_THAT(found(door, frame_at(1)), IsEmpty());
  EXPECT_THAT(found(door, frame_at(2)), ElementsAre("person", "dog"));
  EXPECT_THAT(found(door, frame_at(3)), IsEmpty());
  door.finish();
  FrameObjects gate(given, "gate", std::nullopt);
  EXPECT_THAT(found(gate, frame_at(1)), ElementsAre("car"));
  gate.finish();
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(FrameObjectsTest, TakesObjectsByNameAndRenamesThem) {
  const auto given = write("a.csv", kCsv, {{"person", "human"}, {"car", "car"}});
  EXPECT_THAT(given->nodes().detections, ElementsAre("car", "human"));
  FrameObjects door(given, "door", std::nullopt);
  EXPECT_THAT(found(door, frame_at(2)), ElementsAre("human"));
}

TEST_F(FrameObjectsTest, DescribesWhatObjectsHave) {
  const auto given = write(
      "a.jsonl",
      R"({"schema":"vcap.frame/1","stream_id":"s","frame_index":0,"pts_ns":0,"resolution":{"width":0,"height":0},"objects":[{"name":"person","coords":[[0,0],[1,0],[1,1]],"attributes":{"hat":"red"},"track_id":"deab8967-1000-4c72-8554-abefa052a169","extra_data":{"age":3},"children":[{"name":"face","coords":[[0,0],[1,0],[1,1]],"attributes":{"hat":"blue"},"encoding":[1,2],"keypoints":[{"name":"nose","x":1,"y":2}]}]}]})");
  const NodeDescription& nodes = given->nodes();
  EXPECT_EQ(nodes.size, NodeDescription::Size::all);
  EXPECT_THAT(nodes.detections, ElementsAre("face", "person"));
  EXPECT_THAT(nodes.attributes, ElementsAre(Pair("hat", ElementsAre("blue", "red"))));
  EXPECT_THAT(nodes.keypoints, ElementsAre("nose"));
  EXPECT_THAT(nodes.extra_data, ElementsAre("age"));
  EXPECT_TRUE(nodes.tracked);
  EXPECT_TRUE(nodes.encoded);
  const NodeDescription plain = write("b.csv", kCsv)->nodes();
  EXPECT_FALSE(plain.tracked || plain.encoded);
}

TEST_F(FrameObjectsTest, FindsImagesByTheirFiles) {
  const auto given = write("a.json", kCoco);
  EXPECT_THAT(given->streams(), ElementsAre("a"));
  FrameObjects by_file(given, "a", std::nullopt);
  EXPECT_THAT(found(by_file, frame_at(0, "a9.jpg")), ElementsAre("dog"));
  EXPECT_THAT(found(by_file, frame_at(1, "a8.jpg")), IsEmpty());
  EXPECT_THAT(found(by_file, frame_at(2, "b7.jpg")), ElementsAre("cat"));
  // Frames of a video have no files; the number in the file's name counts then.
  FrameObjects by_index(given, "a", std::nullopt);
  EXPECT_THAT(found(by_index, frame_at(7)), ElementsAre("cat"));
  EXPECT_THAT(found(by_index, frame_at(9)), ElementsAre("dog"));
}

TEST_F(FrameObjectsTest, TellsImagesOfOneNameApartByTheirFolders) {
  const auto given = write("b.json", R"({"categories": [{"id": 1, "name": "cat"}], "images": [
        {"id": 1, "file_name": "x/1.jpg", "frame_index": 0},
        {"id": 2, "file_name": "y/1.jpg", "frame_index": 1}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}]})");
  FrameObjects unclear(given, "b", std::nullopt);
  expect_refused([&] { unclear.of(frame_at(0, "1.jpg")); }, "\"x/1.jpg\" or \"y/1.jpg\"");
  FrameObjects clear(given, "b", std::nullopt);
  EXPECT_THAT(found(clear, frame_at(0, "y/1.jpg")), IsEmpty());
  EXPECT_THAT(found(clear, frame_at(1, "x/1.jpg")), ElementsAre("cat"));
}

TEST_F(FrameObjectsTest, SaysOnceWhatHadNoFrame) {
  const auto given = write("a.csv", kCsv);
  FrameObjects door(given, "door", std::nullopt);
  EXPECT_THAT(found(door, frame_at(1)), IsEmpty());
  door.finish();
  EXPECT_THAT(log_, ElementsAre(AllOf(HasSubstr("a.csv: 2 frames with objects of stream door"),
                                      HasSubstr("the first is frame 0"))));
  log_.clear();
  FrameObjects images(write("a.json", kCoco), "a", std::nullopt);
  EXPECT_THAT(found(images, frame_at(0, "a9.jpg")), ElementsAre("dog"));
  images.finish();
  EXPECT_THAT(log_, ElementsAre(HasSubstr("1 frame with objects of stream a had no frame in the "
                                          "source and were left out, the first is frame 7 "
                                          "(pets/b7.jpg)")));
  log_.clear();
  FrameObjects none(read(folder_ / "a.json"), "a", std::nullopt);
  none.finish();
  EXPECT_THAT(log_, ElementsAre(HasSubstr("2 frames with objects")));
}

TEST_F(FrameObjectsTest, GivesNullElementsNothing) {
  FrameObjects door(write("a.csv", kCsv), "door", std::nullopt);
  EXPECT_THAT(door.of({.index = 0, .is_null = true}), IsEmpty());
  EXPECT_THAT(found(door, frame_at(2)), ElementsAre("person", "dog"));
}

TEST_F(FrameObjectsTest, RefusesFramesOfAnotherSource) {
  FrameObjects small(write("a.csv", kCsv), "door", std::nullopt);
  expect_refused(
      [&] {
        small.of(frame_at(0, "", {32, 24}));
      },
      "a.csv, frame 0: it has 16 × 12 pixels, and the frame of the source has 32 × 24");
  FrameObjects other(write("b.csv",
                           "frame_index,name,x,y,w,h,source_file\n0,person,1,2,3,4,cat/1.jpg\n"
                           "1,person,1,2,3,4,2.jpg\n"),
                     "b", std::nullopt);
  EXPECT_THAT(found(other, frame_at(0, "1.jpg")), ElementsAre("person"));
  expect_refused([&] { other.of(frame_at(1, "22.jpg")); },
                 "frame 1 (2.jpg): the frame of the source is image \"22.jpg\"");
}

TEST_F(FrameObjectsTest, RefusesFramesThatAreNotInOrder) {
  const auto out_of_order = write("a.csv",
                                  "frame_index,name,x,y,w,h\n4,person,1,2,3,4\n"
                                  "2,person,1,2,3,4\n");
  FrameObjects objects(out_of_order, "a", std::nullopt);
  expect_refused([&] { objects.of(frame_at(5)); }, "frame 2 comes after frame 4");
  const auto again = write("b.csv",
                           "frame_index,name,x,y,w,h\n4,person,1,2,3,4\n5,person,1,2,3,4\n"
                           "4,person,1,2,3,4\n");
  FrameObjects twice(again, "b", std::nullopt);
  EXPECT_THAT(found(twice, frame_at(4)), ElementsAre("person"));
  expect_refused([&] { twice.of(frame_at(6)); }, "frame 4 comes after frame 5");
}

TEST_F(FrameObjectsTest, RefusesFilesThatSayTooLittle) {
  expect_refused([&] { write("a.csv", "frame_index,name,x,y,w,h\n3,,,,,\n"); },
                 "a.csv: it has no objects");
  expect_refused(
      [&] {
        write("b.csv", kCsv, {{"cat", "cat"}});
      },
      "no objects with a name that is taken; it has those with \"car\", \"dog\", "
      "\"person\"");
  expect_refused([&] { write("c.csv", "group,frame_index,name,x,y,w,h\n3,0,person,1,2,3,4\n"); },
                 "c.csv, frame 0: it is of group 3");
}

// Ultralytics writes no label file for a frame without objects.
TEST_F(FrameObjectsTest, RefusesLabelsThatAreNotAsManyAsFrames) {
  folder_.write("yolo/classes.txt", "person\n");
  folder_.write("yolo/labels/clip_1.txt", "0 0.5 0.5 0.5 0.5\n");
  folder_.write("yolo/labels/clip_3.txt", "0 0.5 0.5 0.5 0.5\n");
  const auto given = std::make_shared<const GivenObjects>(
      ObjectsFile{.path = folder_ / "yolo", .read = {.frame_size = {16, 12}}});
  const std::string stream = *given->streams().begin();
  expect_refused([&] { FrameObjects(given, stream, 3); },
                 "labels of 2 frames, and the source has 3");
  FrameObjects as_many(given, stream, 2);
  EXPECT_THAT(found(as_many, frame_at(1)), ElementsAre("person"));
}

}  // namespace
}  // namespace vcap::test
