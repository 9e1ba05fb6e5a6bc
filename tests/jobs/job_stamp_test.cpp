// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_stamp.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <functional>

#include <nlohmann/json.hpp>

#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"

namespace vcap::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::HasSubstr;

class JobStamp : public testing::Test {
 protected:
  Json stamp() const { return job_stamp(job_, manifests_); }

  TemporaryFolder folder_;
  Job job_{.capsules = {{.path = "a.cap"}},
           .videos = {{.id = "gate", .source = folder_.write("gate.mp4", "gate")}},
           .outputs = {.folder = "out"}};
  std::vector<Manifest> manifests_{{.info = {.name = "detector", .version = 1}}};
};

TEST_F(JobStamp, IgnoresWhereFilesAreAndHowTheJobRuns) {
  const Json before = stamp();
  const auto modified = fs::last_write_time(folder_ / "gate.mp4");
  fs::create_directory(folder_ / "moved");
  fs::rename(folder_ / "gate.mp4", folder_ / "moved" / "gate.mp4");
  fs::last_write_time(folder_ / "moved" / "gate.mp4", modified);
  job_.videos[0].source = folder_ / "moved" / "gate.mp4";
  job_.capsules[0].path = "b.cap";
  job_.outputs.folder = "elsewhere";
  job_.attempts = 9;
  job_.parallel = 7;
  job_.slices = 4;
  EXPECT_EQ(stamp_difference(before, stamp()), "");
}

TEST_F(JobStamp, NamesEveryDifferenceByItsJsonPointer) {
  const Json before = stamp();
  const Job job = job_;
  const std::vector<Manifest> manifests = manifests_;
  const auto modified = fs::last_write_time(folder_ / "gate.mp4");
  const struct {
    const char* difference;
    std::function<void()> change;
  } cases[] = {
      {"/capsules/detector/config/k was absent, but is now 1",
       [&] { job_.capsules[0].config["k"] = 1; }},
      {"/capsules/detector/stencil was absent, but is now an object",
       [&] {
         job_.capsules[0].stencil = Stencil{{-1, 0}};
       }},
      {"/invalid_output was \"error\", but is now \"off\"",
       [&] { job_.invalid_output = InvalidOutput::off; }},
      {"/max_frames was absent, but is now 9", [&] { job_.max_frames = 9; }},
      {"/max_pixels was 67108864, but is now 9", [&] { job_.max_pixels = 9; }},
      {"/capsules/detector was an object, but is now absent",
       [&] { manifests_[0].info.name = "other"; }},
      {"/capsules/detector/sha256 was ",
       [&] {
         manifests_[0].files = {{"m", 1, "0"}};
       }},
      {"/capsules/tracker was absent, but is now an object",
       [&] {
         job_.capsules.push_back({});
         manifests_.push_back({.info = {.name = "tracker", .version = 1}});
       }},
      {"/capsules/detector/place was 0, but is now 1",
       [&] {
         job_.capsules.insert(job_.capsules.begin(), Job::CapsuleFile());
         manifests_.insert(manifests_.begin(), {.info = {.name = "tracker", .version = 1}});
       }},
      {"/videos/gate was an object, but is now absent", [&] { job_.videos[0].id = "yard"; }},
      {"/videos/yard was absent, but is now an object",
       [&] {
         job_.videos.push_back(job_.videos[0]);
         job_.videos[1].id = "yard";
       }},
      {"/videos/gate/options/a was absent, but is now an object",
       [&] { job_.videos[0].options["a"] = Json::object(); }},
      {"/videos/gate/config/a was absent, but is now an object",
       [&] { job_.videos[0].config["a"] = Json::object(); }},
      {"/videos/gate/capsules was absent, but is now an array of 0",
       [&] { job_.videos[0].capsules.emplace(); }},
      {"/outputs/jsonl was true, but is now false", [&] { job_.outputs.jsonl = false; }},
      {"/outputs/video was false, but is now true", [&] { job_.outputs.video = true; }},
      {"/outputs/summary was false, but is now true", [&] { job_.outputs.summary = true; }},
      {"/videos/gate/size was 4, but is now 5",
       [&] {
         folder_.write("gate.mp4", "gate2");
         fs::last_write_time(folder_ / "gate.mp4", modified);
       }},
      {"/videos/gate/modified_ns was ",
       [&] {
         folder_.write("gate.mp4", "gate");
         fs::last_write_time(folder_ / "gate.mp4", modified + std::chrono::nanoseconds(1));
       }},
  };
  for (const auto& [difference, change] : cases) {
    job_ = job;
    manifests_ = manifests;
    change();
    EXPECT_THAT(stamp_difference(before, stamp()), HasSubstr(difference));
  }
}

TEST_F(JobStamp, SaysThatTheFileOfAVideoHasChanged) {
  const Json before = stamp()["videos"]["gate"];
  folder_.write("gate.mp4", "gate2");
  EXPECT_EQ(stamp_difference(before, stamp()["videos"]["gate"]), "its file has changed");
}

TEST_F(JobStamp, RefusesAMissingVideo) {
  fs::remove(folder_ / "gate.mp4");
  EXPECT_THAT([&] { stamp(); }, ThrowsError<SourceError>(ErrorCode::source_open,
                                                         HasSubstr("gate.mp4 cannot be read")));
}

}  // namespace
}  // namespace vcap::test
