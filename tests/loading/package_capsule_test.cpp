// SPDX-License-Identifier: Apache-2.0
#include "vcap/loading/package_capsule.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <ostream>

#include <nlohmann/json.hpp>

#include "loading/capsule_builder.hpp"
#include "support/elf_writer.hpp"
#include "support/throws_error.hpp"

namespace vcap {
namespace {

using test::plugin_path;
using test::read_file;
using test::TemporaryFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

PackageContents contents_of(const std::string& plugin) {
  return {.libraries = {{std::string(platform()), plugin_path(plugin)}}};
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

TEST(PackageCapsule, GivesTheManifestThatItWrote) {
  const TemporaryFolder folder;
  PackageContents contents = contents_of("good");
  contents.files["models/a.bin"] = folder.write("a.bin", "weights");
  const Manifest written = package_capsule(contents, folder / "out.cap");
  const Manifest read = read_manifest(folder / "out.cap");
  EXPECT_EQ(nlohmann::json(written), nlohmann::json(read));
  EXPECT_EQ(read.info.name, "fixture");
  EXPECT_EQ(read.api_version, kApiVersion);
  ASSERT_EQ(read.libraries.size(), 1u);
  EXPECT_EQ(read.libraries[0].abi_tag, VCAP_ABI_TAG);
  ASSERT_EQ(read.files.size(), 2u);
  EXPECT_EQ(read.files[1].path, "models/a.bin");
  EXPECT_EQ(read.files[1].size, 7u);
  EXPECT_EQ(read.files[1].sha256,
            "9a129038d9a00aed0cf6a7ea059ca50a813449061ab87848cf1a13eafdf33b2c");
}

TEST(PackageCapsule, GivesTheSameBytesForTheSameContents) {
  const TemporaryFolder folder;
  PackageContents contents = contents_of("good");
  contents.files["b"] = folder.write("one/b", "text");
  contents.files["a"] = folder.write("one/a", "");
  package_capsule(contents, folder / "one.cap");
  contents.files["b"] = folder.write("two/b", "text");
  contents.files["a"] = folder.write("two/a", "");
  std::filesystem::last_write_time(folder / "two/b", std::filesystem::file_time_type{});
  package_capsule(contents, folder / "two.cap");
  EXPECT_TRUE(read_file(folder / "one.cap") == read_file(folder / "two.cap"));
}

TEST(PackageCapsule, WritesWhatUnzipReads) {
  const TemporaryFolder folder;
  PackageContents contents = contents_of("good");
  contents.files["caf\xc3\xa9/a.bin"] = folder.write("a.bin", std::string(9000, 'x'));
  contents.files["empty"] = folder.write("empty", "");
  package_capsule(contents, folder / "out.cap");
  const std::string log = (folder / "log").native();
  const int result =
      std::system(("unzip -t " + (folder / "out.cap").native() + " > " + log + " 2>&1").c_str());
  EXPECT_EQ(result, 0) << read_file(log);
  EXPECT_THAT(read_file(log), HasSubstr("No errors detected"));
}

TEST(PackageCapsule, PacksLibrariesForOtherPlatformsWithTheirOwnAbiTags) {
  const TemporaryFolder folder;
  PackageContents contents = contents_of("good");
  const std::string tag = std::string(VCAP_ABI_TAG) + '\0';
  contents.libraries["linux-aarch64"] =
      folder.write("foreign.so", test::elf_bytes({.machine = EM_AARCH64, .text = tag}));
  const Manifest manifest = package_capsule(contents, folder / "out.cap");
  ASSERT_EQ(manifest.libraries.size(), 2u);
  EXPECT_EQ(manifest.libraries[0].platform, "linux-aarch64");
  EXPECT_EQ(manifest.libraries[0].abi_tag, VCAP_ABI_TAG);
  EXPECT_EQ(manifest.info.version, fixture::info("").version);
  EXPECT_EQ(load_capsule(folder / "out.cap")->name(), "fixture");
}

TEST(PackageCapsule, KeepsTheOldFileForReadersThatHaveItOpen) {
  const TemporaryFolder folder;
  const auto output = folder.write("out.cap", "old");
  std::ifstream old_file(output);
  package_capsule(contents_of("good"), output);
  std::string text;
  old_file >> text;
  EXPECT_EQ(text, "old");
  EXPECT_NO_THROW(verify_capsule(output));
}

struct InputCase {
  const char* title;
  void (*change)(PackageContents&);
  const char* message;

  friend void PrintTo(const InputCase& one, std::ostream* out) { *out << one.title; }
};

class PackageCapsuleOfWrongInputs : public testing::TestWithParam<InputCase> {};

TEST_P(PackageCapsuleOfWrongInputs, NamesTheFaultAndLeavesNothing) {
  const TemporaryFolder folder;
  PackageContents contents = contents_of("good");
  GetParam().change(contents);
  EXPECT_THAT(
      [&] { package_capsule(contents, folder / "out.cap"); },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr(GetParam().message)));
  EXPECT_THAT(names_in(folder.path()), IsEmpty());
}

const std::string kSome = plugin_path("good");

INSTANTIATE_TEST_SUITE_P(
    All, PackageCapsuleOfWrongInputs,
    testing::Values(
        InputCase{"NoLibrary", [](auto& c) { c.libraries.clear(); }, "no library for this machine"},
        InputCase{"WrongPlatform", [](auto& c) { c.libraries["../x"] = kSome; },
                  "platform \"../x\""},
        InputCase{"MissingLibrary", [](auto& c) { c.libraries.begin()->second = "/none.so"; },
                  "\"/none.so\" cannot be packed: No such file"},
        InputCase{"MissingFile", [](auto& c) { c.files["a"] = "/none.bin"; },
                  "\"/none.bin\" cannot be packed: No such file"},
        InputCase{"FolderAsFile", [](auto& c) { c.files["a"] = "/tmp"; }, "Is a directory"},
        InputCase{"UnsafeName", [](auto& c) { c.files["../a"] = kSome; }, "\"../a\""},
        InputCase{"NameOfTheLoader", [](auto& c) { c.files["lib/x"] = kSome; },
                  "\"lib/x\" is reserved for the loader"},
        InputCase{"NameOfTheManifest", [](auto& c) { c.files["Capsule.json"] = kSome; },
                  "differ only in case"},
        InputCase{"FileAsFolder",
                  [](auto& c) {
                    c.files["a"] = kSome;
                    c.files["a/b"] = kSome;
                  },
                  "\"a\" is a file and the folder of \"a/b\""}),
    [](const auto& one) { return std::string(one.param.title); });

TEST(PackageCapsule, RefusesAForeignLibraryWithoutTag) {
  const TemporaryFolder folder;
  PackageContents contents = contents_of("good");
  contents.libraries["linux-riscv64"] =
      folder.write("foreign.so", test::elf_bytes({.machine = EM_RISCV}));
  EXPECT_THAT([&] { package_capsule(contents, folder / "out.cap"); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           AllOf(HasSubstr("foreign.so"), HasSubstr("ABI tag"))));
}

TEST(PackageCapsule, RefusesAForeignLibraryThatIsUnsafe) {
  const TemporaryFolder folder;
  PackageContents contents = contents_of("good");
  contents.libraries["linux-riscv64"] = folder.write(
      "foreign.so", test::elf_bytes({.machine = EM_RISCV, .runpath = "/home/me/build"}));
  EXPECT_THAT([&] { package_capsule(contents, folder / "out.cap"); },
              ThrowsError<InvalidCapsuleError>(
                  ErrorCode::unsafe_library,
                  AllOf(HasSubstr("foreign.so"), HasSubstr("\"/home/me/build\""))));
}

TEST(PackageCapsule, SaysWhyAPluginCannotBeDescribed) {
  const TemporaryFolder folder;
  const auto pack = [&](const std::string& plugin) {
    package_capsule(contents_of(plugin), folder / "out.cap");
  };
  EXPECT_THAT(
      [&] { pack("no_entry"); },
      ThrowsError<InvalidCapsuleError>(ErrorCode::no_entry_symbol,
                                       AllOf(HasSubstr("no_entry.so"), HasSubstr("VCAP_CAPSULE"))));
  EXPECT_THAT([&] { pack("throws_in_info"); },
              ThrowsError<CapsuleLoadError>(ErrorCode::capsule_threw,
                                            HasSubstr("its info() threw: no description")));
  EXPECT_THAT([&] { pack("bad_name"); },
              ThrowsError<InvalidCapsuleError>(ErrorCode::invalid_capsule_info,
                                               HasSubstr("\"../person\"")));
  EXPECT_THAT([&] { pack("newer_api"); },
              ThrowsError<IncompatibleCapsuleError>(ErrorCode::unsupported_api_version,
                                                    HasSubstr("API version 2")));
  EXPECT_THAT(
      [&] {
        package_capsule({.libraries = {{std::string(platform()), "/etc/passwd"}}},
                        folder / "out.cap");
      },
      ThrowsError<InvalidCapsuleError>(
          ErrorCode::invalid_library,
          AllOf(HasSubstr("/etc/passwd"), HasSubstr("is not an ELF file"))));
  EXPECT_THAT(names_in(folder.path()), IsEmpty());
}

TEST(PackageCapsule, RefusesALibraryOfAnotherProcessor) {
  const TemporaryFolder folder;
  PackageContents contents = contents_of("good");
  contents.libraries["linux-aarch64"] =
      plugin_path(platform() == "linux-aarch64" ? "no_entry" : "good");
  contents.libraries["linux-x86_64"] =
      plugin_path(platform() == "linux-x86_64" ? "good" : "no_entry");
  EXPECT_THAT(
      [&] { package_capsule(contents, folder / "out.cap"); },
      ThrowsError<InvalidCapsuleError>(ErrorCode::invalid_library, HasSubstr("is for processor")));
}

TEST(PackageCapsule, SaysThatTheOutputFolderDoesNotExist) {
  const TemporaryFolder folder;
  EXPECT_THAT([&] { package_capsule(contents_of("good"), folder / "none" / "out.cap"); },
              ThrowsError<OutputError>(ErrorCode::output_open,
                                       AllOf(HasSubstr("out.cap"), HasSubstr("does not exist"),
                                             HasSubstr("create it first"))));
}

TEST(PackageCapsule, DoesNotReplaceADeviceOrAFolder) {
  const TemporaryFolder folder;
  EXPECT_THAT(
      [&] { package_capsule(contents_of("good"), "/dev/full"); },
      ThrowsError<OutputError>(ErrorCode::output_open,
                               AllOf(HasSubstr("/dev/full"), HasSubstr("not a regular file"))));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  EXPECT_THAT([&] { package_capsule(contents_of("good"), folder.path()); },
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("is a folder")));
}

/// Limits the size of files that the process writes, which acts like a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_);
    rlimit limited = old_;
    limited.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limited);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_{};
  void (*old_handler_)(int);
};

TEST(PackageCapsule, LeavesNothingIfTheDiskIsFull) {
  const TemporaryFolder folder;
  const auto kept = folder.write("out.cap", "old");
  // Loads the library before, since its copy in memory counts as a file, too.
  package_capsule(contents_of("good"), folder / "other.cap");
  {
    const FileSizeLimit limit(20'000);
    EXPECT_THAT([&] { package_capsule(contents_of("good"), kept); },
                ThrowsError<OutputError>(ErrorCode::output_write,
                                         AllOf(HasSubstr("out.cap"), HasSubstr("File too large"),
                                               HasSubstr("free some space"))));
  }
  EXPECT_EQ(read_file(kept), "old");
  EXPECT_THAT(names_in(folder.path()), ElementsAre("other.cap", "out.cap"));
}

TEST(UnpackageCapsule, WritesEveryFileOfTheCapsule) {
  const TemporaryFolder folder;
  PackageContents contents = contents_of("good");
  contents.files["models/a.bin"] = folder.write("a.bin", "weights");
  package_capsule(contents, folder / "out.cap");
  unpackage_capsule(folder / "out.cap", folder / "unpacked/");
  EXPECT_EQ(read_file(folder / "unpacked/models/a.bin"), "weights");
  EXPECT_EQ(read_file(folder / "unpacked" / test::library_entry()), read_file(plugin_path("good")));
  EXPECT_EQ(nlohmann::json::parse(read_file(folder / "unpacked/capsule.json")),
            nlohmann::json(read_manifest(folder / "out.cap")));
  EXPECT_THAT(names_in(folder.path()), ElementsAre("a.bin", "out.cap", "unpacked"));
}

TEST(UnpackageCapsule, AcceptsAnEmptyFolderAndRefusesAFullOne) {
  const TemporaryFolder folder;
  package_capsule(contents_of("good"), folder / "out.cap");
  std::filesystem::create_directory(folder / "empty");
  unpackage_capsule(folder / "out.cap", folder / "empty");
  EXPECT_THAT(names_in(folder / "empty"), ElementsAre("capsule.json", "lib"));
  EXPECT_THAT([&] { unpackage_capsule(folder / "out.cap", folder / "empty"); },
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("not empty")));
  EXPECT_THAT([&] { unpackage_capsule(folder / "out.cap", folder / "out.cap"); },
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("not a folder")));
  EXPECT_THAT(names_in(folder.path()), ElementsAre("empty", "out.cap"));
}

TEST(UnpackageCapsule, DoesNotFollowALinkAtTheTarget) {
  const TemporaryFolder folder;
  package_capsule(contents_of("good"), folder / "out.cap");
  std::filesystem::create_directory(folder / "elsewhere");
  std::filesystem::create_directory_symlink(folder / "elsewhere", folder / "link");
  EXPECT_THAT([&] { unpackage_capsule(folder / "out.cap", folder / "link"); },
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("not a folder")));
  EXPECT_THAT(names_in(folder / "elsewhere"), IsEmpty());
}

TEST(UnpackageCapsule, LeavesNothingOfABrokenCapsule) {
  const TemporaryFolder folder;
  test::CapsuleBuilder capsule;
  const std::string text = capsule.file("model.onnx", "weights").listed().dump();
  const auto path = folder.write("a.cap", capsule.file("model.onnx", "Weights").bytes_with(text));
  EXPECT_THAT(
      [&] { unpackage_capsule(path, folder / "out"); },
      ThrowsError<InvalidCapsuleError>(ErrorCode::digest_mismatch, HasSubstr("\"model.onnx\"")));
  EXPECT_THAT(names_in(folder.path()), ElementsAre("a.cap"));
}

TEST(UnpackageCapsule, LeavesNothingIfTheDiskIsFull) {
  const TemporaryFolder folder;
  package_capsule(contents_of("good"), folder / "a.cap");
  const FileSizeLimit limit(20'000);
  EXPECT_THAT([&] { unpackage_capsule(folder / "a.cap", folder / "out"); },
              ThrowsError<OutputError>(ErrorCode::output_write,
                                       AllOf(HasSubstr("capsule.so"), HasSubstr("room"))));
  EXPECT_THAT(names_in(folder.path()), ElementsAre("a.cap"));
}

}  // namespace
}  // namespace vcap
