// SPDX-License-Identifier: Apache-2.0
#include "loading/plugin/host_libraries.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include "loading/plugin/loaded_library.hpp"
#include "support/throws_error.hpp"

namespace vcap {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Optional;

TEST(LoadHostLibraries, AcceptsWhatEveryHostHas) {
  EXPECT_NO_THROW(load_host_libraries({.needed = {{.name = "libc.so.6", .has_versions = true}},
                                       .thread_variables = {"errno"},
                                       .called_functions = {"malloc", "vcap_of_nobody"}},
                                      "the library", "entry"));
}

TEST(LoadHostLibraries, RefusesAThreadLocalVariableThatIsAFunctionHere) {
  EXPECT_THAT(
      [] {
        load_host_libraries(
            {.needed = {{.name = "libc.so.6"}}, .thread_variables = {"errno", "malloc"}},
            "the library", "entry");
      },
      ThrowsError<IncompatibleCapsuleError>(
          ErrorCode::missing_dependency,
          AllOf(HasSubstr("the thread-local variable \"malloc\""), HasSubstr("something else"))));
}

TEST(LoadHostLibraries, RefusesAnInitialiserThatIsAVariableHere) {
  EXPECT_THAT(
      [] {
        load_host_libraries({.needed = {{.name = "libc.so.6"}}, .called_functions = {"environ"}},
                            "the library", "entry");
      },
      ThrowsError<IncompatibleCapsuleError>(
          ErrorCode::missing_dependency,
          AllOf(HasSubstr("initialiser or finaliser \"environ\""), HasSubstr("something else"))));
}

TEST(LoadedLibrary, KnowsItsSymbolsAndVersions) {
  const LoadedLibrary libc = LoadedLibrary::of(::dlopen("libc.so.6", RTLD_LAZY | RTLD_LOCAL));
  EXPECT_TRUE(libc.has_symbol_versions());
  EXPECT_FALSE(libc.has_version("GLIBC_9.99"));
  EXPECT_THAT(libc.type_of("qsort"), Optional(unsigned{STT_FUNC}));
  EXPECT_THAT(libc.type_of("errno"), Optional(unsigned{STT_TLS}));
  EXPECT_EQ(libc.type_of("vcap_of_nobody"), std::nullopt);
}

}  // namespace
}  // namespace vcap
