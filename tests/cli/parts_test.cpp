// SPDX-License-Identifier: Apache-2.0
// vcap run on parts of a source and in slices, and vcap check-state.
#include <gmock/gmock.h>

#include <sstream>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/images.hpp"
#include "support/clip_packets.hpp"
#include "support/clip_writer.hpp"
#include "vcap/sources/random_access.hpp"

namespace vcap {
namespace {

using test::images;
using test::read_file;
using test::Result;
using test::TemporaryFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Parts : public testing::Test {
 protected:
  /// Runs the capsule with bounded state on sixty images; gives the lines of its records.
  std::vector<std::string> lines_of(std::vector<std::string> arguments) {
    const std::string path = (folder_ / "records.jsonl").string();
    std::vector<std::string> words{
        "run", "--capsule", test::capsule("recent"), "--source", images_, "--jsonl", path};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const Result result = test::vcap(words);
    EXPECT_EQ(result.exit_code, 0) << result;
    summary_ = result.out;
    std::vector<std::string> lines;
    std::istringstream stream(read_file(path));
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }

  const TemporaryFolder folder_;
  const std::string images_ = images(folder_, "shots", 60);
  std::string summary_;
};

TEST_F(Parts, GiveTheSameLinesAsTheWhole) {
  const auto all = lines_of({});
  ASSERT_EQ(all.size(), 60u);
  EXPECT_THAT(lines_of({"--frames", "0,17,59"}), ElementsAre(all[0], all[17], all[59]));
  EXPECT_THAT(lines_of({"--ranges", "1-3,40-41"}), ElementsAre(all[1], all[2], all[40]));
}

TEST_F(Parts, MayBeSlicesThatRunConcurrently) {
  const auto all = lines_of({"--slices", "off"});
  EXPECT_EQ(lines_of({"--slices", "4"}), all);
  EXPECT_THAT(summary_, HasSubstr("  slices           4\n"));
  EXPECT_EQ(lines_of({"--slices", "auto"}), all);
  EXPECT_THAT(summary_, HasSubstr("  slices           none: "));
}

TEST_F(Parts, AreRefusedIfInvalid) {
  const struct {
    std::vector<std::string> arguments;
    const char* why;
  } cases[] = {
      {{"--frames", "3,3"}, "--frames 3,3: frame 3 follows frame 3; give each frame once"},
      {{"--frames", "5,2"}, "frame 2 follows frame 5"},
      {{"--frames", "1,60"}, "frame 60 is selected, but images in "},
      {{"--frames", "one"}, "\"one\" is not the number of a frame"},
      {{"--frames=-1"}, "\"-1\" is not the number of a frame"},
      {{"--frames", "3,"}, "\"\" is not the number of a frame"},
      {{"--ranges", "0-5,"}, "\"\" is not a range"},
      {{"--ranges", "0-5,4-9"}, "begins before the end of the range 0 to 5"},
      {{"--ranges", "5-5"}, "the range 5 to 5 is empty"},
      {{"--ranges", "7"}, "\"7\" is not a range"},
      {{"--ranges", "50-61"}, "has only frames 0 to 59"},
      {{"--slices", "0"}, "--slices 0: give auto, off, or the number of slices"},
      {{"--slices", "some"}, "--slices some"},
      {{"--slices", "2", "--keep-every", "3"}, "it skips frames"},
  };
  for (const auto& [arguments, why] : cases) {
    std::vector<std::string> words{"run", "--capsule", test::capsule("recent"), "--source",
                                   images_};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const Result result = test::vcap(words);
    EXPECT_EQ(result.exit_code, 2) << result;
    EXPECT_THAT(result.err, AllOf(HasSubstr(why), Not(testing::ContainsRegex("\\brows?\\b"))));
  }
  const Result unbounded =
      test::vcap({"run", "--capsule", test::capsule("finder"), "--capsule",
                  test::capsule("follower"), "--source", images_, "--slices", "2"});
  EXPECT_EQ(unbounded.exit_code, 2) << unbounded;
  EXPECT_THAT(unbounded.err, HasSubstr("the state of capsule follower is unbounded"));
}

TEST_F(Parts, ShowWhetherADeclarationIsTrue) {
  const Result honest = test::vcap({"check-state", test::capsule("recent"), "--source", images_});
  EXPECT_EQ(honest.exit_code, 0) << honest;
  EXPECT_THAT(honest.out,
              AllOf(HasSubstr("capsule recent version 1: bounded state, warm-up of 3 frames"),
                    HasSubstr("again, no slices   60 frames, the same\n"),
                    HasSubstr("in 5 slices        60 frames, the same\n"),
                    HasSubstr("one frame in 10    6 frames, the same\n"),
                    HasSubstr("in batches of 8    60 frames, the same; no two inputs were "
                              "in one batch, because the capsule does not declare batches\n")));

  const std::vector<std::string> lie{"check-state", test::capsule("recent"), "--source", images_,
                                     "--config",    "recent={\"lies\":true}"};
  const Result liar = test::vcap(lie);
  EXPECT_EQ(liar.exit_code, 1) << liar;
  EXPECT_THAT(liar.out,
              AllOf(HasSubstr("again, no slices   60 frames, the same\n"),
                    HasSubstr("in 2 slices        30 of 60 frames differ, the first: frame 30, "
                              "/objects/0/extra_data/seen: 3 in place of 30\n"),
                    HasSubstr("in batches of 8    60 frames, the same; no two inputs were "
                              "in one batch, because the capsule does not declare batches\n")));

  auto tolerant = lie;
  tolerant.insert(tolerant.end(), {"--tolerance", "seen=60"});
  const Result tolerated = test::vcap(tolerant);
  EXPECT_EQ(tolerated.exit_code, 0);
  EXPECT_THAT(tolerated.out, HasSubstr("in 2 slices        60 frames, the same within the "
                                       "tolerance, in which 30 differ\n"));
  for (const char* const wrong : {"seen=x", "nosuch=1", "=1", "seen=inf"}) {
    tolerant.back() = wrong;
    const Result refused = test::vcap(tolerant);
    EXPECT_EQ(refused.exit_code, 2) << wrong;
    EXPECT_THAT(refused.err, HasSubstr("--tolerance ")) << wrong;
  }
}

TEST_F(Parts, ShowWhetherBatchesChangeResults) {
  const Result honest = test::vcap({"check-state", test::capsule("together"), "--source", images_});
  EXPECT_EQ(honest.exit_code, 0) << honest;
  EXPECT_THAT(honest.out, HasSubstr("in batches of 8    60 frames, the same\n"));
  EXPECT_THAT(honest.out, Not(HasSubstr("in one batch")));

  const Result liar = test::vcap({"check-state", test::capsule("together"), "--source", images_,
                                  "--config", "together={\"lies\":true}"});
  EXPECT_EQ(liar.exit_code, 1) << liar;
  EXPECT_THAT(liar.out, testing::ContainsRegex(
                            "in batches of 8    [0-9]+ of 60 frames differ, the first: frame "
                            "[0-9]+, /objects/0/extra_data/count: [2-8] in place of 1"));
}

TEST_F(Parts, ShowWhetherBatchesOfWindowsChangeResults) {
  const Result honest = test::vcap({"check-state", test::capsule("windowed"), "--source", images_});
  EXPECT_EQ(honest.exit_code, 0) << honest;
  EXPECT_THAT(honest.out, AllOf(HasSubstr("in 5 slices        60 frames, the same\n"),
                                HasSubstr("in batches of 8    60 frames, the same\n"),
                                Not(HasSubstr("in one batch"))));

  const Result liar = test::vcap({"check-state", test::capsule("windowed"), "--source", images_,
                                  "--config", "windowed={\"lies\":true}"});
  EXPECT_EQ(liar.exit_code, 1) << liar;
  EXPECT_THAT(liar.out, testing::ContainsRegex(
                            "in batches of 8    [0-9]+ of 60 frames differ, the first: frame "
                            "[0-9]+, /objects/0/extra_data/seen: "));
}

TEST_F(Parts, AreNotComparedIfTheComparisonProvesNothing) {
  const Result result =
      test::vcap({"check-state", test::capsule("recent"), "--source", images_, "--max-frames", "4",
                  "--config", "recent={\"lies\":true}", "--slices", "2", "--slices", "5"});
  EXPECT_EQ(result.exit_code, 1) << result;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("in 2 slices        not run: each slice would need all frames "
                              "before it; give a source of more than 8 frames\n"),
                    HasSubstr("in 5 slices        not run: the source has only 4 frames\n"),
                    HasSubstr("one frame in 10    not run: the source has only 4 frames\n")));
}

/// Clips whose header announces another number of frames than they have, and whose frames are found
/// only by decoding.
TEST_F(Parts, ShowWhetherADeclarationIsTrueWhateverTheHeaderAnnounces) {
  const auto clip = folder_ / "clip.avi";
  test::write_clip(clip, {.encoder = "mpeg4", .frames = 40, .options = {{"bf", "2"}, {"g", "13"}}});
  ASSERT_FALSE(open_source(clip.string())->random_access());
  for (const std::uint32_t announced : {400u, 10u}) {
    SCOPED_TRACE(announced);
    test::announce(clip, announced);
    const Result result =
        test::vcap({"check-state", test::capsule("recent"), "--source", clip.string()});
    EXPECT_EQ(result.exit_code, 0) << result;
    EXPECT_THAT(result.out, AllOf(HasSubstr("again, no slices   40 frames, the same\n"),
                                  HasSubstr("in 5 slices        40 frames, the same\n"),
                                  HasSubstr("one frame in 10    4 frames, the same\n")));
    EXPECT_THAT(result.err, AllOf(Not(HasSubstr("cut off")), Not(HasSubstr("sampl"))));
    const Result liar = test::vcap({"check-state", test::capsule("recent"), "--source",
                                    clip.string(), "--config", "recent={\"lies\":true}"});
    EXPECT_EQ(liar.exit_code, 1) << liar;
    EXPECT_THAT(liar.out, HasSubstr("in 2 slices        20 of 40 frames differ"));
  }
}

TEST_F(Parts, BlameTheCapsuleThatDiffersFromRunToRun) {
  const Result result = test::vcap({"check-state", test::capsule("follower"), "--with",
                                    test::capsule("fickle"), "--source", images_});
  EXPECT_EQ(result.exit_code, 1) << result;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("without it, again  60 of 60 frames differ, the first: frame 0, "
                              "/objects/0/"),
                    HasSubstr("nothing is shown about capsule follower, because the capsules given "
                              "by --with (fickle) do not give the same records in every run"),
                    Not(HasSubstr("again, no slices"))));
}

TEST_F(Parts, AreNotCutIfTheStateIsUnbounded) {
  const Result result = test::vcap({"check-state", test::capsule("follower"), "--with",
                                    test::capsule("finder"), "--source", images_});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("capsule follower version 1: unbounded state"),
                    HasSubstr("in slices          not run: the state of capsule follower is "
                              "unbounded\n"),
                    HasSubstr("one frame in 10    6 frames, the same\n")));
}

}  // namespace
}  // namespace vcap
