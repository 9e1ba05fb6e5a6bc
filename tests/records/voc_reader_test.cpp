// SPDX-License-Identifier: Apache-2.0
// Reading of Pascal VOC: what tools write, and what nobody should.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "records/export_records.hpp"
#include "records/voc_file.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

constexpr const char* kBox =
    "<bndbox><xmin>11</xmin><ymin>21</ymin><xmax>30</xmax><ymax>60</ymax></bndbox>";

std::string object(const std::string& content) {
  return "<annotation><object>" + content + "</object></annotation>";
}

VocFile read(const std::string& content) {
  const TemporaryFolder folder;
  return read_voc_file(InputFile(folder.write("a.xml", content)));
}

TEST(VocReader, ReadsWhatVocItselfHas) {
  const VocFile file = read(
      "<annotation>\n"
      "  <folder>VOC2012</folder>\n  <filename>2007_000027.jpg</filename>\n"
      "  <source><database>The VOC2007 Database</database><image>flickr</image></source>\n"
      "  <size><width>486</width>\n<height> 500 </height><depth>3</depth></size>\n"
      "  <segmented>0</segmented>\n"
      "  <object>\n    <name>person</name><pose>Unspecified</pose><truncated>0</truncated>\n"
      "    <difficult>1</difficult>\n"
      "    <bndbox><xmax>349</xmax><ymin>101</ymin><xmin>174</xmin><ymax>351</ymax></bndbox>\n"
      "    <part><name>head</name><bndbox><xmin>169</xmin><ymin>104</ymin><xmax>209.5</xmax>\n"
      "      <ymax>146</ymax></bndbox></part>\n"
      "  </object>\n"
      "</annotation>\n");
  EXPECT_EQ(file.folder, "VOC2012");
  EXPECT_EQ(file.filename, "2007_000027.jpg");
  EXPECT_EQ(file.size, cv::Size(486, 500));
  EXPECT_THAT(file.left_out, IsEmpty());
  ASSERT_THAT(file.objects, SizeIs(1));
  const DetectionNode& person = file.objects[0];
  EXPECT_EQ(person.name, "person");
  EXPECT_EQ(person.bbox(), (BoundingBox{173, 100, 349, 351})) << "pixels count from 1";
  EXPECT_EQ(person.extra_data.at("ignore"), 1) << "difficult";
  ASSERT_THAT(person.children, SizeIs(1));
  EXPECT_EQ(person.children[0].name, "head");
  EXPECT_EQ(person.children[0].bbox(), (BoundingBox{168, 103, 209.5, 146}));
}

TEST(VocReader, CountsWhatItLeavesOut) {
  const VocFile file = read(
      "<annotation><object><name>person</name><pose>Left</pose><occluded>1</occluded>"
      "<actions><jumping>1</jumping></actions>" +
      std::string(kBox) + "</object><object><name>car</name><pose>Rear</pose>" + kBox +
      "</object><scene>road</scene></annotation>");
  EXPECT_THAT(file.left_out,
              ElementsAre(Pair("object/actions", 1), Pair("object/actions/jumping", 1),
                          Pair("occluded", 1), Pair("pose", 2), Pair("scene", 1)));
}

TEST(VocReader, BoundsWhatItNamesOfWhatItLeavesOut) {
  std::string content = "<annotation>";
  for (int i = 0; i < 1000; ++i)
    content += "<" + std::string(500, 'x') + std::to_string(i) + "/><n" + std::to_string(i) + "/>";
  const VocFile file = read(content + "</annotation>");
  EXPECT_LE(file.left_out.size(), 21u);
  std::int64_t count = 0;
  for (const auto& [what, number] : file.left_out) {
    EXPECT_LE(what.size(), 70u);
    count += number;
  }
  EXPECT_EQ(count, 2000);
}

TEST(VocReader, ReadsFilesInTheOrderOfTheirNames) {
  const TemporaryFolder folder;
  folder.write("shots/10.xml", object("<name>ten</name>" + std::string(kBox)));
  folder.write("shots/9.xml", object("<name>nine</name>" + std::string(kBox)));
  folder.write("shots/9.jpg", "");
  folder.write("shots/.hidden.xml", "no XML");
  const std::vector<FrameRecord> records = read_all_records(folder / "shots");
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(records[0].objects.at(0).name, "nine");
  EXPECT_EQ(records[0].stream_id, "shots") << "no file names its folder";
  EXPECT_EQ(records[1].frame.index, 1);
  EXPECT_EQ(records[1].frame.pts, std::chrono::milliseconds(40));
  EXPECT_EQ(records[1].resolution, cv::Size());
  const std::vector<FrameRecord> one = read_all_records(folder / "shots/10.xml");
  ASSERT_THAT(one, SizeIs(1));
  EXPECT_EQ(one[0].objects.at(0).name, "ten");
}

TEST(VocReader, RefusesAFolderWithoutAnnotations) {
  const TemporaryFolder folder;
  folder.write("shots/1.jpg", "");
  EXPECT_THAT([&] { open_records(folder / "shots", {.format = RecordFormat::voc}); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           HasSubstr("there is no .xml file in it")));
}

TEST(VocReader, ReadsOtherEncodings) {
  const VocFile latin = read("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>" +
                             object("<name>gr\xF6\xDF\x65</name>" + std::string(kBox)));
  EXPECT_EQ(latin.objects.at(0).name, "größe");
  const VocFile marked =
      read("\xEF\xBB\xBF" + object("<name>a&lt;&#233;</name>" + std::string(kBox)));
  EXPECT_EQ(marked.objects.at(0).name, "a<é");
}

TEST(VocReader, NamesFilePlaceAndRemedyOfAnError) {
  const auto box = [](const char* xmin, const char* ymin, const char* xmax, const char* ymax) {
    return object("<name>car</name>\n<bndbox><xmin>" + std::string(xmin) + "</xmin><ymin>" + ymin +
                  "</ymin><xmax>" + xmax + "</xmax>\n<ymax>" + ymax + "</ymax></bndbox>");
  };
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "<a>";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "line 1: it is not XML: no element found"},
      {"{\"images\": []}", "line 1: it is not XML"},
      {"<annotation>\n<object>\n</annotation>", "line 3: it is not XML: mismatched tag"},
      {object("<name>a\xFF</name>"), "it is not XML: not well-formed"},
      {object("<name>a&bomb;</name>"), "it is not XML: undefined entity"},
      {"<annotation/><annotation/>", "it is not XML: junk after document element"},
      {"<html><body/></html>", "line 1: the root element is \"html\""},
      {"<!DOCTYPE a [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]>\n<annotation>&b;</annotation>",
       "line 1: it has a document type"},
      {"<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><annotation/>", "it has a document type"},
      {"<annotation>" + deep, "nested more than 32 levels deep"},
      {object(kBox), "line 1: the object has no name"},
      {object("<name/>" + std::string(kBox)), "the object has no name"},
      {object("<name>car</name>"), "the object \"car\" has no xmin"},
      {object("<name>car</name><robndbox><cx>1</cx></robndbox>"), "has no xmin; give xmin"},
      {object("<name>a</name><name>b</name>" + std::string(kBox)), "a second name"},
      {object("<name>a</name>" + std::string(kBox) + kBox), "a second xmin"},
      {box("1", "2", "nan", "4"), "line 2: xmax is \"nan\", which is not a finite number"},
      {box("1", "2", "1e999", "4"), "xmax is \"1e999\""},
      {box("1", "2", "", "4"), "xmax is \"\""},
      {box("1", "2", "3 px", "4"), "xmax is \"3 px\""},
      {box("5", "2", "3", "4"), "the box of \"car\" reaches from 5.0, 2.0 to 3.0, 4.0"},
      {box("1", "9", "3", "4"), "must not be less"},
      {box("-1.7e308", "2", "1.7e308", "4"), "not a finite number"},
      {"<annotation><size><width>-1</width></size></annotation>", "width is -1; it must be from 0"},
      {"<annotation><size><width>4.5</width></size></annotation>", "width is \"4.5\""},
      {"<annotation><size><height>99999999999</height></size></annotation>",
       "height is 99999999999"},
      {object("<name>a</name><difficult>maybe</difficult>" + std::string(kBox)),
       "difficult is \"maybe\"; it must be 0 or 1"},
      {object("<name>a</name><attributes><attribute><name>n</name></attribute></attributes>"),
       "the attribute lacks its name or value"},
      {object("<name>a</name><part><name>head</name></part>" + std::string(kBox)),
       "the object \"head\" has no xmin"},
      {object("<attributes><attribute><name>n</name><value>1</value></attribute><attribute>"
              "<name>n</name><value>2</value></attribute></attributes>"),
       "the attribute \"n\" twice"}};
  for (const auto& [content, message] : cases) {
    const TemporaryFolder folder;
    folder.write("voc/Annotations/7.xml", content);
    EXPECT_THAT([&] { read_all_records(folder / "voc"); },
                ThrowsError<InvalidArgument>(
                    ErrorCode::invalid_argument,
                    AllOf(HasSubstr(folder / "voc/Annotations/7.xml"), HasSubstr(message))))
        << content;
  }
}

TEST(VocReader, RefusesAFileThatIsTooLong) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.xml", "<annotation>");
  std::filesystem::resize_file(path, std::uintmax_t{1} << 30);  // without blocks on the disk
  EXPECT_THAT([&] { read_all_records(path); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           HasSubstr("it has more than 67108864 bytes")));
}

TEST(VocReader, RefusesOrReadsWhateverIsDamaged) {
  const std::string whole = object("<name>a</name><part><name>b</name>" + std::string(kBox) +
                                   "</part><attributes><attribute><name>n</name><value>1</value>"
                                   "</attribute></attributes>" +
                                   kBox);
  const TemporaryFolder folder;
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const std::string& damaged :
         {whole.substr(0, i), whole.substr(i), whole.substr(0, i) + whole.substr(i + 1),
          whole.substr(0, i) + "<" + whole.substr(i),
          whole.substr(0, i) + '\0' + whole.substr(i)}) {
      const InputFile input(folder.write("a.xml", damaged));
      try {
        for (const DetectionNode& node : read_voc_file(input).objects)
          EXPECT_FALSE(node.coords.empty());
      } catch (const InvalidArgument& error) {
        EXPECT_THAT(error.what(), HasSubstr("a.xml, line 1: "));
      }
    }
}

}  // namespace
}  // namespace vcap::test
