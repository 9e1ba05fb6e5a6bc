// SPDX-License-Identifier: Apache-2.0
// Folders that another process changes meanwhile, or that cannot be written.
#include "files/staged_folder.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <stdexcept>
#include <string>

#include "support/as_nobody.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;
using testing::HasSubstr;
using testing::IsEmpty;

const auto kText = std::as_bytes(std::span("text", 4));

std::vector<std::string> everything_below(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    names.push_back(entry.path().lexically_relative(folder));
  std::ranges::sort(names);
  return names;
}

/// The folder "out" is being written; nothing may be written into "elsewhere".
class MeddledFolder : public testing::Test {
 protected:
  MeddledFolder() { fs::create_directory(folder_ / "elsewhere"); }

  /// The unfinished folder, found as another process would find it.
  fs::path unfinished() const {
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      if (entry.path().extension() == ".part") return entry.path();
    throw std::runtime_error("nothing is being written");
  }
  void plant_link(const std::string& name) const {
    fs::create_directories((unfinished() / name).parent_path());
    fs::create_directory_symlink(folder_ / "elsewhere", unfinished() / name);
  }
  std::string target() const { return folder_ / "out"; }
  void expect_nothing_left() const {
    EXPECT_THAT(everything_below(folder_.path()), testing::ElementsAre("elsewhere"));
  }

  const TemporaryFolder folder_;
};

TEST_F(MeddledFolder, DoesNotWriteThroughALinkThatReplacesAFolder) {
  {
    StagedFolder output(target());
    plant_link("models");
    EXPECT_THAT([&] { output.write("models/a.bin", kText); },
                ThrowsError<OutputError>(ErrorCode::output_write, HasSubstr("out/models/a.bin")));
  }
  expect_nothing_left();
}

TEST_F(MeddledFolder, DoesNotWriteThroughALinkThatReplacesAFolderBetweenTwoFiles) {
  {
    StagedFolder output(target());
    output.write("models/deep/a.bin", kText);
    fs::remove_all(unfinished() / "models" / "deep");
    plant_link("models/deep");
    EXPECT_THAT([&] { output.write("models/deep/b.bin", kText); },
                ThrowsError<OutputError>(ErrorCode::output_write, HasSubstr("b.bin")));
  }
  expect_nothing_left();
}

TEST_F(MeddledFolder, DoesNotWriteThroughALinkThatReplacesAFile) {
  {
    StagedFolder output(target());
    fs::create_symlink(folder_ / "elsewhere" / "a.bin", unfinished() / "a.bin");
    EXPECT_THAT([&] { output.write("a.bin", kText); },
                ThrowsError<OutputError>(ErrorCode::output_write, HasSubstr("File exists")));
  }
  expect_nothing_left();
}

TEST_F(MeddledFolder, KeepsWritingIntoItsOwnFolderIfALinkReplacesIt) {
  {
    StagedFolder output(target());
    const fs::path made = unfinished();
    fs::rename(made, folder_ / "moved");
    fs::create_directory_symlink(folder_ / "elsewhere", made);
    output.write("a.bin", kText);
    EXPECT_TRUE(fs::exists(folder_ / "moved" / "a.bin"));
  }
  EXPECT_THAT(everything_below(folder_ / "elsewhere"), IsEmpty());
}

TEST_F(MeddledFolder, RemovesLinksAndNotTheirTargets) {
  folder_.write("elsewhere/kept", "kept");
  {
    StagedFolder output(target());
    output.write("models/a.bin", kText);
    plant_link("link");
    plant_link("models/link");
  }
  EXPECT_THAT(everything_below(folder_.path()),
              testing::ElementsAre("elsewhere", "elsewhere/kept"));
}

TEST_F(MeddledFolder, DoesNotReplaceALinkThatAppearedMeanwhile) {
  {
    StagedFolder output(target());
    output.write("a.bin", kText);
    fs::create_directory_symlink(folder_ / "elsewhere", target());
    EXPECT_THAT([&] { output.commit(); },
                ThrowsError<OutputError>(ErrorCode::output_write, HasSubstr("out")));
  }
  fs::remove(target());
  expect_nothing_left();
}

TEST_F(MeddledFolder, DoesNotReplaceAFolderThatWasFilledMeanwhile) {
  {
    StagedFolder output(target());
    fs::create_directories(folder_ / "out" / "theirs");
    EXPECT_THAT([&] { output.commit(); },
                ThrowsError<OutputError>(ErrorCode::output_write, HasSubstr("not empty")));
  }
  EXPECT_TRUE(fs::exists(folder_ / "out" / "theirs"));
}

TEST_F(MeddledFolder, RefusesNamesThatLeadOutOfTheFolder) {
  {
    StagedFolder output(target());
    for (const char* name : {"../a", "/a", "a/../../b", "", "a//b", "."})
      EXPECT_THAT([&] { output.write(name, kText); },
                  ThrowsError<OutputError>(ErrorCode::output_write, HasSubstr("the name")))
          << name;
  }
  expect_nothing_left();
}

TEST(StagedFolderInAReadOnlyFolder, IsRefused) {
  const TemporaryFolder folder;
  ::chmod(folder.path().c_str(), 0555);
  test::as_nobody([&] {
    EXPECT_THAT(
        [&] { StagedFolder(folder / "out"); },
        ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("folder's permissions")));
  });
  ::chmod(folder.path().c_str(), 0755);
  EXPECT_THAT(everything_below(folder.path()), IsEmpty());
}

TEST(StagedFolderInAFile, IsRefused) {
  const TemporaryFolder folder;
  const auto file = folder.write("file", "");
  EXPECT_THAT([&] { StagedFolder(file / "out"); },
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("does not exist")));
}

}  // namespace
}  // namespace vcap
