// SPDX-License-Identifier: Apache-2.0
#include "vcap/loading/manifest.hpp"

#include <gmock/gmock.h>

#include <mutex>
#include <ostream>

#include <nlohmann/json.hpp>

#include "loading/capsule_builder.hpp"
#include "loading/manifest_reader.hpp"
#include "support/paths.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

using nlohmann::json;
using test::CapsuleBuilder;
using test::TemporaryFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

json good() { return CapsuleBuilder().file("model.onnx", "weights").listed(); }

Manifest manifest_of(const std::string& text) {
  return read_manifest_text(std::as_bytes(std::span(text)), "capsule file \"a.cap\"");
}

TEST(Manifest, IsTheSameAfterJsonAndBack) {
  const json in = good();
  EXPECT_EQ(json(in.get<Manifest>()), in);
}

TEST(Manifest, IsReadFromTheExampleInTheDocumentation) {
  const std::string page = test::read_file(test::in_sources("docs/capsule-format.md"));
  const std::size_t begin = page.find("```json\n") + 8;
  const Manifest manifest = manifest_of(page.substr(begin, page.find("```", begin) - begin));
  EXPECT_EQ(manifest.info.name, "detector_person");
  EXPECT_EQ(manifest.files.size(), 2u);
}

struct ManifestCase {
  const char* title;
  void (*change)(json&);
  const char* message;

  friend void PrintTo(const ManifestCase& one, std::ostream* out) { *out << one.title; }
};

class WrongManifest : public testing::TestWithParam<ManifestCase> {};

TEST_P(WrongManifest, IsRefusedWithThePlaceOfItsFault) {
  json manifest = good();
  GetParam().change(manifest);
  EXPECT_THAT([&] { manifest_of(manifest.dump()); },
              ThrowsError<InvalidCapsuleError>(
                  ErrorCode::invalid_manifest,
                  AllOf(HasSubstr("capsule file \"a.cap\" has an invalid capsule.json: "),
                        HasSubstr(GetParam().message), HasSubstr("`vcap pack`"))));
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongManifest,
    testing::Values(
        ManifestCase{"NoObject", [](json& m) { m = 7; }, "an object is needed"},
        ManifestCase{"NoFormatVersion", [](json& m) { m.erase("format_version"); },
                     "\"format_version\" is missing"},
        ManifestCase{"FormatVersionZero", [](json& m) { m["format_version"] = 0; },
                     "/format_version"},
        ManifestCase{"NoApiVersion", [](json& m) { m.erase("api_version"); },
                     "\"api_version\" is missing"},
        ManifestCase{"ApiVersionAsText", [](json& m) { m["api_version"] = "1"; }, "/api_version"},
        ManifestCase{"NoInfo", [](json& m) { m.erase("info"); }, "\"info\" is missing"},
        ManifestCase{"InfoWithoutName", [](json& m) { m["info"].erase("name"); },
                     "/info: the field \"name\" is missing"},
        ManifestCase{"VersionAsText", [](json& m) { m["info"]["version"] = "one"; },
                     "/info/version"},
        ManifestCase{"UnknownKindOfOption",
                     [](json& m) { m["info"]["options"]["threshold"]["kind"] = "colour"; },
                     "/info/options/threshold"},
        ManifestCase{"WrongSize", [](json& m) { m["info"]["output_type"]["size"] = "many"; },
                     "/info/output_type"},
        ManifestCase{"LibrariesAsObject", [](json& m) { m["libraries"] = json::object(); },
                     "/libraries"},
        ManifestCase{"NoLibrary", [](json& m) { m["libraries"].clear(); },
                     "a capsule needs at least one library"},
        ManifestCase{"PlatformTwice", [](json& m) { m["libraries"].push_back(m["libraries"][0]); },
                     "occurs twice"},
        ManifestCase{"PlatformOfAnotherForm",
                     [](json& m) { m["libraries"][0]["platform"] = "a/b"; },
                     "/libraries/0/platform"},
        ManifestCase{"LibraryElsewhere", [](json& m) { m["libraries"][0]["path"] = "model.onnx"; },
                     "/libraries/0/path"},
        ManifestCase{"EmptyTag", [](json& m) { m["libraries"][0]["abi_tag"] = ""; },
                     "/libraries/0/abi_tag"},
        ManifestCase{"LibraryNotAmongTheFiles", [](json& m) { m["files"].erase(0); },
                     "capsule.so\" is missing"},
        ManifestCase{"FileWithoutSize", [](json& m) { m["files"][1].erase("size"); },
                     "\"size\" is missing"},
        ManifestCase{"NegativeSize", [](json& m) { m["files"][1]["size"] = -1; }, "/files/1/size"},
        ManifestCase{"FractionalSize", [](json& m) { m["files"][1]["size"] = 7.5; },
                     "/files/1/size"},
        ManifestCase{"ShortDigest", [](json& m) { m["files"][1]["sha256"] = "abc"; },
                     "/files/1/sha256"},
        ManifestCase{"UpperCaseDigest",
                     [](json& m) { m["files"][1]["sha256"] = std::string(64, 'A'); },
                     "/files/1/sha256"},
        ManifestCase{"UnsafePath", [](json& m) { m["files"][1]["path"] = "../model"; },
                     "/files/1/path: the name \"../model\""},
        ManifestCase{"ItselfAmongTheFiles", [](json& m) { m["files"][1]["path"] = "capsule.json"; },
                     "/files/1/path"},
        ManifestCase{"UnknownFileBelowLib", [](json& m) { m["files"][1]["path"] = "lib/more.so"; },
                     "\"lib/more.so\" is below lib/ but is not a library"},
        ManifestCase{"FilesNotSorted", [](json& m) { std::swap(m["files"][0], m["files"][1]); },
                     "/files: the files are not sorted"},
        ManifestCase{"FileTwice", [](json& m) { m["files"].push_back(m["files"][1]); },
                     "/files: \"model.onnx\" occurs twice"}),
    [](const auto& one) { return std::string(one.param.title); });

TEST(ReadManifestText, RefusesInvalidJsonAndDuplicateKeys) {
  EXPECT_THAT([] { manifest_of("{"); }, ThrowsError<InvalidCapsuleError>(
                                            ErrorCode::invalid_manifest, HasSubstr("parse error")));
  EXPECT_THAT([] { manifest_of(R"({"info":{"name":"a","name":"b"}})"); },
              ThrowsError<InvalidCapsuleError>(ErrorCode::invalid_manifest,
                                               HasSubstr("/info/name: occurs twice")));
}

TEST(ReadManifestText, ChecksTheDescription) {
  json manifest = good();
  manifest["info"]["name"] = "../person";
  EXPECT_THAT(
      [&] { manifest_of(manifest.dump()); },
      ThrowsError<InvalidCapsuleError>(ErrorCode::invalid_capsule_info,
                                       AllOf(HasSubstr("a.cap"), HasSubstr("\"../person\""))));
}

TEST(ReadManifestText, LogsUnknownFields) {
  std::mutex mutex;
  std::vector<std::string> lines;
  set_log_hook([&](LogLevel level, std::string_view line) {
    const std::lock_guard lock(mutex);
    if (level == LogLevel::warning) lines.emplace_back(line);
  });
  json manifest = good();
  manifest["resources"] = json::array();
  manifest["info"]["colour"] = "red";
  manifest["files"][1]["note"] = "";
  EXPECT_EQ(manifest_of(manifest.dump()).info.name, "fixture");
  set_log_hook({});
  EXPECT_THAT(lines, ElementsAre(AllOf(HasSubstr("a.cap"), HasSubstr("field /files/1/note ")),
                                 HasSubstr("field /info/colour "), HasSubstr("field /resources ")));
}

TEST(ReadManifest, DoesNotCheckTheOtherFiles) {
  const TemporaryFolder folder;
  CapsuleBuilder capsule;
  const std::string text = capsule.file("model.onnx", "weights").listed().dump();
  const auto path = folder.write("a.cap", capsule.file("model.onnx", "Weights").bytes_with(text));
  EXPECT_EQ(read_manifest(path).info.name, "fixture");
  EXPECT_THAT(
      [&] { verify_capsule(path); },
      ThrowsError<InvalidCapsuleError>(ErrorCode::digest_mismatch, HasSubstr("\"model.onnx\"")));
}

TEST(VerifyCapsule, AcceptsASoundCapsule) {
  const TemporaryFolder folder;
  EXPECT_NO_THROW(verify_capsule(folder.write("a.cap", CapsuleBuilder().bytes())));
}

}  // namespace
}  // namespace vcap
