// SPDX-License-Identifier: Apache-2.0
// vcap completion, in the shells themselves, and vcap man.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;
using test::Result;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Standard output of a shell's command; `fault`: also standard error.
std::string output_of(const std::string& command) {
  FILE* pipe = popen(("timeout 120 " + command).c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string output;
  std::array<char, 4096> buffer;
  while (const std::size_t count = fread(buffer.data(), 1, buffer.size(), pipe))
    output.append(buffer.data(), count);
  if (pclose(pipe) != 0) output += "\n(failed: " + command + ")";
  return output;
}

class ShellCompletion : public testing::Test {
 protected:
  std::string script(const std::string& shell) {
    const Result result = test::vcap({"completion", shell});
    EXPECT_EQ(result.exit_code, 0) << result;
    return folder_.write("vcap." + shell, result.out).string();
  }
  /// The words that bash offers for the last of the words.
  std::string in_bash(const std::string& words) {
    return output_of(
        "bash -c 'source \"$0\"; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); "
        "_vcap 2>/dev/null; echo \"${COMPREPLY[*]}\"' " +
        script("bash") + " " + words);
  }
  std::string in_fish(const std::string& line) {
    return output_of("fish -c 'source " + script("fish") + "; complete -C \"" + line + "\"'");
  }
  /// What the terminal shows until `expected` appears.
  std::string in_zsh(const std::string& line, const std::string& expected) {
    return output_of("zsh " + test::in_sources("tests/cli/complete.zsh") + " " + script("zsh") +
                     " '" + line + "' '" + expected + "'");
  }

  const test::TemporaryFolder folder_;
};

TEST_F(ShellCompletion, KnowsCommandsInBash) {
  EXPECT_EQ(in_bash("vcap insp"), "inspect\n");
  EXPECT_THAT(in_bash("vcap ''"),
              AllOf(HasSubstr("run "), HasSubstr("completion"), HasSubstr("--help")));
}

TEST_F(ShellCompletion, KnowsTheOptionsOfACommandInBash) {
  EXPECT_EQ(in_bash("vcap run --overf"), "--overflow\n");
  EXPECT_EQ(in_bash("vcap inspect --overf"), "\n") << "only run has it";
  EXPECT_EQ(in_bash("vcap run --deadline 3 --overf"), "--overflow\n");
}

TEST_F(ShellCompletion, KnowsTheCommandsOfAGroupInBash) {
  EXPECT_EQ(in_bash("vcap cluster dr"), "drain\n");
  EXPECT_EQ(in_bash("vcap cluster up --di"), "--dir\n");
  EXPECT_EQ(in_bash("vcap stream --he"), "--help\n");
  EXPECT_EQ(in_bash("vcap stream drain --di"), "\n");
}

TEST_F(ShellCompletion, KnowsTheValuesOfAnOptionInBash) {
  EXPECT_EQ(in_bash("vcap run --overflow ''"), "wait drop-oldest drop-newest\n");
  EXPECT_EQ(in_bash("vcap run --overflow = drop-o"), "drop-oldest\n") << "bash splits at =";
  EXPECT_EQ(in_bash("vcap run --slices ''"), "auto off\n") << "N stands for a number";
  EXPECT_EQ(in_bash("vcap run --stride ''"), "\n") << "a number";
}

TEST_F(ShellCompletion, KnowsCommandsOptionsAndValuesInFish) {
  EXPECT_THAT(in_fish("vcap insp"), HasSubstr("inspect\tShows the description of a capsule\n"));
  EXPECT_THAT(in_fish("vcap run --overf"), HasSubstr("--overflow\t"));
  EXPECT_THAT(in_fish("vcap inspect --overf"), IsEmpty());
  EXPECT_THAT(in_fish("vcap completion "), HasSubstr("bash\nfish\nzsh\n"));
  EXPECT_THAT(in_fish("vcap cluster dr"), HasSubstr("drain\t"));
  EXPECT_THAT(in_fish("vcap cluster up --di"), HasSubstr("--dir\t"));
  EXPECT_THAT(in_fish("vcap cluster up dr"), IsEmpty());
}

TEST_F(ShellCompletion, OffersFilesInFish) {
  folder_.write("gate.cap", "");
  const std::string start = (folder_ / "ga").string();
  EXPECT_THAT(in_fish("vcap run --jsonl " + start), HasSubstr("gate.cap"));
  EXPECT_THAT(in_fish("vcap run " + start), HasSubstr("gate.cap"));
  EXPECT_THAT(in_fish("vcap run --stride " + start), Not(HasSubstr("gate.cap")));
}

TEST_F(ShellCompletion, KnowsCommandsOptionsAndValuesInZsh) {
  EXPECT_THAT(in_zsh("vcap insp", "ect"), HasSubstr("inspect"));
  EXPECT_THAT(in_zsh("vcap run --overf", "low"), HasSubstr("--overflow"));
  EXPECT_THAT(in_zsh("vcap run --overflow=drop-o", "ldest"), HasSubstr("drop-oldest"));
  EXPECT_THAT(in_zsh("vcap cluster dr", "ain"), HasSubstr("drain"));
  EXPECT_THAT(in_zsh("vcap cluster up --di", "--dir"), HasSubstr("--dir"));
}

TEST_F(ShellCompletion, RefusesAnUnknownShell) {
  const Result result = test::vcap({"completion", "tcsh"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("tcsh"), HasSubstr("bash")));
}

TEST(ManPages, HaveEveryCommandAndOptionAndNoFaults) {
  const test::TemporaryFolder folder;
  const Result result = test::vcap({"man", "--out", (folder / "man").string()});
  EXPECT_EQ(result.exit_code, 0) << result;
  std::size_t pages = 0;
  for (const auto& page : fs::directory_iterator(folder / "man")) {
    ++pages;
    // A date would make each build another.
    EXPECT_EQ(output_of("mandoc -T lint -W warning " + page.path().string() +
                        " | grep -v 'missing date' | grep . || true"),
              "");
  }
  EXPECT_GE(pages, 17u);
  const std::string shown =
      output_of("mandoc -T ascii " + (folder / "man" / "vcap-run.1").string() + " | col -b");
  EXPECT_THAT(shown,
              AllOf(HasSubstr("vcap run [OPTIONS] INPUT..."),
                    HasSubstr("--when-output-slow wait|drop"), HasSubstr("Exit codes: 0 done")));
  const std::string all = test::read_file(folder / "man" / "vcap.1");
  EXPECT_THAT(all, AllOf(HasSubstr("vcap\\-inspect"), Not(HasSubstr("vcap\\-cluster\\-up"))));
  EXPECT_THAT(test::read_file(folder / "man" / "vcap-cluster.1"), HasSubstr("vcap\\-cluster\\-up"));
  EXPECT_THAT(test::read_file(folder / "man" / "vcap-cluster-up.1"), HasSubstr("\\-\\-dir"));
}

TEST(ManPages, ArePrintedOneAtATime) {
  const Result run = test::vcap({"man", "run"});
  EXPECT_EQ(run.exit_code, 0) << run;
  EXPECT_THAT(run.out, HasSubstr(".TH VCAP-RUN 1"));
  EXPECT_THAT(test::vcap({"man"}).out, HasSubstr(".TH VCAP 1"));
  EXPECT_THAT(test::vcap({"man", "cluster", "up"}).out, HasSubstr(".TH VCAP-CLUSTER-UP 1"));
  const Result unknown = test::vcap({"man", "rum"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("there is no command \"rum\"; did you mean \"run\"?"));
}

}  // namespace
}  // namespace vcap
