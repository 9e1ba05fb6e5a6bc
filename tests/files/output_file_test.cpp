// SPDX-License-Identifier: Apache-2.0
#include "files/output_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "support/as_nobody.hpp"
#include "support/file_size_limit.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"

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
  file.undo_failed_writes();
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
