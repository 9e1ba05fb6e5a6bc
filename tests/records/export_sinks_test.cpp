// SPDX-License-Identifier: Apache-2.0
#include "vcap/records/export_sinks.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>

#include "records/export_names.hpp"
#include "records/export_records.hpp"
#include "support/file_size_limit.hpp"
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
using testing::Not;

FrameRecord exported(std::int64_t index, std::vector<DetectionNode> objects) {
  FrameRecord record{.stream_id = "cam", .resolution = {100, 50}, .objects = std::move(objects)};
  record.frame.index = index;
  record.frame.pts = std::chrono::milliseconds(40) * index;
  return record;
}

DetectionNode person(double x, double y, double w, double h) {
  return {.name = "person", .coords = rect_to_coords(BoundingBox{x, y, x + w, y + h})};
}

/// The messages that are logged while it lives.
class LoggedText {
 public:
  LoggedText() {
    set_log_hook([this](LogLevel, std::string_view text) { (text_ += text) += '\n'; });
  }
  ~LoggedText() { set_log_hook({}); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

TEST(CocoSink, WritesImagesAnnotationsAndCategories) {
  const TemporaryFolder folder;
  DetectionNode found = person(10, 5, 20, 8);
  found.extra_data["confidence"] = 0.75;
  found.attributes = {{"color", "red"}};
  std::mt19937_64 engine(1);
  found.track_id = Uuid::random(engine);
  found.children = {{.name = "face", .coords = {{12, 6}, {16, 6}, {14, 10}}}};
  write_all_records(*make_coco_sink(folder / "a.json"), {exported(0, {}), exported(1, {found})});
  const auto json = nlohmann::json::parse(read_file(folder / "a.json"));
  EXPECT_EQ(json.at("images").size(), 2);
  EXPECT_EQ(json.at("images")[1].at("file_name"), "cam-000000001.jpg");
  EXPECT_EQ(json.at("images")[1].at("width"), 100);
  const auto& person = json.at("annotations")[0];
  EXPECT_EQ(person.at("image_id"), 2);
  EXPECT_EQ(person.at("bbox"), nlohmann::json({10.0, 5.0, 20.0, 8.0}));
  EXPECT_EQ(person.at("area"), 160.0);
  EXPECT_EQ(person.at("score"), 0.75);
  EXPECT_EQ(person.at("track_id"), 1);
  EXPECT_EQ(person.at("attributes").at("color"), "red");
  const auto& face = json.at("annotations")[1];
  EXPECT_EQ(face.at("area"), 8.0);
  EXPECT_EQ(face.at("parent_id"), person.at("id"));
  EXPECT_EQ(face.at("segmentation"), nlohmann::json::parse("[[12.0,6.0,16.0,6.0,14.0,10.0]]"));
  EXPECT_EQ(json.at("categories")[1].at("name"), "face");
}

TEST(MotSink, CountsFramesTracksAndClassesFromOne) {
  const TemporaryFolder folder;
  DetectionNode found = person(1.5, 2, 3, 4);
  found.track_id = Uuid::parse("f81d4fae-7dec-41d0-a765-00a0c91e6bf6");
  found.extra_data["detection_confidence"] = 0.5;
  DetectionNode car = person(5, 6, 7, 8);
  car.name = "car";
  write_all_records(*make_mot_sink(folder / "mot"), {exported(0, {found}), exported(1, {car})});
  EXPECT_EQ(read_file(folder / "mot/gt/gt.txt"), "1,1,1.5,2,3,4,0.5,1,-1\n2,-1,5,6,7,8,1,2,-1\n");
  EXPECT_EQ(read_file(folder / "mot/gt/labels.txt"), "person\ncar\n");
  EXPECT_EQ(read_file(folder / "mot/seqinfo.ini"),
            "[Sequence]\nname=cam\nframeRate=25\nseqLength=2\nimWidth=100\nimHeight=50\n");
}

TEST(MotSink, RefusesASecondStream) {
  const TemporaryFolder folder;
  const auto sink = make_mot_sink(folder / "a.txt");
  sink->write(exported(0, {}));
  FrameRecord other = exported(1, {});
  other.stream_id = "door";
  EXPECT_THAT([&] { sink->write(other); },
              ThrowsError<OutputError>(ErrorCode::output_write,
                                       AllOf(HasSubstr("\"cam\""), HasSubstr("\"door\""))));
}

TEST(YoloSink, WritesPartsOfTheFrame) {
  const TemporaryFolder folder;
  DetectionNode found = person(10, 5, 20, 10);
  found.extra_data["confidence"] = 0.5;
  FrameRecord named = exported(1, {});
  named.frame.source_file = "cat/7.png";
  write_all_records(*make_yolo_sink(folder / "a"), {exported(0, {found}), named});
  EXPECT_EQ(read_file(folder / "a/labels/cam-000000000.txt"), "0 0.2 0.2 0.2 0.2 0.5\n");
  EXPECT_EQ(read_file(folder / "a/labels/cat/7.txt"), "");
  EXPECT_THAT(read_file(folder / "a/data.yaml"), HasSubstr("names:\n  0: \"person\"\n"));
}

TEST(YoloSink, EscapesWhatYamlDoesNotAllow) {
  const TemporaryFolder folder;
  DetectionNode found = person(1, 2, 3, 4);
  found.name = "\x7f \xc2\x85 \xe2\x80\xa8 \xef\xbf\xbe \n";
  write_all_records(*make_yolo_sink(folder / "a"), {exported(0, {found})});
  EXPECT_THAT(read_file(folder / "a/data.yaml"),
              HasSubstr("  0: \"\\u007f \\u0085 \\u2028 \\ufffe \\n\"\n"));
  EXPECT_EQ(read_all_records(folder / "a").at(0).objects.at(0).name, found.name);
}

TEST(VocSink, WritesWholePixelsFromOne) {
  const TemporaryFolder folder;
  DetectionNode found = person(10.5, 0, 20, 60);
  found.name = "a<b>&\"c\"";
  found.attributes = {{"color", "red"}};
  write_all_records(*make_voc_sink(folder / "a"), {exported(0, {found})});
  EXPECT_EQ(read_file(folder / "a/Annotations/cam-000000000.xml"),
            "<annotation>\n<folder>cam</folder>\n<filename>cam-000000000.jpg</filename>\n<size>\n"
            "<width>100</width>\n<height>50</height>\n<depth>3</depth>\n</size>\n"
            "<segmented>0</segmented>\n<object>\n<name>a&lt;b&gt;&amp;&quot;c&quot;</name>\n"
            "<pose>Unspecified</pose>\n<truncated>1</truncated>\n<difficult>0</difficult>\n"
            "<bndbox>\n<xmin>11</xmin>\n<ymin>1</ymin>\n<xmax>31</xmax>\n<ymax>50</ymax>\n"
            "</bndbox>\n<attributes>\n<attribute>\n<name>color</name>\n<value>red</value>\n"
            "</attribute>\n</attributes>\n</object>\n</annotation>\n");
}

TEST(CsvSink, WritesARowForEachNodeAndForEachFrameWithoutNodes) {
  const TemporaryFolder folder;
  DetectionNode found = person(1, 2, 3, 4);
  found.children = {{.name = "face, \"left\""}};
  write_all_records(*make_csv_sink(folder / "a.csv"), {exported(0, {found}), exported(1, {})});
  EXPECT_EQ(read_file(folder / "a.csv"),
            "stream_id,group,frame_index,pts_ns,discontinuity,null,width,height,source_file,node,"
            "name,x,y,w,h,coords,track_id,confidence,attributes,detection_bbox,keypoints,encoding,"
            "extra_data\n"
            "cam,,0,0,,,100,50,,0,person,1,2,3,4,\"[[1.0,2.0],[4.0,2.0],[4.0,6.0],[1.0,6.0]]\""
            ",,,,,,,\n"
            "cam,,0,0,,,100,50,,0.0,\"face, \"\"left\"\"\",,,,,,,,,,,,\n"
            "cam,,1,40000000,,,100,50,,,,,,,,,,,,,,,\n");
}

TEST(CropSink, WritesThePixelsOfNodesAndTheirChildren) {
  const TemporaryFolder folder;
  FrameRecord record = exported(4, {person(10, 5, 20, 10), person(200, 5, 20, 10)});
  record.frame.image = cv::Mat(50, 100, CV_8UC3, cv::Scalar(10, 20, 30));
  record.objects[0].children = {person(12, 6, 4, 4)};
  const LoggedText logged;
  write_all_records(*make_crop_sink(folder / "a", {.png = true}), {record});
  const cv::Mat crop = cv::imread(folder / "a/cam/000000004-0-person.png");
  EXPECT_EQ(crop.size(), cv::Size(20, 10));
  EXPECT_EQ(crop.at<cv::Vec3b>(3, 3), cv::Vec3b(10, 20, 30));
  EXPECT_EQ(read_file(folder / "a/labels.csv"),
            "file,label\ncam/000000004-0-person.png,person\ncam/000000004-0-0-person.png,person\n");
  EXPECT_THAT(logged.text(), HasSubstr("nodes without pixels in the frame: 1"));
}

TEST(CropSink, RefusesAQualityOutOfRange) {
  const TemporaryFolder folder;
  EXPECT_THAT(
      [&] { make_crop_sink(folder / "a", {.quality = 0}); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("from 1 to 100")));
}

TEST(ExportSinks, SayOnceWhatTheFormatDoesNotHold) {
  const TemporaryFolder folder;
  DetectionNode found = person(1, 2, 3, 4);
  found.attributes = {{"color", "red"}};
  found.encoding = {0.5F};
  const LoggedText logged;
  write_all_records(*make_mot_sink(folder / "a"),
                    {exported(0, {found, found}), exported(1, {found})});
  EXPECT_EQ(logged.text(), "output " + std::string(folder / "a") +
                               ": MOT does not hold attributes (objects): 3, encoding: 3, unknown "
                               "confidence, for which 1 is written (objects): 3\n");
}

using MakeSink = std::unique_ptr<Sink> (*)(const std::string&);
const std::vector<std::pair<std::string, MakeSink>> kExportSinks{
    {"a.json", make_coco_sink},
    {"a.csv", make_csv_sink},
    {"a.txt", make_mot_sink},
    {"mot", make_mot_sink},
    {"yolo", [](const std::string& path) { return make_yolo_sink(path); }},
    {"voc", make_voc_sink},
    {"crops", [](const std::string& path) { return make_crop_sink(path); }}};

TEST(ExportSinks, LeaveNothingUnderTheFinalNameUntilTheyAreClosed) {
  for (const auto& [name, make] : kExportSinks) {
    const TemporaryFolder folder;
    {
      const auto sink = make(folder / name);
      FrameRecord record = exported(0, {person(1, 2, 30, 40)});
      record.frame.image = cv::Mat(50, 100, CV_8UC3, cv::Scalar::all(0));
      sink->write(record);
      EXPECT_FALSE(std::filesystem::exists(folder / name)) << name;
    }
    const std::vector<std::string> left = name == "a.csv" || name == "a.txt"
                                              ? std::vector{name + ".part"}
                                              : std::vector<std::string>();
    EXPECT_EQ(folder.names(), left) << name;
  }
}

TEST(ExportSinks, ReportAFullDisk) {
  for (const auto& [name, make] : kExportSinks) {
    if (name == "crops" || name == "voc" || name == "yolo") continue;  // many small files
    const TemporaryFolder folder;
    const auto sink = make(folder / name);
    const FileSizeLimit limit(4000);
    EXPECT_THAT(
        [&] {
          for (int i = 0; i < 1000; ++i) sink->write(exported(i, {person(1, 2, 30, 40)}));
          sink->close();
        },
        ThrowsError<OutputError>(ErrorCode::output_write, Not(IsEmpty())))
        << name;
    EXPECT_THAT([&] { sink->close(); },
                ThrowsError<OutputError>(ErrorCode::output_write, HasSubstr("incomplete")))
        << name;
    EXPECT_FALSE(std::filesystem::exists(folder / name)) << name;
  }
}

TEST(ExportSinks, GoOnAfterARecordThatDidNotFitIfLossesAreAllowed) {
  for (const auto& [name, make] : kExportSinks) {
    if (name != "a.csv" && name != "a.txt" && name != "mot" && name != "a.json") continue;
    const TemporaryFolder folder;
    const auto sink = make(folder / name);
    sink->allow_losses();
    sink->write(exported(0, {person(1, 2, 30, 40)}));
    {
      const FileSizeLimit limit(1);
      EXPECT_THROW(sink->write(exported(1, {person(1, 2, 30, 40)})), OutputError) << name;
    }
    sink->write(exported(2, {person(1, 2, 30, 40)}));
    sink->close();
    std::size_t objects = 0;
    for (const FrameRecord& record : read_all_records(folder / name))
      objects += record.objects.size();
    EXPECT_EQ(objects, 2) << name;
  }
}

const std::vector<std::string> kHostileNames{"../../evil",
                                             "/etc/passwd",
                                             "..",
                                             ".",
                                             "",
                                             std::string("a\0b", 3),
                                             "a\nb,c\"d",
                                             "<x>&y",
                                             "\xff\xfe\x80",
                                             std::string(5000, 'x'),
                                             "a/../../b",
                                             ".hidden",
                                             "con\\trol",
                                             "-rf",
                                             "$(reboot)"};

/// All files and folders below, as paths.
std::vector<std::filesystem::path> all_below(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    paths.push_back(entry.path());
  return paths;
}

TEST(ExportSinks, HostileNamesLeadToNoFileOutside) {
  for (const auto& [name, make] : kExportSinks) {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "in");
    const auto sink = make(folder / "in" / name);
    std::int64_t index = 0;
    for (const std::string& hostile : kHostileNames) {
      FrameRecord record = exported(index++, {person(1, 2, 30, 40)});
      record.frame.image = cv::Mat(50, 100, CV_8UC3, cv::Scalar::all(0));
      record.objects[0].name = hostile;
      record.objects[0].attributes = {{hostile, hostile}};
      record.frame.source_file = hostile;
      if (!name.starts_with("mot") && name != "a.txt") record.stream_id = hostile;
      sink->write(record);
    }
    sink->close();
    EXPECT_THAT(folder.names(), ElementsAre("in")) << name;
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "in"), {}), 1) << name;
    for (const auto& path : all_below(folder / "in"))
      EXPECT_LE(path.filename().native().size(), 200) << path;
  }
}

TEST(ExportSinks, HostileNamesAreReadBackAsText) {
  const TemporaryFolder folder;
  std::vector<FrameRecord> records;
  for (const std::string& hostile : kHostileNames) {
    if (hostile.starts_with('\xff')) continue;  // becomes U+FFFD
    records.push_back(exported(static_cast<std::int64_t>(records.size()), {person(1, 2, 30, 40)}));
    records.back().objects[0].name = hostile;
  }
  write_all_records(*make_coco_sink(folder / "a.json"), records);
  write_all_records(*make_csv_sink(folder / "a.csv"), records);
  write_all_records(*make_yolo_sink(folder / "yolo"), records);
  for (const char* const name : {"a.json", "a.csv", "yolo"}) {
    const auto read = read_all_records(folder / name);
    ASSERT_EQ(read.size(), records.size());
    for (std::size_t i = 0; i < read.size(); ++i)
      EXPECT_EQ(read[i].objects.at(0).name, records[i].objects[0].name) << name;
  }
}

TEST(ExportNames, FramesOfOneNameGetFilesOfTheirOwn) {
  const TemporaryFolder folder;
  FrameRecord first = exported(0, {});
  first.frame.source_file = "a.png";
  FrameRecord second = exported(1, {});
  second.frame.source_file = "a.jpg";
  write_all_records(*make_voc_sink(folder / "voc"), {first, second});
  EXPECT_TRUE(std::filesystem::exists(folder / "voc/Annotations/a.xml"));
  EXPECT_TRUE(std::filesystem::exists(folder / "voc/Annotations/a-2.xml"));
}

TEST(ExportNames, KeepsSafeNamesOfAnyLanguage) {
  EXPECT_EQ(safe_name("größe 日本"), "größe 日本");
  EXPECT_EQ(safe_name("../x"), "_._x");
  EXPECT_EQ(safe_name(".."), "_.");
  EXPECT_EQ(safe_name(""), "_");
  EXPECT_EQ(safe_name(std::string(300, 'a'), 10), std::string(10, 'a'));
}

}  // namespace
}  // namespace vcap::test
