// SPDX-License-Identifier: Apache-2.0
// vcap report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command.hpp"
#include "cli/images.hpp"

namespace vcap {
namespace {

using test::images;
using test::Result;
using testing::AllOf;
using testing::HasSubstr;

class ReportCommand : public testing::Test {
 protected:
  /// Records of a stream for each number of images.
  std::string records(const std::vector<int>& frames) {
    std::vector<std::string> words{"run", test::capsule("finder"), test::capsule("follower"),
                                   "--jsonl", (folder_ / "frames.jsonl").string()};
    for (std::size_t i = 0; i < frames.size(); ++i)
      words.push_back(images(folder_, "cam" + std::to_string(i), frames[i]));
    const Result result = test::vcap(words);
    EXPECT_EQ(result.exit_code, 0) << result;
    return (folder_ / "frames.jsonl").string();
  }

  const test::TemporaryFolder folder_;
  const std::string out_ = (folder_ / "report.html").string();
};

TEST_F(ReportCommand, WritesAReportOfTheRecordsOfARun) {
  const Result result =
      test::vcap({"report", records({12}), "--out", out_, "--title", "Gate <north>"});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_EQ(result.out, "report of 12 records written to " + out_ + "\n");
  EXPECT_THAT(test::read_file(out_),
              AllOf(HasSubstr("<h1>Gate &lt;north&gt;</h1>"), HasSubstr("<h2>cam0</h2>"),
                    HasSubstr("<td>person</td><td class=\"number\">12</td>"),
                    HasSubstr("<h3>Tracks</h3>")));
}

TEST_F(ReportCommand, TakesPicturesFromTheSourceOfOneStreamOfSeveral) {
  const std::string file = records({3, 4});
  const std::string clip = (folder_ / "cam1").string();
  const Result unclear = test::vcap({"report", file, "--out", out_, "--video", clip});
  EXPECT_EQ(unclear.exit_code, 2) << unclear;
  EXPECT_THAT(unclear.err, AllOf(HasSubstr("\"cam0\", \"cam1\""), HasSubstr("STREAM=CLIP")));

  const Result result = test::vcap({"report", file, "--out", out_, "--video", "cam1=" + clip});
  EXPECT_EQ(result.exit_code, 0) << result;
  EXPECT_THAT(test::read_file(out_),
              AllOf(HasSubstr("data:image/jpeg;base64,"), HasSubstr("href=\"./cam1#t=0.0\"")));
}

TEST_F(ReportCommand, RefusesWhatItCannotReadOrWouldReplace) {
  const std::string file = records({2});
  for (const auto& [arguments, exit_code, message] :
       std::vector<std::tuple<std::vector<std::string>, int, std::string>>{
           {{"report", file, "--out", file}, 2, "would be replaced"},
           {{"report", file, "--out", out_, "--video", "cam=a.mp4"}, 2, "did you mean \"cam0\"?"},
           {{"report", file, "--out", out_, "--video", "nowhere.mp4"}, 6, "nowhere.mp4"},
           {{"report", "none.jsonl", "--out", out_}, 6, "none.jsonl"},
           {{"report", folder_.write("bad.jsonl", "{\"schema\":1}\n"), "--out", out_}, 2, "line 1"},
           {{"report", file}, 2, "--out is required"}}) {
    const Result result = test::vcap(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result;
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_FALSE(std::filesystem::exists(out_));
  }
}

}  // namespace
}  // namespace vcap
