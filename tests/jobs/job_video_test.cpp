// SPDX-License-Identifier: Apache-2.0
// How one video of a job is cut, and how its frames are found again.
#include "jobs/job_video.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "jobs/bulk_helpers.hpp"
#include "jobs/job_work.hpp"
#include "sources/stored_source.hpp"
#include "support/live_helpers.hpp"

namespace vcap::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kScanned = ": scanned";
constexpr const char* kFoundByIndex = ": its frames are found by the index stored with its plan";

class JobVideoTest : public BulkTest {
 protected:
  JobVideoTest() {
    job_.slices = 3;
    add_clip("gate", 150);  // with a keyframe every 17 frames
  }
  /// The plan that a process makes for the video.
  json plan(const Capsules& capsules) {
    JobFolder store(job_.outputs.folder, {{"job", "test"}});
    const JobWork work(job_, capsules, store, {});
    EXPECT_EQ(work.open(job_.videos.front())->missing().size(), 3u);
    return store.plan("gate").value();
  }
  /// Makes a plan and its index, and lets another process finish the job. Returns what that one
  /// logs. `index`: replaces the stored one.
  std::string finish_with(const std::optional<std::string>& index) {
    plan(capsules_);
    const auto stored = std::filesystem::path(job_.outputs.folder) / ".vcap-job/videos/gate/index";
    EXPECT_TRUE(std::filesystem::exists(stored));
    if (index) std::ofstream(stored, std::ios::binary) << *index;
    const KeptLog log;
    EXPECT_EQ(run(capsules_).done, 1);
    EXPECT_EQ(outputs_in(job_.outputs.folder), outputs_of_single_runs(job_, capsules_, folder_));
    return log.text();
  }
  std::string index_of_another(const ClipPlan& clip) const {
    write_clip(folder_ / "other.mp4", clip);
    return save_index(*open_source(folder_ / "other.mp4")->random_access());
  }

  const Capsules capsules_{make_counter("recent", 4)};
};

TEST_F(JobVideoTest, IsCutAtKeyframes) {
  EXPECT_EQ(plan({make_detector("plain", "thing")}), json({{0, 51}, {51, 102}, {102, 150}}));
}

TEST_F(JobVideoTest, IsCutWhereTheWarmUpBeginsAtAKeyframe) {
  EXPECT_EQ(plan({make_counter("recent", 4)}), json({{0, 55}, {55, 106}, {106, 150}}));
}

TEST_F(JobVideoTest, IsNotScannedAgainByAnotherProcess) {
  const std::string log = finish_with({});
  EXPECT_THAT(log, HasSubstr(kFoundByIndex));
  EXPECT_THAT(log, Not(HasSubstr(kScanned)));
}

TEST_F(JobVideoTest, IsScannedIfItsIndexIsDamaged) {
  const std::string log = finish_with("not an index");
  EXPECT_THAT(log, HasSubstr("scanned, since the index that should be stored with its plan cannot "
                             "be used: it is not one of this file"));
}

TEST_F(JobVideoTest, IsScannedIfTheIndexHasAnotherNumberOfFrames) {
  const std::string log =
      finish_with(index_of_another({.size = {64, 48}, .frames = 149, .options = b_frames(false)}));
  EXPECT_THAT(log, HasSubstr("it is not of the plan's frames"));
}

TEST_F(JobVideoTest, IsScannedIfTheIndexHasOtherTimes) {
  const std::string log = finish_with(
      index_of_another({.size = {64, 48},
                        .frames = 150,
                        .time = [](int i) { return std::int64_t{40} * i + (i > 70 ? 20 : 0); },
                        .options = b_frames(false)}));
  EXPECT_THAT(log, HasSubstr("its stored index is not used any more"));
  EXPECT_THAT(log, HasSubstr(kScanned));
  EXPECT_THAT(log, Not(HasSubstr("run again without slices"))) << "it is not damaged";
}

}  // namespace
}  // namespace vcap::test
