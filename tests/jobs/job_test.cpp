// SPDX-License-Identifier: Apache-2.0
#include "vcap/jobs/job.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"

namespace vcap::test {

using Json = nlohmann::json;

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A folder with capsules, videos, and files that are neither.
class JobFile : public testing::Test {
 protected:
  JobFile() {
    for (const char* const name :
         {"a.cap", "b.cap", "gate.mp4", "day/cam10.mkv", "day/cam2.AVI", "day/.cam3.avi",
          "day/notes.txt", "day/deep/cam4.avi", "night/cam2.mp4", "night/cam[1].mp4", "none/a.txt",
          "[x]/in.mp4", ".hidden.mp4", "gate.avi", "back\\slash.mp4", "results/old.mp4"})
      folder_.write(name, name);
  }

  /// A valid job, with other values in some fields.
  static Json job_with(const Json& changes = Json::object()) {
    Json job = {{"schema", "vcap.job/1"},
                {"capsules", {"a.cap"}},
                {"sources", {"gate.mp4"}},
                {"outputs", {{"folder", "out"}}}};
    job.update(changes);
    return job;
  }
  Job read(const Json& job) const { return read_job(folder_.write("job.json", job.dump())); }
  std::vector<std::string> ids(const Json& sources) const {
    std::vector<std::string> ids;
    for (const Job::Video& video : read(job_with({{"sources", sources}})).videos)
      ids.push_back(video.id);
    return ids;
  }

  TemporaryFolder folder_;
};

TEST_F(JobFile, HasDefaultsForOptionalFields) {
  const Job job = read(job_with());
  ASSERT_EQ(job.capsules.size(), 1u);
  EXPECT_EQ(job.capsules[0].path, folder_ / "a.cap");
  EXPECT_EQ(job.capsules[0].config, Json::object());
  ASSERT_EQ(job.videos.size(), 1u);
  EXPECT_EQ(job.videos[0].id, "gate");
  EXPECT_EQ(job.videos[0].source, folder_ / "gate.mp4");
  EXPECT_FALSE(job.videos[0].capsules);
  EXPECT_THAT(job.videos[0].options, IsEmpty());
  EXPECT_THAT(job.videos[0].config, IsEmpty());
  EXPECT_EQ(job.outputs.folder, folder_ / "out");
  EXPECT_TRUE(job.outputs.jsonl);
  EXPECT_FALSE(job.outputs.video || job.outputs.summary);
  EXPECT_EQ(job.slices, 0);
  EXPECT_EQ(job.attempts, 3);
  EXPECT_EQ(job.parallel, 0);
  EXPECT_FALSE(job.capsules[0].stencil);
  EXPECT_EQ(job.invalid_output, InvalidOutput::error);
  EXPECT_EQ(job.max_pixels, SourceOptions().max_pixels);
}

TEST_F(JobFile, GivesTheValuesThatItSets) {
  const Json options = {{"threshold", 0.7}};
  const Json config = {{"area", 9}};
  const Json stencil = {{"offsets", {0, -3}}, {"edge", "null"}};
  const Job job = read(job_with(
      {{"capsules",
        {"a.cap", {{"path", folder_ / "b.cap"}, {"config", config}, {"stencil", stencil}}}},
       {"sources",
        {{{"source", "day"}, {"options", {{"a", options}}}, {"capsules", {"a", "b"}}},
         {{"source", "gate.mp4"}, {"id", "yard north"}, {"config", {{"b", config}}}}}},
       {"outputs",
        {{"folder", "out/"},
         {"jsonl", false},
         {"video", true},
         {"picture", "mask"},
         {"summary", true}}},
       {"slices", 4},
       {"attempts", 1},
       {"parallel", 2},
       {"invalid_output", "warn"},
       {"max_pixels", 640},
       {"max_frames", 12}}));
  EXPECT_EQ(job.capsules[1].path, folder_ / "b.cap");
  EXPECT_EQ(job.capsules[1].stencil, (Stencil{{0, -3}, StencilEdge::null}));
  EXPECT_EQ(job.invalid_output, InvalidOutput::warn);
  EXPECT_EQ(job.max_pixels, 640);
  EXPECT_EQ(job.max_frames, 12);
  EXPECT_EQ(job.capsules[1].config, config);
  ASSERT_EQ(job.videos.size(), 3u);
  for (const std::size_t i : {0u, 1u}) {
    EXPECT_THAT(job.videos[i].options, ElementsAre(testing::Pair("a", options)));
    EXPECT_THAT(*job.videos[i].capsules, ElementsAre("a", "b"));
    EXPECT_THAT(job.videos[i].config, IsEmpty());
  }
  EXPECT_EQ(job.videos[2].id, "yard north");
  EXPECT_THAT(job.videos[2].config, ElementsAre(testing::Pair("b", config)));
  EXPECT_EQ(job.outputs.folder, folder_ / "out");
  EXPECT_FALSE(job.outputs.jsonl);
  EXPECT_TRUE(job.outputs.video && job.outputs.summary);
  EXPECT_EQ(job.outputs.picture, "mask");
  EXPECT_EQ(job.slices, 4);
  EXPECT_EQ(job.attempts, 1);
  EXPECT_EQ(job.parallel, 2);
}

TEST_F(JobFile, AcceptsWordsForCounts) {
  EXPECT_EQ(read(job_with({{"slices", "off"}})).slices, 1);
  EXPECT_EQ(read(job_with({{"slices", "auto"}})).slices, 0);
  EXPECT_EQ(read(job_with({{"parallel", "auto"}})).parallel, 0);
}

TEST_F(JobFile, ExpandsFoldersAndGlobsInNaturalOrder) {
  EXPECT_THAT(ids({"day"}), ElementsAre("cam2", "cam10"));
  EXPECT_THAT(ids({"gate.mp4", "day/"}), ElementsAre("gate", "cam2", "cam10"));
  EXPECT_THAT(ids({"day/cam*"}), ElementsAre("cam2", "cam10"));
  EXPECT_THAT(ids({"night/cam[0-9].*"}), ElementsAre("cam2"));
  EXPECT_THAT(ids({"night/cam[1].mp4"}), ElementsAre("cam[1]")) << "an existing file is not a glob";
  EXPECT_THAT(ids({(folder_ / "day" / "*.mkv").native()}), ElementsAre("cam10"));
}

TEST_F(JobFile, PrefixesVideosWithTheIdOfTheirFolder) {
  EXPECT_THAT(ids({{{"source", "day"}, {"id", "day"}}, {{"source", "night/cam?.mp4"}}}),
              ElementsAre("day-cam2", "day-cam10", "cam2"));
}

TEST_F(JobFile, ExpandsGlobsInAFolderWithGlobCharactersInItsName) {
  const Job job = read_job(folder_.write(
      "[x]/job.json", job_with({{"capsules", {"../a.cap"}}, {"sources", {"*.mp4"}}}).dump()));
  ASSERT_EQ(job.videos.size(), 1u);
  EXPECT_EQ(job.videos[0].id, "in");
}

TEST_F(JobFile, ResolvesPathsAgainstItsOwnFolder) {
  const auto before = std::filesystem::current_path();
  read(job_with());
  std::filesystem::current_path(folder_.path());
  const Job job = read_job("job.json");
  std::filesystem::current_path(before);
  EXPECT_TRUE(std::filesystem::path(job.videos[0].source).is_absolute());
  EXPECT_TRUE(std::filesystem::equivalent(job.videos[0].source, folder_ / "gate.mp4"));
}

TEST_F(JobFile, NamesAWrongFieldByItsPointerWithTheValue) {
  const auto source = [](const Json& object) -> Json { return {{"sources", {object}}}; };
  const auto outputs = [](const Json& object) -> Json { return {{"outputs", object}}; };
  const struct {
    Json changes;
    std::vector<std::string> words;
  } cases[] = {
      {{{"schema", "vcap.job/2"}}, {"/schema: \"vcap.job/1\" is needed", "\"vcap.job/2\""}},
      {{{"source", {}}}, {"/source: the field is unknown; did you mean \"sources\"?"}},
      {{{"capsules", Json::array()}}, {"/capsules: at least one capsule", "an array of 0"}},
      {{{"capsules", "a.cap"}}, {"/capsules: an array is needed", "\"a.cap\""}},
      {{{"capsules", {7}}}, {"/capsules/0: a string is needed, but it is 7"}},
      {{{"capsules", {"c.cap"}}}, {"/capsules/0: there is no file", "c.cap\"", "check the path"}},
      {{{"capsules", {"a.cap", "./a.cap"}}}, {"/capsules/1: the capsule", "occurs twice"}},
      {{{"capsules", {Json::object()}}}, {"/capsules/0: the field \"path\" is missing"}},
      {{{"capsules", {{{"path", "a.cap"}, {"config", 1}}}}},
       {"/capsules/0/config: an object is needed, but it is 1"}},
      {{{"capsules", {{{"path", "a.cap"}, {"options", 1}}}}},
       {"/capsules/0/options: the field is unknown"}},
      {{{"sources", Json::array()}}, {"/sources: at least one source"}},
      {source(nullptr), {"/sources/0: a string is needed, but it is null"}},
      {source(""), {"/sources/0: a path is needed, but it is \"\""}},
      {source("gone.mp4"), {"/sources/0: there is no file", "gone.mp4\"", "check the path"}},
      {source("0"), {"/sources/0: there is no file"}},
      {source("rtsp://camera/1"), {"/sources/0: there is no file"}},
      {source("none"), {"/sources/0: the folder", "has no videos directly in it", "\".mp4\""}},
      {source("day/*.mov"), {"/sources/0: no file matches", "check the folder and the pattern"}},
      {source({{"id", "x"}}), {"/sources/0: the field \"source\" is missing"}},
      {source({{"source", "gate.mp4"}, {"ids", "x"}}),
       {"/sources/0/ids: the field is unknown", "\"id\"?"}},
      {source({{"source", "gate.mp4"}, {"id", ""}}), {"/sources/0/id: a text is needed"}},
      {source({{"source", "gate.mp4"}, {"id", "a/b"}}), {"/sources/0: the id \"a/b\"", "slash"}},
      {source({{"source", "gate.mp4"}, {"id", "../b"}}), {"/sources/0: the id", "dot"}},
      {source({{"source", "gate.mp4"}, {"id", "a\nb"}}), {"/sources/0: the id", "control"}},
      {source({{"source", "gate.mp4"}, {"id", std::string(201, 'x')}}), {"more than 200 bytes"}},
      {source(".hidden.mp4"), {"/sources/0: the id \".hidden\"", "give it another \"id\""}},
      {source("back\\slash.mp4"), {"/sources/0: the id", "backslash"}},
      {source({{"source", "gate.mp4"}, {"capsules", Json::array()}}),
       {"/sources/0/capsules: at least one capsule's name"}},
      {source({{"source", "gate.mp4"}, {"capsules", {"a", "a"}}}),
       {"/sources/0/capsules/1: the capsule \"a\" occurs twice"}},
      {source({{"source", "gate.mp4"}, {"options", {{"a", 0.5}}}}),
       {"/sources/0/options/a: an object is needed, but it is 0.5"}},
      {source({{"source", "gate.mp4"}, {"config", {1}}}),
       {"/sources/0/config: an object is needed, but it is an array of 1"}},
      {{{"sources", {"gate.mp4", "day", "gate.avi"}}},
       {"/sources/2: the videos", "gate.mp4\"", "gate.avi\"", "both have the id \"gate\""}},
      {{{"sources", {"gate.mp4", "gate.mp4"}}}, {"/sources/1: the videos", "another \"id\""}},
      {outputs("out"), {"/outputs: an object is needed, but it is \"out\""}},
      {outputs(Json::object()), {"/outputs: the field \"folder\" is missing"}},
      {outputs({{"folder", "o"}, {"trace", true}}), {"/outputs/trace: the field is unknown"}},
      {outputs({{"folder", "o"}, {"video", "mp4"}}), {"/outputs/video: true or false is needed"}},
      {outputs({{"folder", "o"}, {"picture", "mask"}}),
       {"/outputs/picture: ", "\"video\" to true"}},
      {outputs({{"folder", "o"}, {"draw", "boxes"}}), {"/outputs/draw: ", "\"video\" to true"}},
      {outputs({{"folder", "o"}, {"video", true}, {"picture", "m"}, {"draw", "boxes"}}),
       {"/outputs/draw: ", "\"picture\" out"}},
      {outputs({{"folder", "o"}, {"video", true}, {"draw", "boxes,trail"}}),
       {"/outputs/draw: ", "did you mean \"trails\"?"}},
      {outputs({{"folder", "o"}, {"video", true}, {"draw", "zones"}}),
       {"/outputs/draw: ", "leave the part out"}},
      {outputs({{"folder", "o"}, {"jsonl", false}}), {"/outputs: no output is chosen"}},
      {outputs({{"folder", "results/.."}}), {"/outputs/folder: ", "contains the source"}},
      {{{"capsules", {{{"path", "a.cap"}, {"stencil", {-1, 0}}}}}},
       {"/capsules/0/stencil: an object is needed"}},
      {{{"capsules", {{{"path", "a.cap"}, {"stencil", {{"offsets", {0}}}}}}}},
       {"/capsules/0/stencil: the field \"edge\" is missing"}},
      {{{"capsules", {{{"path", "a.cap"}, {"stencil", {{"offsets", {0.5}}, {"edge", "null"}}}}}}},
       {"/capsules/0/stencil/offsets/0: a whole number", "0.5"}},
      {{{"invalid_output", "ignore"}},
       {"/invalid_output: \"error\", \"warn\" or \"off\" is needed, but it is \"ignore\""}},
      {{{"invalid_output", false}}, {"/invalid_output: ", "but it is false"}},
      {{{"max_pixels", 0}}, {"/max_pixels: a whole number from 1 is needed, but it is 0"}},
      {{{"max_frames", 0}}, {"/max_frames: a whole number from 1 is needed, but it is 0"}},
      {{{"slices", 0}}, {"/slices: a whole number from 1 to 10000", "\"auto\"", "but it is 0"}},
      {{{"slices", "some"}}, {"/slices: a whole number", "but it is \"some\""}},
      {{{"slices", 1.5}}, {"/slices: a whole number", "but it is 1.5"}},
      {{{"attempts", "auto"}}, {"/attempts: a whole number from 1 to 100 is needed"}},
      {{{"attempts", 101}}, {"/attempts: a whole number", "but it is 101"}},
      {{{"parallel", -1}}, {"/parallel: a whole number from 1 to 1000", "but it is -1"}},
      {{{"parallel", "off"}}, {"/parallel: ", "but it is \"off\""}},
  };
  for (const auto& [changes, words] : cases) {
    std::vector<testing::Matcher<std::string>> parts{HasSubstr("job.json\": /")};
    for (const std::string& word : words) parts.push_back(HasSubstr(word));
    EXPECT_THAT(([&, &changes = changes] { read(job_with(changes)); }),
                ThrowsError<InvalidArgument>(ErrorCode::invalid_json, testing::AllOfArray(parts)))
        << changes;
  }
}

TEST_F(JobFile, RefusesAJobWithoutRequiredFields) {
  for (const char* const field : {"schema", "capsules", "sources", "outputs"}) {
    Json job = job_with();
    job.erase(field);
    EXPECT_THAT([&] { read(job); },
                ThrowsError<InvalidArgument>(
                    ErrorCode::invalid_json,
                    HasSubstr("the field \"" + std::string(field) + "\" is missing")));
  }
}

TEST_F(JobFile, RefusesAFileThatIsMissingOrNotJson) {
  const auto file = folder_.write("bad.json", R"({"sources":["a"],"sources":["b"]})");
  EXPECT_THAT([&] { read_job(file); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_json,
                                           HasSubstr("bad.json\": /sources: occurs twice")));
  EXPECT_THAT([&] { read_job(folder_ / "gone.json"); },
              ThrowsError<InvalidArgument>(
                  ErrorCode::invalid_argument,
                  AllOf(HasSubstr("gone.json\": cannot be read"), HasSubstr("check the path"))));
}

}  // namespace
}  // namespace vcap::test
