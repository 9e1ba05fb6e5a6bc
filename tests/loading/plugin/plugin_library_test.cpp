// SPDX-License-Identifier: Apache-2.0
#include "loading/plugin/plugin_library.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "files/digest.hpp"
#include "support/paths.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"

namespace vcap {
namespace {

using testing::HasSubstr;

/// A library that no other test of this process has loaded: the linker ignores the bytes behind its
/// end, but they change its digest.
class FreshLibrary {
 public:
  FreshLibrary(const std::string& plugin, const std::string& tail)
      : bytes_(test::read_file(test::built("tests/loading/plugins/") + plugin + ".so") + tail) {}

  PluginLibrary library() const {
    const auto bytes = std::as_bytes(std::span(bytes_));
    return {.bytes = bytes, .sha256 = sha256(bytes), .capsule = "fresh", .subject = "the library"};
  }
  /// Its name in the process's list of mappings and descriptors.
  std::string name() const { return "memfd:vcap-fresh-" + library().sha256.substr(0, 8); }

 private:
  std::string bytes_;
};

int descriptor_of(const std::string& name) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the descriptor of this listing is closed meanwhile
    const auto target = std::filesystem::read_symlink(entry.path(), gone);
    if (target.native().find(name) != std::string::npos)
      return std::stoi(entry.path().filename().native());
  }
  return -1;
}

TEST(LoadPluginLibrary, GivesTheMappingANameThatADebuggerCanShow) {
  const FreshLibrary fresh("good", "name");
  load_plugin_library(fresh.library());
  EXPECT_THAT(test::read_file("/proc/self/maps"), HasSubstr(fresh.name()));
}

TEST(LoadPluginLibrary, LoadsFromSealedMemory) {
  const FreshLibrary fresh("good", "seal");
  load_plugin_library(fresh.library());
  const int fd = descriptor_of(fresh.name());
  ASSERT_GE(fd, 0);
  EXPECT_EQ(::pwrite(fd, "x", 1, 0), -1);
  EXPECT_EQ(::ftruncate(fd, 0), -1);
}

TEST(LoadPluginLibrary, RefusesBytesOfAnotherDigest) {
  const FreshLibrary fresh("good", "digest");
  PluginLibrary library = fresh.library();
  library.sha256 = sha256({});
  EXPECT_THAT([&] { load_plugin_library(library); },
              ThrowsError<InvalidCapsuleError>(ErrorCode::digest_mismatch,
                                               HasSubstr("changed while it was read")));
  EXPECT_THAT(test::read_file("/proc/self/maps"), Not(HasSubstr(fresh.name())));
}

TEST(LoadPluginLibrary, DetectsThatTheLinkerConfusedItWithAnotherLibrary) {
  const FreshLibrary first("version_1", "first");
  const FreshLibrary second("version_2", "second");
  load_plugin_library(first.library());
  // A host may close descriptors that it does not know. The linker identifies the first library by
  // the freed number, which the second library now gets.
  ::close(descriptor_of(first.name()));
  EXPECT_THAT([&] { load_plugin_library(second.library()); },
              ThrowsError<CapsuleLoadError>(ErrorCode::invalid_library,
                                            HasSubstr("closed file descriptors")));
}

}  // namespace
}  // namespace vcap
