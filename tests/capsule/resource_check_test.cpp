// SPDX-License-Identifier: Apache-2.0
#include "capsule/resource_check.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <vector>

#include "capsule/fake_capsule.hpp"

namespace vcap {
namespace {

using testing::HasSubstr;

TEST(ResourceUrl, MayBeHttpsAFileOrHttpOnThisMachine) {
  for (const char* const url :
       {"https://models.example/a/b.onnx?version=3&x=%20", "https://models.example:8443/a",
        "https://[2001:db8::1]:8443/a", "file:///srv/models/a.onnx", "http://localhost/a",
        "http://localhost:8080/a", "http://127.0.0.1:80/a", "http://127.9.9.9/a", "http://[::1]/a",
        "http://[::1]:8080/a"})
    EXPECT_EQ(resource_url_fault(url), "") << url;
}

struct BadUrl {
  const char* url;
  const char* fault;
};

TEST(ResourceUrl, RefusesOtherKinds) {
  const std::vector<BadUrl> cases{
      {"", "does not begin with https:// or file:///"},
      {"models.example/a", "does not begin"},
      {"ftp://models.example/a", "does not begin"},
      {"HTTPS://models.example/a", "does not begin"},
      {"file://server/share/a", "does not name a file of this machine"},
      {"file:///", "does not name a file of this machine"},
      {"file:/a", "does not begin"},
      {"https:///a", "has no host"},
      {"https://:80/a", "has no host"},
      {"https://a:port/a", "invalid port"},
      {"https://a:/a", "invalid port"},
      {"https://[::1/a", "has no host"},
      {"https://[::1]8/a", "invalid port"},
      {"https://me:secret@models.example/a", "contains a name or password"},
      {"http://models.example/a", "is http:// to another machine"},
      {"http://127.0.0.1.models.example/a", "is http:// to another machine"},
      {"http://localhost.models.example/a", "is http:// to another machine"},
      {"http://127.1/a", "is http:// to another machine"},
      {"http://128.0.0.1/a", "is http:// to another machine"},
      {"http://[2001:db8::1]/a", "is http:// to another machine"},
      {"http://localhost@models.example/a", "contains a name or password"},
      {"http://localhost\\@models.example/a", "has a character that must be written as %XX"},
      {"https://models.example/a b", "at byte 24"},
      {"https://models.example/a\r\nX: y", "at byte 24"},
      {"https://models.example/\xc3\xa9", "at byte 23"},
  };
  for (const BadUrl& one : cases)
    EXPECT_THAT(resource_url_fault(one.url), HasSubstr(one.fault)) << one.url;
  EXPECT_THAT(resource_url_fault("https://a/" + std::string(2048, 'a')), HasSubstr("2048"));
}

TEST(ResourceName, AcceptsValidNames) {
  for (const char* const name :
       {"a", "model-v1.2_3.onnx", "models/large/a.onnx", "library/a", "a/b/c/d/e/f/g/h"}) {
    const Resource resource = test::resource(name);
    EXPECT_EQ(resource_fault(resource), "") << name;
  }
}

TEST(ResourceName, RefusesInvalidNames) {
  const std::vector<std::pair<std::string, const char*>> cases{
      {"", "has 0 bytes"},
      {std::string(256, 'a'), "has 256 bytes"},
      {"/a", "empty or begins with '.'"},
      {"a/", "empty or begins with '.'"},
      {"a//b", "empty or begins with '.'"},
      {"../a", "empty or begins with '.'"},
      {"a/.b", "empty or begins with '.'"},
      {"a b", "a character other"},
      {"a\\b", "a character other"},
      {"c:a", "a character other"},
      {"\xc3\xa9", "a character other"},
      {"a/b/c/d/e/f/g/h/i", "more than 8 parts"},
      {"Capsule.json", "is reserved"},
      {"LIB/a", "is reserved"},
      {"lib", "is reserved"},
  };
  for (const auto& [name, fault] : cases)
    EXPECT_THAT(resource_fault(test::resource(name)), HasSubstr(fault)) << name;
}

TEST(Resource, NeedsAValidDigestAndSize) {
  const auto fault = [](const std::function<void(Resource&)>& spoil) {
    Resource resource = test::resource("a");
    spoil(resource);
    return resource_fault(resource);
  };
  EXPECT_THAT(fault([](Resource& a) { a.sha256 = ""; }), HasSubstr("sha256sum"));
  EXPECT_THAT(fault([](Resource& a) { a.sha256 = std::string(64, 'A'); }), HasSubstr("lower-case"));
  EXPECT_THAT(fault([](Resource& a) { a.sha256 = std::string(63, 'a'); }), HasSubstr("digest"));
  EXPECT_THAT(fault([](Resource& a) { a.size = 0; }), HasSubstr("size 0 is not within 1"));
  EXPECT_THAT(fault([](Resource& a) { a.size = kLargestResource + 1; }), HasSubstr("not within"));
  EXPECT_EQ(fault([](Resource& a) { a.size = kLargestResource; }), "");
}

}  // namespace
}  // namespace vcap
