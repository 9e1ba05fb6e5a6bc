// SPDX-License-Identifier: Apache-2.0
#include "loading/resources/resource_settings.hpp"

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "loading/resources/resource_failure.hpp"
#include "support/throws_error.hpp"

namespace vcap {
namespace {

using testing::HasSubstr;

ResourceOptions settled(ResourceOptions options,
                        const std::map<std::string, std::string>& environment) {
  return with_environment(std::move(options), [&environment](const char* name) {
    const auto variable = environment.find(name);
    return variable == environment.end() ? nullptr : variable->second.c_str();
  });
}

TEST(ResourceSettings, ReadTheCacheFromOptionsThenTheEnvironment) {
  std::map<std::string, std::string> environment{
      {"VCAP_CACHE", "/v"}, {"XDG_CACHE_HOME", "/x"}, {"HOME", "/h"}};
  EXPECT_EQ(settled({.cache = "/o"}, environment).cache, "/o");
  EXPECT_EQ(settled({}, environment).cache, "/v");
  environment.erase("VCAP_CACHE");
  EXPECT_EQ(settled({}, environment).cache, "/x/vcap");
  environment["XDG_CACHE_HOME"] = "relative";
  EXPECT_EQ(settled({}, environment).cache, "/h/.cache/vcap");
  environment.erase("HOME");
  EXPECT_THAT([&] { settled({}, environment); }, testing::Throws<ResourceFailure>());
}

TEST(ResourceSettings, MakeTheCachesPathAbsolute) {
  EXPECT_EQ(settled({.cache = "here"}, {}).cache, std::filesystem::current_path() / "here");
}

TEST(ResourceSettings, ReadCertificatesFromOptionsThenTheEnvironment) {
  EXPECT_EQ(settled({.cache = "/o"}, {}).certificates, "");
  EXPECT_EQ(settled({.cache = "/o"}, {{"SSL_CERT_FILE", "/e.pem"}}).certificates, "/e.pem");
  EXPECT_EQ(settled({.cache = "/o", .certificates = "/o.pem"}, {{"SSL_CERT_FILE", "/e.pem"}})
                .certificates,
            "/o.pem");
}

TEST(ResourceSettings, GoOfflineByOptionOrEnvironment) {
  EXPECT_TRUE(settled({.cache = "/o", .offline = true}, {}).offline);
  EXPECT_TRUE(settled({.cache = "/o"}, {{"VCAP_OFFLINE", "1"}}).offline);
  EXPECT_FALSE(settled({.cache = "/o"}, {{"VCAP_OFFLINE", "0"}}).offline);
  EXPECT_FALSE(settled({.cache = "/o"}, {{"VCAP_OFFLINE", ""}}).offline);
  EXPECT_FALSE(settled({.cache = "/o"}, {}).offline);
}

TEST(ResourceSettings, AcceptAMirrorThatCanBeFetchedFrom) {
  EXPECT_EQ(settled({.cache = "/o"}, {{"VCAP_RESOURCE_MIRROR", "file:///srv/"}}).mirror,
            "file:///srv");
  EXPECT_EQ(settled({.cache = "/o", .mirror = "https://m.example"},
                    {{"VCAP_RESOURCE_MIRROR", "file:///srv/"}})
                .mirror,
            "https://m.example");
  EXPECT_THAT([] { settled({.cache = "/o", .mirror = "http://m.example"}, {}); },
              ThrowsError<InvalidArgument>(ErrorCode::invalid_argument,
                                           HasSubstr("\"http://m.example\" is http://")));
}

TEST(ResourceSettings, RefuseInvalidNumbers) {
  using std::chrono_literals::operator""ms;
  using std::chrono_literals::operator""s;
  for (const ResourceOptions& options : {ResourceOptions{.cache = "/o", .connect_timeout = 0ms},
                                         ResourceOptions{.cache = "/o", .stall_timeout = 0s},
                                         ResourceOptions{.cache = "/o", .attempts = 0}})
    EXPECT_THAT([&] { settled(options, {}); },
                ThrowsError<InvalidArgument>(ErrorCode::invalid_argument, HasSubstr("1 or more")));
}

}  // namespace
}  // namespace vcap
