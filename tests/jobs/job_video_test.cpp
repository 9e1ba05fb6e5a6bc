// SPDX-License-Identifier: Apache-2.0
// How one video of a job is cut.
#include "jobs/job_video.hpp"

#include <gtest/gtest.h>

#include "jobs/bulk_helpers.hpp"
#include "jobs/job_work.hpp"

namespace vcap::test {
namespace {

using nlohmann::json;

class JobVideoTest : public BulkTest {
 protected:
  JobVideoTest() {
    job_.slices = 3;
    add_clip("gate", 150);  // with a keyframe every 17 frames
  }
  /// The plan that a process makes or finds for the video.
  json plan(const Capsules& capsules) {
    JobFolder store(job_.outputs.folder, {{"job", "test"}});
    const JobWork work(job_, capsules, store, {});
    EXPECT_EQ(work.open(job_.videos.front())->missing().size(), 3u);
    return store.plan("gate").value();
  }
};

TEST_F(JobVideoTest, IsCutAtKeyframes) {
  EXPECT_EQ(plan({make_detector("plain", "thing")}), json({{0, 51}, {51, 102}, {102, 150}}));
}

TEST_F(JobVideoTest, IsCutWhereTheWarmUpBeginsAtAKeyframe) {
  EXPECT_EQ(plan({make_counter("recent", 4)}), json({{0, 55}, {55, 106}, {106, 150}}));
}

}  // namespace
}  // namespace vcap::test
