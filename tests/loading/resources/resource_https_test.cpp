// SPDX-License-Identifier: Apache-2.0
// Fetches resources by https from a server on loopback.
#include <gmock/gmock.h>

#include "files/digest.hpp"
#include "loading/resources/resource_cache.hpp"
#include "loading/resources/resource_failure.hpp"
#include "support/resource_server.hpp"
#include "support/test_certificate.hpp"

namespace vcap {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ResourceByHttps : public testing::Test {
 protected:
  static std::string new_certificate(const std::string& path) {
    test::write_certificate(path);
    return path;
  }
  Resource resource(const std::string& behaviour) {
    server.write("a.bin", "content");
    return {.name = "a.bin",
            .url = server.url(behaviour, "a.bin"),
            .sha256 = sha256(std::as_bytes(std::span("content", 7))),
            .size = 7};
  }
  auto fails_with(const std::string& reason) const {
    return testing::Throws<ResourceFailure>(
        AllOf(testing::Property(&ResourceFailure::code, ErrorCode::resource_unavailable),
              testing::Property(&ResourceFailure::what, HasSubstr(reason))));
  }

  const test::TemporaryFolder folder;
  const test::ResourceServer server{new_certificate(folder / "server.pem")};
  ResourceOptions options{
      .cache = folder / "cache", .certificates = folder / "server.pem", .attempts = 1};
};

TEST_F(ResourceByHttps, IsFetchedFromAServerWithATrustedCertificate) {
  EXPECT_EQ(ResourceCache(options).obtain(resource("moved"))->content->bytes().size(), 7u);
}

TEST_F(ResourceByHttps, IsNotFetchedFromAServerWithAnUntrustedCertificate) {
  const Resource wanted = resource("ok");
  options.certificates = new_certificate(folder / "other.pem");
  EXPECT_THAT([&] { ResourceCache(options).obtain(wanted); }, fails_with("certificate"));
}

TEST_F(ResourceByHttps, DoesNotFollowARedirectToHttpOrAFile) {
  const Resource to_http = resource("to-http");
  EXPECT_THAT([&] { ResourceCache(options).obtain(to_http); },
              fails_with("redirects from https to http://127.0.0.1:1/a.bin"));
  const Resource to_file = resource("to-file");
  EXPECT_THAT([&] { ResourceCache(options).obtain(to_file); },
              fails_with("redirects from https to file:///"));
}

}  // namespace
}  // namespace vcap
