// SPDX-License-Identifier: Apache-2.0
// A detector and a tracker on real footage, recorded and run again.
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/command.hpp"
#include "examples/examples.hpp"
#include "support/temporary_folder.hpp"

namespace {

using vcap::test::read_file;

TEST(ReplayOfExamples, GivesTheSameBytesFromTheBeginningAndFromTheDetector) {
  const vcap::test::TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder / name).string(); };
  const auto run = vcap::test::vcap({"run", examples::capsule_path("tracker_person").string(),
                                     examples::capsule_path("classifier_clothing_color").string(),
                                     examples::capsule_path("detector_person_hog").string(),
                                     examples::footage().string(), "--max-frames", "30", "--record",
                                     path("night"), "--jsonl", path("first.jsonl")});
  ASSERT_EQ(run.exit_code, 0) << run;
  const std::string first = read_file(folder / "first.jsonl");
  EXPECT_EQ(std::ranges::count(first, '\n'), 30);
  EXPECT_NE(first.find("track_id"), std::string::npos);

  const auto again = vcap::test::vcap({"replay", path("night"), "--jsonl", path("again.jsonl")});
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_EQ(read_file(folder / "again.jsonl"), first);

  const auto later = vcap::test::vcap(
      {"replay", path("night"), "--from", "detector_person_hog", "--jsonl", path("later.jsonl")});
  EXPECT_EQ(later.exit_code, 0) << later;
  EXPECT_EQ(read_file(folder / "later.jsonl"), first);
}

}  // namespace
