// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <opencv2/imgcodecs.hpp>

#include "examples/examples.hpp"
#include "support/paths.hpp"

namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct Outcome {
  int exit_code;
  std::string output;  // standard output and standard error
};

std::string quoted(const std::string& text) { return std::string("'").append(text).append("'"); }

/// Runs an example host. Quotes every argument. `input` is a file for its standard input.
Outcome run(const std::string& app, const std::vector<std::string>& arguments,
            const std::string& input = "/dev/null") {
  std::string command = quoted((fs::path(vcap::test::built("examples/apps")) / app / app).string());
  for (const std::string& argument : arguments) command.append(" ").append(quoted(argument));
  FILE* pipe = popen((command + " 2>&1 <" + quoted(input)).c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  Outcome outcome{};
  std::array<char, 4096> buffer;
  while (const std::size_t count = fread(buffer.data(), 1, buffer.size(), pipe))
    outcome.output.append(buffer.data(), count);
  const int status = pclose(pipe);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

std::string cap(const std::string& name) { return examples::capsule_path(name).string(); }

/// The same, but sends `further_input` only after the output contains `words`, or after 30 seconds.
Outcome run_until(const std::string& app, const std::vector<std::string>& arguments,
                  const fs::path& folder, const std::string& input, const std::string& words,
                  const std::string& further_input) {
  std::ofstream(folder / "input.txt") << input;
  std::ofstream(folder / "further.txt") << further_input;
  const std::string output = quoted((folder / "output.txt").string());
  std::ofstream(folder / "commands.sh")
      << "{ cat " << quoted((folder / "input.txt").string()) << "; for i in $(seq 300); do grep -q "
      << quoted(words) << " " << output << " && break; sleep 0.1; done; cat "
      << quoted((folder / "further.txt").string()) << "; } | "
      << quoted((fs::path(vcap::test::built("examples/apps")) / app / app).string());
  {
    std::ofstream commands(folder / "commands.sh", std::ios::app);
    for (const std::string& argument : arguments) commands << " " << quoted(argument);
    commands << " >" << output << " 2>&1\n";
  }
  const int status = std::system(("sh " + quoted((folder / "commands.sh").string())).c_str());
  std::ifstream file(folder / "output.txt");
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          .output = {std::istreambuf_iterator<char>(file), {}}};
}

/// A folder with the first frames of the footage, as a short source.
class ExampleHosts : public testing::Test {
 protected:
  ExampleHosts() {
    fs::create_directories(folder_);
    int i = 0;
    for (const cv::Mat& frame : examples::read_frames(examples::footage(), 3))
      cv::imwrite((folder_ / ("frame" + std::to_string(i++) + ".png")).string(), frame);
  }
  ~ExampleHosts() override { fs::remove_all(folder_); }

  const fs::path folder_ =
      fs::path(testing::TempDir()) /
      (std::string("vcap_") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(ExampleHosts, MinimalHostPrintsTheBoxesOfAVideo) {
  const Outcome outcome = run("minimal_host", {cap("detector_person_hog"), folder_.string()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("frame 0: person at "));
  EXPECT_THAT(outcome.output, HasSubstr("frame 1: person at "));
}

TEST_F(ExampleHosts, MinimalHostNamesAMissingFile) {
  const Outcome outcome = run("minimal_host", {"absent.cap", folder_.string()});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.output, HasSubstr("absent.cap"));
}

TEST_F(ExampleHosts, MultiStreamHostSumsUpEveryStream) {
  const std::string twice = folder_.string() + "/*.png";
  const Outcome outcome =
      run("multi_stream_host",
          {cap("tracker_person"), cap("detector_person_hog"), folder_.string(), twice});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("0 " + folder_.string() + ": 3 frames"));
  EXPECT_THAT(outcome.output, HasSubstr("1 " + twice + ": 3 frames"));
  EXPECT_THAT(outcome.output, HasSubstr(" x person"));
  EXPECT_THAT(outcome.output, HasSubstr(" tracks"));
}

TEST_F(ExampleHosts, LiveHostAttachesChangesAndUpgradesWhileStreamsRun) {
  const Outcome outcome =
      run_until("live_host", {cap("detector_person_hog")}, folder_,
                "attach gate " + examples::footage().string() +
                    " detector_person_hog.threshold=0.7\n"
                    "attach nowhere /absent.avi\n"
                    "option gate detector_person_hog.threshold=0.5\n"
                    "upgrade " +
                    vcap::test::built("tests/examples/detector_person_hog_2.cap") + "\n",
                "detector_person_hog version 2",
                "stats\ndetach gate\nattach yard " + folder_.string() + "/*.png\n");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("live_host: "));
  EXPECT_THAT(outcome.output, HasSubstr("/absent.avi"));
  EXPECT_THAT(outcome.output, testing::ContainsRegex("gate: from frame [0-9]+ on"));
  EXPECT_THAT(outcome.output,
              testing::ContainsRegex("gate frame [0-9]+: detector_person_hog version 2\n"));
  EXPECT_THAT(outcome.output, HasSubstr("\"schema\": \"vcap.stats/1\""));
  EXPECT_THAT(outcome.output, testing::ContainsRegex("gate: [0-9]+ frames, 0 with errors"));
  EXPECT_THAT(outcome.output, HasSubstr("yard: 3 frames, 0 with errors"));
}

TEST_F(ExampleHosts, EveryHostPrintsItsUsage) {
  for (const char* app : {"minimal_host", "multi_stream_host", "webcam_host", "live_host"}) {
    const Outcome outcome = run(app, {});
    EXPECT_EQ(outcome.exit_code, 2) << app;
    EXPECT_THAT(outcome.output, HasSubstr(std::string("usage: ") + app));
  }
}

}  // namespace
