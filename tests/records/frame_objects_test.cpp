// SPDX-License-Identifier: Apache-2.0
#include "records/frame_objects.hpp"

#include <gmock/gmock.h>

#include <filesystem>

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

const GivenObjects::Check kAll = [](const std::vector<DetectionNode>&) {};

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
        ObjectsFile{.path = path, .read = {}, .names = std::move(names)}, kAll);
  }
  static void end(FrameObjects& objects) {
    objects.finish([] { return false; });
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
  end(door);
  FrameObjects gate(given, "gate", std::nullopt);
  EXPECT_THAT(found(gate, frame_at(1)), ElementsAre("car"));
  end(gate);
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
  end(door);
  EXPECT_THAT(log_, ElementsAre(AllOf(HasSubstr("a.csv: 2 frames with objects of stream door"),
                                      HasSubstr("the first is frame 0"))));
  log_.clear();
  FrameObjects images(write("a.json", kCoco), "a", std::nullopt);
  EXPECT_THAT(found(images, frame_at(0, "a9.jpg")), ElementsAre("dog"));
  end(images);
  EXPECT_THAT(log_, ElementsAre(HasSubstr("1 frame with objects of stream a had no frame in the "
                                          "source and were left out, the first is frame 7 "
                                          "(pets/b7.jpg)")));
  log_.clear();
  FrameObjects none(read(folder_ / "a.json"), "a", std::nullopt);
  end(none);
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

TEST_F(FrameObjectsTest, ChecksEachObjectOnce) {
  std::size_t checked = 0;
  const auto check = [&](const std::vector<DetectionNode>& objects) {
    checked += objects.size();
    if (checked == 4) throw Error(ErrorCode::invalid_output, "this one is wrong");
  };
  const std::string path = folder_.write("a.csv", kCsv);
  expect_refused([&] { GivenObjects({.path = path}, check); }, "a.csv, frame 2: this one is wrong");
  EXPECT_EQ(checked, 4u);
}

TEST_F(FrameObjectsTest, RefusesWhatCannotBeReadTwice) {
  EXPECT_THAT([] { GivenObjects({.path = "/dev/null", .read = {RecordFormat::csv}}, kAll); },
              ThrowsError<SourceError>(ErrorCode::source_open, HasSubstr("read twice")));
}

// Ultralytics writes no label file for a frame without objects.
TEST_F(FrameObjectsTest, RefusesLabelsThatAreNotAsManyAsFrames) {
  folder_.write("yolo/classes.txt", "person\n");
  folder_.write("yolo/labels/clip_1.txt", "0 0.5 0.5 0.5 0.5\n");
  folder_.write("yolo/labels/clip_3.txt", "0 0.5 0.5 0.5 0.5\n");
  const auto given = std::make_shared<const GivenObjects>(
      ObjectsFile{.path = folder_ / "yolo", .read = {.frame_size = {16, 12}}}, kAll);
  const std::string stream = *given->streams().begin();
  FrameObjects more(given, stream, 3);
  expect_refused([&] { more.of(frame_at(0)); }, "labels of 2 frames, and the source has 3");
  FrameObjects unknown(given, stream, std::nullopt);
  expect_refused([&] { unknown.of(frame_at(0)); }, "the source has an unknown number");
  FrameObjects images(given, stream, 2);
  expect_refused([&] { images.of(frame_at(0, "clip_1.jpg")); },
                 "do not name the images of the source");
  FrameObjects as_many(given, stream, 2);
  EXPECT_THAT(found(as_many, frame_at(0)), ElementsAre("person"));
  EXPECT_THAT(found(as_many, frame_at(1)), ElementsAre("person"));
}

TEST_F(FrameObjectsTest, RefusesNamesOfImagesThatAreOnlyAPlaceInAVideo) {
  for (const char* const name : {"voc/Annotations/frame_10.xml", "voc/Annotations/frame_20.xml"})
    folder_.write(name,
                  "<annotation><filename>" + std::filesystem::path(name).stem().string() +
                      ".jpg</filename><size><width>16</width><height>12</height></size><object>"
                      "<name>cat</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>3</xmax>"
                      "<ymax>3</ymax></bndbox></object></annotation>");
  const auto given = read(folder_ / "voc");
  const std::string stream = *given->streams().begin();
  FrameObjects video(given, stream, 40);
  expect_refused([&] { video.of(frame_at(0)); }, "labels of 2 frames, and the source has 40");
  FrameObjects images(given, stream, 40);
  EXPECT_THAT(found(images, frame_at(0, "frame_20.jpg")), ElementsAre("cat"));
}

TEST_F(FrameObjectsTest, GivesAnImageItsObjectsInEachLap) {
  FrameObjects laps(write("a.json", kCoco), "a", std::nullopt);
  for (std::int64_t index = 0; index < 6; index += 2) {
    EXPECT_THAT(found(laps, frame_at(index, "a9.jpg")), ElementsAre("dog"));
    EXPECT_THAT(found(laps, frame_at(index + 1, "b7.jpg")), ElementsAre("cat"));
  }
  end(laps);
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(FrameObjectsTest, ChoosesAmongRecordsOfOneImageByTheirIndex) {
  FrameObjects laps(
      write("b.json", R"({"categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
        "images": [{"id": 1, "file_name": "1.jpg", "frame_index": 0},
                   {"id": 2, "file_name": "1.jpg", "frame_index": 1}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]},
                        {"id": 2, "image_id": 2, "category_id": 2, "bbox": [1, 2, 3, 4]}]})"),
      "b", std::nullopt);
  EXPECT_THAT(found(laps, frame_at(0, "1.jpg")), ElementsAre("cat"));
  EXPECT_THAT(found(laps, frame_at(1, "1.jpg")), ElementsAre("dog"));
}

TEST_F(FrameObjectsTest, RefusesARecordThatFitsTwoImages) {
  FrameObjects objects(write("a.json", kCoco), "a", std::nullopt);
  EXPECT_THAT(found(objects, frame_at(0, "x/a9.jpg")), ElementsAre("dog"));
  expect_refused([&] { objects.of(frame_at(1, "y/a9.jpg")); },
                 "image \"a9.jpg\" may be \"x/a9.jpg\" or \"y/a9.jpg\" of the source");
}

TEST_F(FrameObjectsTest, ReadsCocoOfFoldersWithTheSameNames) {
  FrameObjects objects(
      write("a.json", R"({"categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
        "images": [{"id": 1, "file_name": "a/1.jpg"}, {"id": 2, "file_name": "b/1.jpg"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]},
                        {"id": 2, "image_id": 2, "category_id": 2, "bbox": [1, 2, 3, 4]}]})"),
      "a", std::nullopt);
  EXPECT_THAT(found(objects, frame_at(0, "b/1.jpg")), ElementsAre("dog"));
  EXPECT_THAT(found(objects, frame_at(1, "a/1.jpg")), ElementsAre("cat"));
}

TEST_F(FrameObjectsTest, CountsFramesOfCocoFromTheGivenOne) {
  const auto given = std::make_shared<const GivenObjects>(
      ObjectsFile{.path = folder_.write("a.json", kCoco), .read = {.first_frame = 7}}, kAll);
  FrameObjects objects(given, "a", std::nullopt);
  EXPECT_THAT(found(objects, frame_at(0)), ElementsAre("cat"));
  EXPECT_THAT(found(objects, frame_at(2)), ElementsAre("dog"));
}

TEST_F(FrameObjectsTest, RefusesFramesOfAnotherTime) {
  const auto given = write("a.csv",
                           "frame_index,pts_ns,name,x,y,w,h\n0,0,person,1,2,3,4\n"
                           "1,1000000000,person,1,2,3,4\n2,80000000,person,1,2,3,4\n");
  FrameObjects objects(given, "a", std::nullopt);
  EXPECT_THAT(found(objects, frame_at(0)), ElementsAre("person"));
  Frame late = frame_at(1);
  late.pts = std::chrono::milliseconds(100);
  expect_refused([&] { objects.of(late); },
                 "frame 1: it has the time 1.0 s, and the frame of the source has 0.1 s");
  FrameObjects near(given, "a", std::nullopt);
  late.pts = std::chrono::milliseconds(700);
  EXPECT_THAT(found(near, late), ElementsAre("person"));
  Frame later = frame_at(2);
  later.pts = std::chrono::seconds(9);
  EXPECT_THAT(found(near, later), ElementsAre("person")) << "that time may be made up";
}

TEST_F(FrameObjectsTest, SaysThatNoFrameHadObjectsSoFar) {
  FrameObjects objects(write("a.csv", kCsv), "door", std::nullopt);
  objects.note_if_unused();
  EXPECT_THAT(found(objects, frame_at(1)), IsEmpty());
  objects.note_if_unused();
  EXPECT_THAT(log_, ElementsAre(HasSubstr("a.csv: it has no objects for the 1 frame of stream "
                                          "door so far")));
  EXPECT_THAT(found(objects, frame_at(2)), ElementsAre("person", "dog"));
  objects.note_if_unused();
  EXPECT_EQ(log_.size(), 1u);
}

}  // namespace
}  // namespace vcap::test
