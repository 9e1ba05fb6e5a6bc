// SPDX-License-Identifier: Apache-2.0
// The errors of load_capsule for capsules with one fault each.
#include <gmock/gmock.h>

#include <functional>
#include <ostream>

#include <nlohmann/json.hpp>

#include "loading/capsule_builder.hpp"
#include "support/elf_writer.hpp"
#include "support/throws_error.hpp"
#include "vcap/loading/package_capsule.hpp"

namespace vcap {
namespace {

using nlohmann::json;
using test::CapsuleBuilder;
using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;

void load(const std::string& bytes) {
  const TemporaryFolder folder;
  load_capsule(folder.write("a.cap", bytes));
}

template <class E>
auto Says(ErrorCode code, const char* first, const char* second = "") {
  return ThrowsError<E>(code, AllOf(HasSubstr("a.cap\""), HasSubstr(first), HasSubstr(second)));
}

TEST(LoadCapsuleFile, SaysThatAFileIsMissing) {
  const TemporaryFolder folder;
  EXPECT_THAT(
      [&] { load_capsule(folder / "a.cap"); },
      Says<InvalidCapsuleError>(ErrorCode::capsule_not_found, "No such file", "check the path"));
}

TEST(LoadCapsuleFile, SaysThatAPathIsAFolderOrADevice) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "a.cap");
  EXPECT_THAT([&] { load_capsule(folder / "a.cap"); },
              Says<InvalidCapsuleError>(ErrorCode::not_an_archive, "is a folder"));
  EXPECT_THAT([] { load_capsule("/dev/null"); },
              ThrowsError<InvalidCapsuleError>(ErrorCode::not_an_archive, HasSubstr("a device")));
}

TEST(LoadCapsuleFile, SaysThatAFileIsNoArchive) {
  EXPECT_THAT([] { load(""); },
              Says<InvalidCapsuleError>(ErrorCode::not_an_archive, "is empty", "`vcap pack`"));
  EXPECT_THAT([] { load("not a zip"); },
              Says<InvalidCapsuleError>(ErrorCode::not_an_archive, "not a zip", "`vcap pack`"));
  const std::string good = CapsuleBuilder().bytes();
  EXPECT_THAT([&] { load(good.substr(0, good.size() / 2)); },
              Says<InvalidCapsuleError>(ErrorCode::not_an_archive, "cut short"));
}

TEST(LoadCapsuleFile, SaysThatAnArchiveHasNoManifest) {
  EXPECT_THAT(
      [] { load(test::zip_bytes({test::stored_entry("readme.txt", "hello")})); },
      Says<InvalidCapsuleError>(ErrorCode::no_manifest, "has no capsule.json", "`vcap pack`"));
}

TEST(LoadCapsuleFile, NamesAnUnsafeEntry) {
  EXPECT_THAT([] { load(CapsuleBuilder().file("../evil", "x").bytes()); },
              Says<InvalidCapsuleError>(ErrorCode::unsafe_entry, "\"../evil\""));
}

TEST(LoadCapsuleFile, SaysThatAManifestIsTooLong) {
  EXPECT_THAT([] { load(CapsuleBuilder().bytes_with(std::string((1 << 20) + 1, ' '))); },
              Says<InvalidCapsuleError>(ErrorCode::limit_exceeded, "capsule.json of 1048577 bytes",
                                        "ArchiveLimits::manifest_bytes"));
}

TEST(LoadCapsuleFile, NamesAnEntryThatTheManifestDoesNotList) {
  CapsuleBuilder capsule;
  const std::string text = capsule.listed().dump();
  EXPECT_THAT([&] { load(capsule.file("extra.bin", "x").bytes_with(text)); },
              Says<InvalidCapsuleError>(ErrorCode::unlisted_entry, "\"extra.bin\""));
}

TEST(LoadCapsuleFile, NamesAnEntryThatIsMissing) {
  CapsuleBuilder capsule;
  const std::string text = capsule.file("model.onnx", "x").listed().dump();
  capsule.files.erase("model.onnx");
  EXPECT_THAT([&] { load(capsule.bytes_with(text)); },
              Says<InvalidCapsuleError>(ErrorCode::missing_entry, "\"model.onnx\""));
}

TEST(LoadCapsuleFile, NamesAnEntryOfAnotherDigestOrSize) {
  CapsuleBuilder capsule;
  const std::string text = capsule.file("model.onnx", "weights").listed().dump();
  EXPECT_THAT([&] { load(capsule.file("model.onnx", "Weights").bytes_with(text)); },
              Says<InvalidCapsuleError>(ErrorCode::digest_mismatch, "\"model.onnx\"",
                                        "9a129038d9a00aed0cf6a7ea059ca50a813449061ab87848"));
  EXPECT_THAT([&] { load(capsule.file("model.onnx", "weight").bytes_with(text)); },
              Says<InvalidCapsuleError>(ErrorCode::digest_mismatch, "\"model.onnx\"",
                                        "6 bytes, but capsule.json says 7"));
}

TEST(LoadCapsuleFile, ListsThePlatformsThatACapsuleIsFor) {
  CapsuleBuilder capsule;
  capsule.files.clear();
  capsule.set("/libraries/0/platform", "plan9-mips")
      .set("/libraries/0/path", "lib/plan9-mips/capsule.so")
      .file("lib/plan9-mips/capsule.so", "code");
  EXPECT_THAT([&] { load(capsule.bytes()); },
              Says<IncompatibleCapsuleError>(ErrorCode::unsupported_platform, "\"plan9-mips\"",
                                             std::string(platform()).c_str()));
}

TEST(LoadCapsuleFile, NamesBothAbiTagsOfAManifest) {
  EXPECT_THAT(
      [] { load(CapsuleBuilder().set("/libraries/0/abi_tag", "vcap9.9-gxxabi1").bytes()); },
      Says<IncompatibleCapsuleError>(ErrorCode::abi_mismatch, "\"vcap9.9-gxxabi1\"", VCAP_ABI_TAG));
}

TEST(LoadCapsuleFile, ReadsNoFurtherThanTheVersionOfAManifestThatIsTooNew) {
  EXPECT_THAT([] { load(CapsuleBuilder().bytes_with(R"({"format_version":2})")); },
              Says<IncompatibleCapsuleError>(ErrorCode::unsupported_format_version,
                                             "format_version 2", "update vcap"));
  EXPECT_THAT([] { load(CapsuleBuilder().bytes_with(R"({"format_version":1,"api_version":99})")); },
              Says<IncompatibleCapsuleError>(ErrorCode::unsupported_api_version, "api_version 99",
                                             "update vcap"));
}

TEST(LoadCapsuleFile, SaysWhereCodeAndManifestDiffer) {
  EXPECT_THAT([] { load(CapsuleBuilder().set("/info/options/threshold/max", 2.0).bytes()); },
              Says<InvalidCapsuleError>(ErrorCode::invalid_capsule_info,
                                        "/info/options/threshold/max", "`vcap pack`"));
}

struct LibraryCase {
  const char* plugin;
  ErrorCode code;
  const char* message;

  friend void PrintTo(const LibraryCase& one, std::ostream* out) { *out << one.plugin; }
};

template <class E>
class LibraryTest : public testing::TestWithParam<LibraryCase> {
 protected:
  void expect_error() {
    EXPECT_THAT([this] { load(CapsuleBuilder(this->GetParam().plugin).bytes()); },
                Says<E>(this->GetParam().code, this->GetParam().message, "capsule.so"));
  }
};

std::string plugin_of_case(const testing::TestParamInfo<LibraryCase>& one) {
  return one.param.plugin;
}

using InvalidLibrary = LibraryTest<InvalidCapsuleError>;
TEST_P(InvalidLibrary, IsNamedWithItsFault) { expect_error(); }
INSTANTIATE_TEST_SUITE_P(
    All, InvalidLibrary,
    testing::Values(LibraryCase{"no_entry", ErrorCode::no_entry_symbol, "VCAP_CAPSULE"},
                    LibraryCase{"null_entry", ErrorCode::invalid_library, "returned null"},
                    LibraryCase{"short_record", ErrorCode::invalid_library, "a record of 12 bytes"},
                    LibraryCase{"makes_nothing", ErrorCode::invalid_library, "creates no capsule"},
                    LibraryCase{"unresolved", ErrorCode::invalid_library,
                                "vcap_test_function_of_nobody"},
                    LibraryCase{"bad_name", ErrorCode::invalid_capsule_info, "\"../person\""},
                    LibraryCase{"encoder_without_threshold", ErrorCode::invalid_capsule_info,
                                "recognition_threshold"}),
    plugin_of_case);

using IncompatibleLibrary = LibraryTest<IncompatibleCapsuleError>;
TEST_P(IncompatibleLibrary, IsNamedWithWhatItIsFor) { expect_error(); }
INSTANTIATE_TEST_SUITE_P(
    All, IncompatibleLibrary,
    testing::Values(LibraryCase{"newer_api", ErrorCode::unsupported_api_version, "API version 2"},
                    LibraryCase{"other_abi", ErrorCode::abi_mismatch, "\"vcap9.9-gxxabi1\""}),
    plugin_of_case);

using ThrowingLibrary = LibraryTest<CapsuleLoadError>;
TEST_P(ThrowingLibrary, IsNamedWithTheStageAndTheText) { expect_error(); }
INSTANTIATE_TEST_SUITE_P(
    All, ThrowingLibrary,
    testing::Values(
        LibraryCase{"throws_in_entry", ErrorCode::capsule_threw, "its entry threw: no licence"},
        LibraryCase{"throws_in_info", ErrorCode::capsule_threw, "its info() threw: no description"},
        LibraryCase{"throws_in_constructor", ErrorCode::capsule_threw,
                    "its constructor threw: an exception that is not a std::exception"}),
    plugin_of_case);

TEST(LoadCapsuleFile, SaysThatALibraryIsNoElfFile) {
  CapsuleBuilder capsule;
  EXPECT_THAT([&] { load(capsule.file(test::library_entry(), "no code").bytes()); },
              Says<InvalidCapsuleError>(ErrorCode::invalid_library, "is not an ELF file"));
}

TEST(LoadCapsuleFile, SaysThatALibraryIsDamaged) {
  // The header is valid, but it points beyond the end.
  CapsuleBuilder capsule;
  std::string& library = capsule.files[test::library_entry()];
  library.resize(100);
  EXPECT_THAT([&] { load(capsule.bytes()); },
              Says<InvalidCapsuleError>(ErrorCode::invalid_library, "is damaged", "capsule.so"));
}

/// Loads a capsule with a library that the test generates.
void load_library(const test::Elf& elf) {
  CapsuleBuilder capsule;
  load(capsule.file(test::library_entry(), test::elf_bytes(elf)).bytes());
}

TEST(LoadCapsuleFile, LoadsALibraryWhoseTablesAreSound) {
  EXPECT_THAT([] { load_library({}); },
              Says<InvalidCapsuleError>(ErrorCode::invalid_library, "returned null"));
}

TEST(LoadCapsuleFile, SaysThatALibraryIsUnsafe) {
  EXPECT_THAT([] { load_library({.runpath = "/opt/lib"}); },
              Says<InvalidCapsuleError>(ErrorCode::unsafe_library, "\"/opt/lib\"", "capsule.so"));
}

TEST(LoadCapsuleFile, NamesALibraryThatTheHostLacks) {
  EXPECT_THAT(
      [] {
        load_library({.needed = {"libc.so.6", "libvcap_of_nobody.so.7"}});
      },
      Says<IncompatibleCapsuleError>(ErrorCode::missing_dependency, "\"libvcap_of_nobody.so.7\"",
                                     "`ldd -v`"));
}

TEST(LoadCapsuleFile, NamesAVersionThatTheHostsLibraryLacks) {
  EXPECT_THAT(
      [] {
        load_library({.versions = {{.library = "libc.so.6",
                                    .versions = {test::kLibcVersion, "GLIBC_9.99"}}}});
      },
      Says<IncompatibleCapsuleError>(ErrorCode::missing_dependency, "version \"GLIBC_9.99\"",
                                     "\"libc.so.6\""));
}

/// Packs and loads a plugin, so that its manifest is made from its own code.
void pack_and_load(const std::string& plugin) {
  const TemporaryFolder folder;
  package_capsule({.libraries = {{std::string(platform()), test::plugin_path(plugin)}}},
                  folder / "a.cap");
  load_capsule(folder / "a.cap");
}

TEST(LoadCapsuleFile, NamesTheDeviceWhoseBackendCouldNotBeLoaded) {
  EXPECT_THAT([] { load(CapsuleBuilder("throws_in_load_backend").bytes()); },
              ThrowsError<CapsuleLoadError>(ErrorCode::backend_load_failed,
                                            AllOf(HasSubstr("fixture"), HasSubstr("CPU:0"),
                                                  HasSubstr("the model is of another version"))));
}

TEST(LoadCapsuleFile, SaysThatAMapperFoundNoDevice) {
  EXPECT_THAT([] { pack_and_load("maps_to_nothing"); },
              ThrowsError<DeviceError>(ErrorCode::no_device,
                                       AllOf(HasSubstr("picky"), HasSubstr("CPU:0"))));
}

TEST(LoadCapsuleFile, SaysThatAMapperNamedAnUnknownDevice) {
  EXPECT_THAT([] { pack_and_load("maps_to_unknown"); },
              ThrowsError<DeviceError>(ErrorCode::unknown_device,
                                       AllOf(HasSubstr("dreamer"), HasSubstr("GPU:9"))));
}

TEST(LoadCapsuleFile, RefusesAWrongConfigBeforeAnyOfItsCodeRuns) {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "a.cap", CapsuleBuilder("throws_in_entry")
                   .set("/info/config_schema", {{"properties", {{"model", {{"enum", {"a"}}}}}}})
                   .bytes());
  EXPECT_THAT([&] { load_capsule(path, {.config = json::array()}); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_config,
                                           AllOf(HasSubstr("config"), HasSubstr("array"))));
  EXPECT_THAT(
      [&] {
        load_capsule(path, {.config = {{"model", "b"}}});
      },
      ThrowsError<InvalidArgument>(ErrorCode::invalid_config,
                                   HasSubstr("/model is \"b\", but \"a\" is needed")));
  EXPECT_THAT(
      [&] {
        load_capsule(path, {.config = {{"model", "a"}}});
      },
      ThrowsError<CapsuleLoadError>(ErrorCode::capsule_threw, HasSubstr("no licence")));
}

TEST(LoadCapsuleBytes, SaysThatTheCapsuleWasGivenAsBytes) {
  EXPECT_THAT([] { load_capsule(std::span<const std::byte>{}); },
              ThrowsError<InvalidCapsuleError>(ErrorCode::not_an_archive,
                                               HasSubstr("capsule given as bytes is empty")));
}

}  // namespace
}  // namespace vcap
