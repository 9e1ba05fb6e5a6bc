// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_folder.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <set>

#include <nlohmann/json.hpp>

#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "support/traced_process.hpp"

namespace vcap::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Files = std::map<std::string, std::string>;

const Json kStamp = {{"videos", {{"gate", {{"size", 100}}}, {"yard", {{"size", 50}}}}}};

/// The outputs, without hidden files.
Files outputs_in(const fs::path& folder) {
  Files files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename().native().front() != '.')
      files.emplace(entry.path().filename(), read_file(entry.path()));
  return files;
}

/// All files and folders below the folder; empty if it does not exist.
Files content_of(const fs::path& folder) {
  Files files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    files.emplace(entry.path().lexically_relative(folder),
                  entry.is_regular_file() ? read_file(entry.path()) : "");
  return files;
}

std::vector<std::string> paths_in(const fs::path& folder) {
  std::vector<std::string> paths;
  for (const auto& [path, content] : content_of(folder)) paths.push_back(path);
  return paths;
}

/// False if there is a result already.
bool store(JobFolder& folder, const std::string& video, std::size_t slice,
           const std::string& records) {
  const std::unique_ptr<JobStore::Staged> staged = folder.stage(video, slice);
  std::ofstream(staged->path() / "records.jsonl") << records;
  return staged->commit({{"bytes", records.size()}});
}

/// Runs a small job, or the rest of one; gives the slices that it has made.
std::set<std::string> work_through(const fs::path& outputs) {
  std::set<std::string> made;
  JobFolder folder(outputs, kStamp);
  for (const auto& [video, slices] : std::map<std::string, std::size_t>{{"gate", 3}, {"yard", 1}}) {
    if (folder.finished(video)) continue;
    if (!folder.plan(video)) folder.begin(video, std::vector<Json>(slices, video));
    std::size_t bytes = 0;
    for (std::size_t slice = 0; slice < folder.plan(video)->size(); ++slice) {
      const std::string name = video + std::to_string(slice);
      if (!folder.result(video, slice)) {
        made.insert(name);
        store(folder, video, slice, "{\"slice\":\"" + name + "\"}\n");
      }
      bytes += folder.result(video, slice)->at("bytes").get<std::size_t>();
    }
    folder.join(video, "records.jsonl", video + ".jsonl");
    folder.write(video, video + ".txt", std::to_string(bytes) + " bytes\n");
    folder.finish(video, {{"bytes", bytes}});
  }
  return made;
}

/// The slices whose results a resumed run does not need to make again.
std::set<std::string> stored_in(const fs::path& outputs) {
  std::set<std::string> stored;
  for (const std::string& path : paths_in(outputs)) {
    if (path == ".vcap-job/finished/gate.json") stored.insert({"gate0", "gate1", "gate2"});
    if (path == ".vcap-job/finished/yard.json") stored.insert("yard0");
    for (const char* const slice : {"gate/0", "gate/1", "gate/2", "yard/0"})
      if (path == ".vcap-job/videos/" + std::string(slice))
        stored.insert(std::string(slice).erase(4, 1));
  }
  return stored;
}

class JobFolderTest : public testing::Test {
 protected:
  TemporaryFolder temporary_;
  const fs::path outputs_ = temporary_ / "out";
};

TEST_F(JobFolderTest, GivesOutputsTheirNamesWhenTheyAreComplete) {
  JobFolder folder(outputs_, kStamp);
  EXPECT_FALSE(folder.plan("gate"));
  EXPECT_TRUE(folder.begin("gate", {"a", "b"}));
  EXPECT_EQ(folder.plan("gate"), Json({"a", "b"}));
  EXPECT_FALSE(folder.result("gate", 1));
  EXPECT_TRUE(store(folder, "gate", 1, "second\n"));
  EXPECT_EQ(folder.result("gate", 1), Json({{"bytes", 7}}));
  EXPECT_TRUE(store(folder, "gate", 0, "first\n"));
  EXPECT_THAT(outputs_in(outputs_), IsEmpty());
  folder.join("gate", "records.jsonl", "gate.jsonl");
  EXPECT_EQ(outputs_in(outputs_), (Files{{"gate.jsonl", "first\nsecond\n"}}));
  EXPECT_FALSE(folder.finished("gate"));
  folder.finish("gate", {{"frames", 2}});
  EXPECT_EQ(folder.finished("gate"), Json({{"frames", 2}}));
  EXPECT_THAT(
      paths_in(outputs_ / ".vcap-job"),
      ElementsAre("finished", "finished/gate.json", "lock", "stamp.json", "videos", "work"));
}

TEST_F(JobFolderTest, StaysWhereItIsIfTheWorkingDirectoryChanges) {
  const TemporaryFolder elsewhere;
  const fs::path before = fs::current_path();
  fs::current_path(temporary_.path());
  JobFolder folder("out", kStamp);
  fs::current_path(elsewhere.path());
  folder.begin("yard", {"a"});
  store(folder, "yard", 0, "first\n");
  folder.join("yard", "records.jsonl", "yard.jsonl");
  fs::current_path(before);
  EXPECT_EQ(outputs_in(outputs_), (Files{{"yard.jsonl", "first\n"}}));
  EXPECT_THAT(elsewhere.names(), IsEmpty());
}

TEST_F(JobFolderTest, KeepsTheFirstOfTwoPlansAndOfTwoResults) {
  JobFolder folder(outputs_, kStamp);
  EXPECT_TRUE(folder.begin("gate", {"a"}));
  EXPECT_FALSE(folder.begin("gate", {"a", "b"}));
  EXPECT_EQ(folder.plan("gate"), Json({"a"}));
  EXPECT_TRUE(store(folder, "gate", 0, "first\n"));
  EXPECT_FALSE(store(folder, "gate", 0, "the same again\n"));
  EXPECT_EQ(folder.result("gate", 0), Json({{"bytes", 6}}));
  folder.join("gate", "records.jsonl", "gate.jsonl");
  EXPECT_EQ(outputs_in(outputs_), (Files{{"gate.jsonl", "first\n"}}));
  EXPECT_THAT(paths_in(outputs_ / ".vcap-job" / "work"), IsEmpty());
}

TEST_F(JobFolderTest, StoresNoResultForAFinishedVideo) {
  JobFolder folder(outputs_, kStamp);
  folder.begin("gate", {"a"});
  const std::unique_ptr<JobStore::Staged> late = folder.stage("gate", 0);
  store(folder, "gate", 0, "first");
  folder.finish("gate", 1);
  EXPECT_FALSE(late->commit(2));
  EXPECT_THAT(paths_in(outputs_ / ".vcap-job" / "videos"), IsEmpty());
}

TEST_F(JobFolderTest, DiscardsAResultThatIsNotCommitted) {
  JobFolder folder(outputs_, kStamp);
  folder.begin("gate", {"a"});
  { std::ofstream(folder.stage("gate", 0)->path() / "records.jsonl") << "half"; }
  EXPECT_FALSE(folder.result("gate", 0));
  EXPECT_THAT(paths_in(outputs_ / ".vcap-job" / "work"), IsEmpty());
}

TEST_F(JobFolderTest, JoinsEmptyAndLongParts) {
  const std::string large(3 << 20, 'x');
  JobFolder folder(outputs_, kStamp);
  folder.begin("gate", {1, 2, 3});
  store(folder, "gate", 0, "");
  store(folder, "gate", 1, large);
  store(folder, "gate", 2, "end");
  folder.join("gate", "records.jsonl", "gate.jsonl");
  EXPECT_EQ(read_file(outputs_ / "gate.jsonl"), large + "end");
}

TEST_F(JobFolderTest, RefusesToJoinMissingResults) {
  JobFolder folder(outputs_, kStamp);
  folder.begin("gate", {1, 2});
  store(folder, "gate", 0, "first");
  EXPECT_THAT([&] { folder.join("gate", "records.jsonl", "gate.jsonl"); },
              ThrowsError<OutputError>(ErrorCode::output_write, HasSubstr("gate/1/records.jsonl")));
  EXPECT_THAT(outputs_in(outputs_), IsEmpty());
}

TEST_F(JobFolderTest, IsOpenOnlyOnceAtATime) {
  {
    const JobFolder folder(outputs_, kStamp);
    EXPECT_THAT([&] { JobFolder(outputs_, kStamp); },
                ThrowsError<OutputError>(ErrorCode::output_open,
                                         AllOf(HasSubstr("another process uses the output folder"),
                                               HasSubstr(outputs_.native() + "\""),
                                               HasSubstr("wait until it has ended"))));
  }
  EXPECT_NO_THROW(JobFolder(outputs_, kStamp));
}

TEST_F(JobFolderTest, RefusesAnotherJobWithTheDifferenceAndChangesNothing) {
  {
    JobFolder folder(outputs_, kStamp);
    folder.begin("gate", {1});
  }
  temporary_.write("out/.vcap-job/work/half", "written");
  const auto before = paths_in(outputs_);
  Json other = kStamp;
  other["video"] = true;
  EXPECT_THAT([&] { JobFolder(outputs_, other); },
              ThrowsError<InvalidArgument>(
                  ErrorCode::invalid_argument,
                  AllOf(HasSubstr("belong to another job: /video was absent, but is now true"),
                        HasSubstr("another output folder"))));
  EXPECT_EQ(paths_in(outputs_), before);
  EXPECT_TRUE(JobFolder(outputs_, kStamp).plan("gate"));
}

TEST_F(JobFolderTest, RunsAChangedVideoAnew) {
  work_through(outputs_);
  temporary_.write("out/mine.txt", "mine");
  Json stamp = kStamp;
  stamp["videos"]["gate"]["size"] = 200;
  {
    const JobFolder folder(outputs_, stamp);
    EXPECT_FALSE(folder.finished("gate"));
    EXPECT_TRUE(folder.finished("yard"));
    EXPECT_THAT(paths_in(outputs_), AllOf(Not(Contains("gate.jsonl")), Not(Contains("gate.txt")),
                                          Contains("yard.txt"), Contains("mine.txt")));
  }
  stamp["videos"]["yard"]["options"] = 1;
  {
    JobFolder folder(outputs_, stamp);
    EXPECT_FALSE(folder.finished("yard"));
    folder.begin("gate", {"a"});
    store(folder, "gate", 0, "first");
  }
  EXPECT_TRUE(JobFolder(outputs_, stamp).result("gate", 0));
  stamp["videos"]["gate"]["modified_ns"] = 1;
  EXPECT_FALSE(JobFolder(outputs_, stamp).plan("gate"));
}

TEST_F(JobFolderTest, AllowsVideosToBeAddedAndRemoved) {
  work_through(outputs_);
  Json stamp = kStamp;
  stamp["videos"]["door"] = {{"size", 1}};
  stamp["videos"].erase("gate");
  EXPECT_TRUE(JobFolder(outputs_, stamp).finished("yard"));
  EXPECT_THAT(paths_in(outputs_), Contains("gate.jsonl"));
  EXPECT_TRUE(JobFolder(outputs_, kStamp).finished("gate")) << "the video is in the job again";
  stamp["videos"]["gate"] = {{"size", 101}};
  EXPECT_FALSE(JobFolder(outputs_, stamp).finished("gate"))
      << "the video is back with another file";
}

TEST_F(JobFolderTest, RemakesOutputsThatAreMissingOrDamaged) {
  work_through(temporary_ / "undisturbed");
  const Files expected = content_of(temporary_ / "undisturbed");
  using Spoil = std::function<void(const fs::path&)>;
  for (const Spoil& spoil :
       {Spoil([](const fs::path& out) { fs::remove(out / "gate.txt"); }),
        Spoil([](const fs::path& out) { std::ofstream(out / "gate.jsonl") << "garbage"; }),
        Spoil([](const fs::path& out) {
          std::ofstream(out / ".vcap-job/finished/gate.json") << "{}";
        })}) {
    fs::remove_all(outputs_);
    work_through(outputs_);
    spoil(outputs_);
    EXPECT_THAT(work_through(outputs_), ElementsAre("gate0", "gate1", "gate2"));
    EXPECT_EQ(content_of(outputs_), expected);
  }
}

TEST_F(JobFolderTest, RefusesToOverwriteFilesOfOthers) {
  temporary_.write("out/gate.txt", "mine");
  const JobFolder::Claims claims = {{"gate", {"gate.jsonl", "gate.txt"}}, {"yard", {"yard.jsonl"}}};
  const auto expect_refused = [&] {
    EXPECT_THAT([&] { JobFolder(outputs_, kStamp, claims); },
                ThrowsError<InvalidArgument>(
                    ErrorCode::invalid_argument,
                    AllOf(HasSubstr("out/gate.txt\" exists already"), HasSubstr("move it away"))));
  };
  expect_refused();
  EXPECT_THAT(paths_in(outputs_), ElementsAre("gate.txt")) << "the refused job has begun";
  EXPECT_NO_THROW(JobFolder(outputs_, kStamp, {{"gate", {"gate.jsonl"}}}));
  expect_refused();
  JobFolder(outputs_, kStamp).begin("gate", {"a"});
  EXPECT_NO_THROW(JobFolder(outputs_, kStamp, claims)) << "killed before the claim was noted";
}

TEST_F(JobFolderTest, NamesTheDamagedFile) {
  temporary_.write("out/.vcap-job/stamp.json", "{");
  EXPECT_THAT(
      [&] { JobFolder(outputs_, kStamp); },
      ThrowsError<OutputError>(ErrorCode::output_open, AllOf(HasSubstr("stamp.json\" is damaged"),
                                                             HasSubstr("to start over"))));
}

TEST_F(JobFolderTest, NamesThePathThatCannotBeWritten) {
  temporary_.write("file", "");
  EXPECT_THAT([&] { JobFolder(temporary_ / "file", kStamp); },
              ThrowsError<OutputError>(ErrorCode::output_write, HasSubstr("file/.vcap-job\"")));
}

TEST_F(JobFolderTest, ResumesFromEveryStateThatAKilledProcessLeaves) {
  work_through(temporary_ / "undisturbed");
  const Files expected = outputs_in(temporary_ / "undisturbed");
  ASSERT_EQ(expected.size(), 4u);
  std::vector<fs::path> states;
  Files last;
  ASSERT_TRUE(run_by_system_calls([this] { work_through(outputs_); },
                                  [&](long) {
                                    Files now = content_of(outputs_);
                                    if (now == last) return true;
                                    states.push_back(temporary_ / std::to_string(states.size()));
                                    fs::copy(outputs_, states.back(), fs::copy_options::recursive);
                                    last = std::move(now);
                                    return true;
                                  }));
  std::set<std::set<std::string>> all_stored;
  for (const fs::path& state : states) {
    SCOPED_TRACE(state);
    const auto stored = stored_in(state);
    all_stored.insert(stored);
    for (const auto& [name, content] : outputs_in(state))
      ASSERT_EQ(content, expected.at(name)) << "an output is incomplete";
    const auto made = work_through(state);
    for (const std::string& slice : made) ASSERT_FALSE(stored.contains(slice)) << slice;
    ASSERT_EQ(made.size() + stored.size(), 4u);
    ASSERT_EQ(content_of(state), content_of(temporary_ / "undisturbed"));
  }
  EXPECT_EQ(all_stored.size(), 5u) << "there is a state before, between and after the four results";
}

TEST_F(JobFolderTest, ResumesAfterRepeatedKills) {
  work_through(temporary_ / "undisturbed");
  std::mt19937 dice(1);
  std::uniform_int_distribution<long> calls(1, 400);
  int killed = 0;
  for (int round = 0; round < 20; ++round) {
    fs::remove_all(outputs_);
    for (int kill = 0; kill < 3; ++kill)
      killed += !run_by_system_calls([this] { work_through(outputs_); },
                                     [last = calls(dice)](long call) { return call < last; });
    work_through(outputs_);
    ASSERT_EQ(content_of(outputs_), content_of(temporary_ / "undisturbed"));
  }
  EXPECT_GT(killed, 30) << "of 60 runs";
}

}  // namespace
}  // namespace vcap::test
