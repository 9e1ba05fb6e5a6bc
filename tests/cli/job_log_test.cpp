// SPDX-License-Identifier: Apache-2.0
#include "cli/job_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/temporary_folder.hpp"

namespace vcap::cli {
namespace {

using testing::HasSubstr;
using Outcome = JobVideoReport::Outcome;

class JobLogTest : public testing::Test {
 protected:
  /// A video of that many bytes.
  void add_video(const std::string& id, std::size_t bytes) {
    job_.videos.push_back(
        {.id = id, .source = folder_.write(id + ".mp4", std::string(bytes, ' ')).string()});
  }
  static void add_frames(JobLog& log, int frames) { log.add_frames(frames); }

  const test::TemporaryFolder folder_;
  Job job_;
};

TEST_F(JobLogTest, KnowsNoTimeBeforeAVideoIsDone) {
  add_video("gate", 100);
  JobLog log(job_);
  add_frames(log, 50);
  EXPECT_EQ(log.progress(std::chrono::seconds(5)), "0 of 1 video, 50 frames, 10.0 frames/s");
}

TEST_F(JobLogTest, EstimatesTheTimeLeftFromTheSizesOfTheVideos) {
  add_video("gate", 1000);
  add_video("yard", 3000);
  JobLog log(job_);
  add_frames(log, 150);  // 50 of them in yard
  log.add({.id = "gate", .outcome = Outcome::done, .frames = 100});
  // Of some 400 frames, 250 are left, at 10 a second.
  EXPECT_EQ(log.progress(std::chrono::seconds(15)),
            "1 of 2 videos, 150 frames, 10.0 frames/s, about 0:25 left");
}

TEST_F(JobLogTest, CountsWhatEarlierRunsHaveStored) {
  for (const char* id : {"done", "begun", "gate"}) add_video(id, 1000);
  JobLog log(job_);
  log.resume({.videos = {"done"}, .slices = 2, .frames = 60});
  log.add({.id = "done", .outcome = Outcome::done_before, .frames = 100});
  add_frames(log, 100);
  log.add({.id = "gate", .outcome = Outcome::done, .frames = 100});
  // 40 of the 200 frames of the two others are left.
  EXPECT_THAT(log.progress(std::chrono::seconds(10)), HasSubstr("2 of 3 videos"));
  EXPECT_THAT(log.progress(std::chrono::seconds(10)), HasSubstr("about 0:04 left"));
}

TEST_F(JobLogTest, WeighsVideosAlikeIfEachEndsAfterSomeFrames) {
  add_video("gate", 1000);
  add_video("yard", 900'000);
  job_.max_frames = 100;
  JobLog log(job_);
  add_frames(log, 100);
  log.add({.id = "gate", .outcome = Outcome::done, .frames = 100});
  EXPECT_THAT(log.progress(std::chrono::seconds(10)), HasSubstr("about 0:10 left"));
}

TEST_F(JobLogTest, DoesNotWaitForFailedVideos) {
  add_video("gate", 1000);
  add_video("yard", 1000);
  JobLog log(job_);
  add_frames(log, 100);
  log.add({.id = "gate", .outcome = Outcome::done, .frames = 100});
  log.add({.id = "yard", .outcome = Outcome::failed});
  EXPECT_THAT(log.progress(std::chrono::seconds(10)), HasSubstr("about 0:00 left"));
}

TEST_F(JobLogTest, KeepsTheFirstVideoOfWhichEveryFrameFailed) {
  add_video("gate", 1000);
  JobLog log(job_);
  EXPECT_EQ(log.every_frame_failed(), "");
  log.add({.id = "gate",
           .outcome = Outcome::done,
           .frames = 2,
           .failed_frames = 2,
           .first_error = "frame 0: no luck"});
  EXPECT_THAT(log.every_frame_failed(), HasSubstr("video gate: a capsule failed on every frame"));
}

}  // namespace
}  // namespace vcap::cli
