// SPDX-License-Identifier: Apache-2.0
#include "vcap/view/view_token.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "support/temporary_folder.hpp"
#include "support/throws_error.hpp"
#include "vcap/base/error.hpp"
#include "view/live_access.hpp"

namespace vcap::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kSecret = "0123456789abcdef";

std::string write_tokens(const TemporaryFolder& folder, const std::string& text,
                         mode_t mode = S_IRUSR | S_IWUSR) {
  const std::string path = (folder.path() / "tokens.json").string();
  std::ofstream(path) << text;
  ::chmod(path.c_str(), mode);
  return path;
}

TEST(ViewTokens, AreReadFromAFile) {
  const TemporaryFolder folder;
  const auto tokens = read_view_tokens(
      write_tokens(folder,
                   R"({"tokens": [{"name": "anna", "token": "0123456789abcdef", "role": "operator",
                      "streams": ["gate", "yard"]},
                     {"name": "boss", "token": "fedcba9876543210", "role": "admin"}]})"));
  ASSERT_EQ(tokens.size(), 2u);
  EXPECT_EQ(tokens[0].name, "anna");
  EXPECT_EQ(tokens[0].token, kSecret);
  EXPECT_EQ(tokens[0].role, ViewRole::operator_);
  EXPECT_EQ(tokens[0].streams, (std::set<std::string>{"gate", "yard"}));
  EXPECT_EQ(tokens[1].role, ViewRole::admin);
  EXPECT_FALSE(tokens[1].streams);
}

struct WrongTokens {
  const char* name;
  const char* text;
  const char* message;
};

class RefusedTokens : public testing::TestWithParam<WrongTokens> {};

TEST_P(RefusedTokens, NameTheFaultButNoSecret) {
  const TemporaryFolder folder;
  const std::string path = write_tokens(folder, GetParam().text);
  try {
    read_view_tokens(path);
    FAIL() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr(GetParam().message));
    EXPECT_THAT(error.what(), Not(HasSubstr(kSecret)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    ViewTokens, RefusedTokens,
    testing::Values(
        WrongTokens{"NoJson", "{", "tokens.json"}, WrongTokens{"List", "[]", "{\"tokens\": […]}"},
        WrongTokens{"None", R"({"tokens": []})", "has no token"},
        WrongTokens{"Extra", R"({"tokens": [], "more": 1})", "{\"tokens\": […]}"},
        WrongTokens{"Field", R"({"tokens": [{"rol": "admin"}]})", "unknown field \"rol\""},
        WrongTokens{"Role", R"({"tokens": [{"name": "a", "role": "root"}]})",
                    "/tokens/0: role \"root\" is not allowed; give viewer, operator or admin"},
        WrongTokens{"Type", R"({"tokens": [{"name": 1}]})", "/tokens/0"},
        WrongTokens{"Short", R"({"tokens": [{"name": "a", "token": "0123456789abcde"}]})",
                    "15 bytes; give 16 to 256"},
        WrongTokens{"Spaces", R"({"tokens": [{"name": "a", "token": "0123456789 abcdef"}]})",
                    "without spaces"},
        WrongTokens{"NoName", R"({"tokens": [{"token": "0123456789abcdef"}]})", "has no name"},
        WrongTokens{"NoStream",
                    R"({"tokens": [{"name": "a", "token": "0123456789abcdef", "streams": []}]})",
                    "is for no stream"},
        WrongTokens{"AdminOfOne", R"({"tokens": [{"name": "a", "token": "0123456789abcdef",
                                      "role": "admin", "streams": ["b"]}]})",
                    "an admin changes capsules of all streams"},
        WrongTokens{"SameName", R"({"tokens": [{"name": "a", "token": "0123456789abcdef"},
                                    {"name": "a", "token": "0123456789abcdeg"}]})",
                    "two tokens of the live view have the name \"a\""},
        WrongTokens{"SameSecret", R"({"tokens": [{"name": "a", "token": "0123456789abcdef"},
                                      {"name": "b", "token": "0123456789abcdef"}]})",
                    "\"b\" is also that of another name"}),
    [](const auto& wrong) { return wrong.param.name; });

TEST(ViewTokens, AreNotReadFromAFileThatOthersCanRead) {
  const TemporaryFolder folder;
  const std::string path = write_tokens(folder, "{}", S_IRUSR | S_IWUSR | S_IRGRP);
  EXPECT_THAT([&] { read_view_tokens(path); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           HasSubstr("run: chmod 600 " + path)));
  EXPECT_THAT([&] { read_view_tokens(path + ".none"); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("No such file")));
}

TEST(ViewTokens, ANewFileHasOneAdmin) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "new.json").string();
  make_view_tokens(path);
  const auto tokens = read_view_tokens(path);
  ASSERT_EQ(tokens.size(), 1u);
  EXPECT_EQ(tokens[0].role, ViewRole::admin);
  EXPECT_EQ(tokens[0].token.size(), 48u);
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_THAT([&] { make_view_tokens(path); },
              ThrowsError<OutputError>(ErrorCode::output_open, HasSubstr("File exists")));
  const std::string other = (folder.path() / "other.json").string();
  make_view_tokens(other);
  EXPECT_NE(read_view_tokens(other)[0].token, tokens[0].token);
}

TEST(LiveAccess, KnowsClientsByTheirTokens) {
  const LiveAccess access({{.name = "anna", .token = kSecret, .role = ViewRole::operator_},
                           {.name = "ben",
                            .token = "fedcba9876543210",
                            .role = ViewRole::viewer,
                            .streams = {{"gate"}}}});
  EXPECT_EQ(access.client("Bearer 0123456789abcdef")->role, ViewRole::operator_);
  EXPECT_EQ(access.client("Bearer fedcba9876543210")->name, "ben");
  EXPECT_TRUE(access.client("Bearer fedcba9876543210")->may_see("gate"));
  EXPECT_FALSE(access.client("Bearer fedcba9876543210")->may_see("yard"));
  for (const char* wrong :
       {"", "Bearer", "Bearer ", "bearer 0123456789abcdef", "0123456789abcdef",
        "Bearer 0123456789abcdeg", "Bearer 0123456789abcdef ", "Basic 0123456789abcdef"})
    EXPECT_FALSE(access.client(wrong)) << wrong;
}

TEST(LiveAccess, WithoutTokensEverybodyIsAViewer) {
  const LiveAccess access({});
  EXPECT_FALSE(access.needs_token());
  EXPECT_EQ(access.client("")->role, ViewRole::viewer);
  EXPECT_TRUE(access.client("")->may_see("gate"));
}

}  // namespace
}  // namespace vcap::test
