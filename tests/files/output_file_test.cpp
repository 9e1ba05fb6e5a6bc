// SPDX-License-Identifier: Apache-2.0
#include "files/output_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>

#include "support/as_nobody.hpp"
#include "support/file_size_limit.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "vcap/base/log.hpp"

namespace vcap {
namespace {

namespace fs = std::filesystem;
using test::FileSizeLimit;
using test::TemporaryFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(OutputFile, GetsItsNameWhenItIsComplete) {
  const TemporaryFolder folder;
  folder.write("records.jsonl", "old");
  OutputFile file(folder / "records.jsonl");
  file.write("new");
  EXPECT_EQ(test::read_file(folder / "records.jsonl"), "old");
  EXPECT_EQ(file.written_at().extension(), ".jsonl");
  file.commit();
  EXPECT_EQ(test::read_file(folder / "records.jsonl"), "new");
  EXPECT_THAT(folder.names(), ElementsAre("records.jsonl"));
}

TEST(OutputFile, LeavesNothingIfItIsNotCompleted) {
  const TemporaryFolder folder;
  {
    OutputFile file(folder / "records.jsonl");
    file.write("new");
    EXPECT_EQ(folder.names().size(), 1u);
  }
  EXPECT_THAT(folder.names(), IsEmpty());
}

OutputFile kept(const fs::path& path) {
  return OutputFile(path, OutputFile::Target::any, OutputFile::Unfinished::kept);
}

/// Collects warnings while it lives.
class Warnings {
 public:
  Warnings() {
    set_log_hook([this](LogLevel level, std::string_view message) {
      if (level >= LogLevel::warning) text += std::string(message) + "\n";
    });
  }
  ~Warnings() { set_log_hook({}); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;

  std::string text;
};

TEST(OutputFile, GrowsUnderANameThatIsFoundIfItIsKept) {
  const TemporaryFolder folder;
  folder.write("records.jsonl", "old");
  OutputFile file = kept(folder / "records.jsonl");
  file.write("new");
  EXPECT_EQ(file.written_at(), folder / "records.jsonl.part");
  EXPECT_EQ(test::read_file(folder / "records.jsonl.part"), "new");
  EXPECT_EQ(test::read_file(folder / "records.jsonl"), "old");
  file.commit();
  EXPECT_EQ(test::read_file(folder / "records.jsonl"), "new");
  EXPECT_THAT(folder.names(), ElementsAre("records.jsonl"));
}

TEST(OutputFile, StaysUnlessItIsEmptyIfItIsKept) {
  const TemporaryFolder folder;
  { OutputFile file = kept(folder / "empty.jsonl"); }
  EXPECT_THAT(folder.names(), IsEmpty());
  {
    OutputFile file = kept(folder / "records.jsonl");
    EXPECT_EQ(file.remains(), "");
    file.write("new");
    EXPECT_THAT(file.remains(), HasSubstr("records.jsonl.part"));
  }
  EXPECT_EQ(test::read_file(folder / "records.jsonl.part"), "new");
}

TEST(OutputFile, CanBeDiscardedAlthoughItIsKept) {
  const TemporaryFolder folder;
  OutputFile file = kept(folder / "records.jsonl");
  file.write("new");
  file.discard();
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(OutputFile, KeepsWhatEarlierRunsHaveLeftAndSaysSo) {
  const TemporaryFolder folder;
  Warnings warnings;
  for (const char* text : {"first", "second", "third"}) kept(folder / "a.jsonl").write(text);
  EXPECT_THAT(folder.names(), ElementsAre("a.jsonl.part", "a.jsonl.part.1", "a.jsonl.part.2"));
  EXPECT_EQ(test::read_file(folder / "a.jsonl.part.1"), "first");
  EXPECT_EQ(test::read_file(folder / "a.jsonl.part.2"), "second");
  EXPECT_EQ(test::read_file(folder / "a.jsonl.part"), "third");
  EXPECT_THAT(warnings.text, AllOf(HasSubstr("kept as " + (folder / "a.jsonl.part.1").string()),
                                   HasSubstr("beside 1 older ones")));
}

TEST(OutputFile, TakesOverAnEmptyFileOfAnEarlierRunWithoutAWord) {
  const TemporaryFolder folder;
  folder.write("a.jsonl.part", "");
  Warnings warnings;
  OutputFile file = kept(folder / "a.jsonl");
  file.write("new");
  file.commit();
  EXPECT_THAT(folder.names(), ElementsAre("a.jsonl"));
  EXPECT_EQ(warnings.text, "");
}

TEST(OutputFile, IsWrittenByOneRunAtATimeIfItIsKept) {
  const TemporaryFolder folder;
  std::optional<OutputFile> first;
  first.emplace(folder / "a.jsonl", OutputFile::Target::any, OutputFile::Unfinished::kept);
  first->write("first");
  EXPECT_THAT([&] { kept(folder / "a.jsonl"); },
              ThrowsError<OutputError>(
                  ErrorCode::output_open,
                  AllOf(HasSubstr("is being written by another run"), HasSubstr("a.jsonl.part"))));
  first->commit();
  first.reset();
  kept(folder / "a.jsonl").commit();
  EXPECT_EQ(test::read_file(folder / "a.jsonl"), "");
}

TEST(OutputFile, IsRefusedIfItsTemporaryNameBelongsToSomethingElse) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "a.part");
  ASSERT_EQ(::mkfifo((folder / "b.part").c_str(), 0600), 0);
  fs::create_symlink("elsewhere", folder / "c.part");
  for (const char* name : {"a", "b", "c"})
    EXPECT_THAT(
        [&] { kept(folder / name); },
        ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr(std::string(name) + ".part")));
  EXPECT_FALSE(fs::exists(folder / "elsewhere"));
}

/// Changes the working directory while it lives.
class WorkingFolder {
 public:
  explicit WorkingFolder(const fs::path& path) : before_(fs::current_path()) {
    fs::current_path(path);
  }
  ~WorkingFolder() { fs::current_path(before_); }
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;

 private:
  const fs::path before_;
};

TEST(OutputFile, StaysInItsFolderIfTheWorkingDirectoryChanges) {
  const TemporaryFolder folder;
  const TemporaryFolder other;
  for (const auto unfinished : {OutputFile::Unfinished::kept, OutputFile::Unfinished::removed}) {
    const WorkingFolder here(folder.path());
    OutputFile file("a.jsonl", OutputFile::Target::any, unfinished);
    const WorkingFolder there(other.path());
    file.write("new");
    file.commit();
    EXPECT_THAT(folder.names(), ElementsAre("a.jsonl"));
    fs::remove(folder / "a.jsonl");
  }
  EXPECT_THAT(other.names(), IsEmpty());
}

/// Opens a file, writes a line, and closes the descriptors of the file and its folder, as other
/// code in this process might.
class RobbedFile {
 public:
  explicit RobbedFile(const fs::path& path)
      : numbers_(next_numbers()),
        file(path, OutputFile::Target::any, OutputFile::Unfinished::kept) {
    file.write("line\n");
    for (const int number : numbers_) ::close(number);
  }

 private:
  /// The descriptors that are opened next have the lowest free numbers.
  static std::array<int, 2> next_numbers() {
    const std::array<int, 2> numbers{::dup(STDIN_FILENO), ::dup(STDIN_FILENO)};
    for (const int number : numbers) ::close(number);
    return numbers;
  }

  const std::array<int, 2> numbers_;

 public:
  OutputFile file;
};

TEST(OutputFile, SaysThatItsDescriptorWasClosedByOthers) {
  const TemporaryFolder folder;
  RobbedFile robbed(folder / "a.jsonl");
  EXPECT_THAT([&] { robbed.file.write("more\n"); },
              ThrowsError<OutputError>(
                  ErrorCode::output_write,
                  AllOf(HasSubstr("a.jsonl"), HasSubstr("was closed"), HasSubstr("kept in"))));
  EXPECT_THROW(robbed.file.commit(), OutputError);
  EXPECT_EQ(test::read_file(folder / "a.jsonl.part"), "line\n");
}

TEST(OutputFile, IsNotCompletedIfItsDescriptorBelongsToAnotherFile) {
  const TemporaryFolder folder;
  RobbedFile robbed(folder / "a.jsonl");
  std::ofstream first(folder / "b");  // in place of the folder
  std::ofstream second(folder / "c");
  EXPECT_THROW(robbed.file.commit(), OutputError);
  EXPECT_FALSE(fs::exists(folder / "a.jsonl"));
}

TEST(OutputFile, SaysThatItsTemporaryFileIsGone) {
  const TemporaryFolder folder;
  OutputFile file = kept(folder / "a.jsonl");
  file.write("new");
  fs::rename(folder / "a.jsonl.part", folder / "b");
  folder.write("a.jsonl.part", "another program's");
  EXPECT_THAT([&] { file.commit(); },
              ThrowsError<OutputError>(ErrorCode::output_write, HasSubstr("a.jsonl.part")));
  EXPECT_EQ(test::read_file(folder / "a.jsonl.part"), "another program's");
}

TEST(OutputFile, KeepsWholeWritesOnAFullDisk) {
  const TemporaryFolder folder;
  {
    OutputFile file = kept(folder / "a.jsonl");
    const FileSizeLimit limit(8);
    file.write("one\n");
    EXPECT_THAT([&] { file.write("two and more\n"); },
                ThrowsError<OutputError>(ErrorCode::output_write,
                                         AllOf(HasSubstr("free some space"), HasSubstr("kept in"),
                                               HasSubstr("a.jsonl.part"))));
  }
  EXPECT_EQ(test::read_file(folder / "a.jsonl.part"), "one\n");
}

TEST(OutputFile, WritesAtTheOffsetOfASeek) {
  const TemporaryFolder folder;
  OutputFile file(folder / "clip.mp4");
  file.write("0123456789");
  file.seek(3);
  file.write("abc");
  file.seek(10);
  file.write("end");
  file.commit();
  EXPECT_EQ(test::read_file(folder / "clip.mp4"), "012abc6789end");
}

TEST(OutputFile, UndoesAFailedWriteOnlyAtItsEnd) {
  const TemporaryFolder folder;
  OutputFile file(folder / "clip.mp4");
  file.write("0123456789");
  {
    const FileSizeLimit limit(12);
    EXPECT_THROW(file.write("abcdef"), OutputError);
    EXPECT_FALSE(file.is_torn()) << "the part that was written is still there";
    file.write("ab");
    file.seek(8);
    EXPECT_THROW(file.write("cdefgh"), OutputError);
    EXPECT_TRUE(file.is_torn()) << "earlier bytes must not be cut off";
  }
  file.seek(8);
  file.write("xy");
  file.commit();
  EXPECT_EQ(test::read_file(folder / "clip.mp4"), "01234567xyef");
}

TEST(OutputFile, ReportsAPlaceThatItCannotSeekTo) {
  OutputFile file("/dev/full");
  EXPECT_NO_THROW(file.seek(0));
  EXPECT_THAT([&] { file.seek(-1); },
              ThrowsError<OutputError>(ErrorCode::output_write, HasSubstr("/dev/full")));
}

TEST(OutputFile, IsWrittenInPlaceIfItIsADevice) {
  OutputFile file("/dev/full");
  EXPECT_EQ(file.written_at(), "/dev/full");
  EXPECT_THAT([&] { file.write("text"); },
              ThrowsError<OutputError>(ErrorCode::output_write, HasSubstr("/dev/full")));
}

TEST(OutputFile, RefusesADeviceIfItMustBeARegularFile) {
  EXPECT_THAT([] { OutputFile("/dev/full", OutputFile::Target::regular_file); },
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("not a regular file")));
  struct stat status {};
  ASSERT_EQ(::stat("/dev/full", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST(OutputFile, RefusesPathsThatCannotBeFiles) {
  const TemporaryFolder folder;
  const auto open = [](const fs::path& path) { return [path] { OutputFile file(path); }; };
  EXPECT_THAT(open(folder.path()),
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("is a folder")));
  EXPECT_THAT(open(folder / ".."),
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("is a folder")));
  EXPECT_THAT(open(folder / "none" / "file"),
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("does not exist")));
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(OutputFile, IsRefusedInAReadOnlyFolder) {
  const TemporaryFolder folder;
  ::chmod(folder.path().c_str(), 0555);
  test::as_nobody([&] {
    EXPECT_THAT([&] { OutputFile file(folder / "out.cap"); },
                ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("permissions")));
  });
  ::chmod(folder.path().c_str(), 0755);
  EXPECT_THAT(folder.names(), IsEmpty());
}

}  // namespace
}  // namespace vcap
