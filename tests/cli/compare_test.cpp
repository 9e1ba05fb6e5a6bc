// SPDX-License-Identifier: Apache-2.0
// vcap report --compare.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command.hpp"
#include "cli/images.hpp"

namespace vcap::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class CompareCommand : public testing::Test {
 protected:
  static std::string line(int frame, double x, const std::string& stream) {
    const std::string at = std::to_string(x), right = std::to_string(x + 20);
    return R"({"schema":"vcap.frame/1","stream_id":")" + stream + R"(","frame_index":)" +
           std::to_string(frame) + R"(,"pts_ns":)" + std::to_string(frame * 40'000'000L) +
           R"(,"resolution":{"width":64,"height":48},"objects":[{"name":"person","coords":[[)" +
           at + ",0],[" + right + ",0],[" + right + ",30],[" + at + ",30]]}]}\n";
  }
  /// A file of records whose boxes are at x.
  std::string file(const std::string& name, double x, int frames = 5,
                   const std::string& stream = "cam") const {
    std::string lines;
    for (int i = 0; i < frames; ++i) lines += line(i, x, stream);
    return folder_.write(name, lines).string();
  }
  Result compare(const std::string& a, const std::string& b,
                 std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"report", "--compare", a, b, "--out", out_};
    words.insert(words.end(), more.begin(), more.end());
    return vcap(words);
  }

  const TemporaryFolder folder_;
  const std::string out_ = (folder_ / "compared.html").string();
};

TEST_F(CompareCommand, SaysThatRunsAreIdentical) {
  const Result result = compare(file("a.jsonl", 1), file("b.jsonl", 1), {"--exit-code"});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_EQ(result.out, "identical: 5 frames\ncomparison written to " + out_ + "\n");
  EXPECT_THAT(read_file(out_),
              AllOf(HasSubstr("<h1>vcap comparison</h1>"), HasSubstr("Identical: both runs")));
}

TEST_F(CompareCommand, SaysWhatDiffersAndFailsOnlyIfAsked) {
  const std::string a = file("a.jsonl", 1), b = file("b.jsonl", 4, 6);
  const Result result = compare(a, b, {"--title", "Old and new"});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.out,
              StartsWith("different: 5 of 5 frames, 0 only in A, 1 only in B; objects: 0 appeared, "
                         "0 vanished, 5 moved\n"));
  EXPECT_THAT(read_file(out_), AllOf(HasSubstr("<h1>Old and new</h1>"), HasSubstr("a.jsonl")));
  EXPECT_EQ(compare(a, b, {"--exit-code"}).exit_code, 1);
}

TEST_F(CompareCommand, TakesMovesWithinTheToleranceForAlike) {
  const Result result =
      compare(file("a.jsonl", 1), file("b.jsonl", 4), {"--tolerance", "3", "--exit-code"});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(result.out, StartsWith("alike: 5 frames; other fields differ: coords in 5\n"));
}

TEST_F(CompareCommand, ReadsTheFoldersOfJobs) {
  for (const char* job : {"one", "other"}) {
    std::filesystem::create_directories(folder_ / job);
    for (const char* stream : {"cam0", "cam1"})
      file(std::string(job) + "/" + stream + ".jsonl", 1, 3, stream);
  }
  const Result result = compare((folder_ / "one").string(), (folder_ / "other").string());
  EXPECT_THAT(result.out, StartsWith("identical: 6 frames\n")) << result;
}

TEST_F(CompareCommand, RefusesWhatItCannotCompare) {
  const std::string a = file("a.jsonl", 1), b = file("b.jsonl", 1);
  const std::string empty = folder_.write("empty.jsonl", "").string();
  std::filesystem::create_directories(folder_ / "none");
  for (const auto& [arguments, exit_code, message] :
       std::vector<std::tuple<std::vector<std::string>, int, std::string>>{
           {{"report", "--compare", a, "--out", out_}, 2, "--compare"},
           {{"report", a, "--compare", a, b, "--out", out_}, 2, "two runs"},
           {{"report", "--compare", a, b, "--out", b}, 2, "would be replaced"},
           {{"report", "--compare", empty, empty, "--out", out_}, 2, "no records"},
           {{"report", "--compare", a, (folder_ / "none").string(), "--out", out_}, 2, "*.jsonl"},
           {{"report", "--compare", a, "nowhere.jsonl", "--out", out_}, 6, "nowhere.jsonl"},
           {{"report", a, "--tolerance", "1", "--out", out_}, 2, "--compare"},
           {{"report", "--out", out_}, 2, "RECORDS"}}) {
    const Result result = vcap(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result;
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_FALSE(std::filesystem::exists(out_));
  }
}

}  // namespace
}  // namespace vcap::test
