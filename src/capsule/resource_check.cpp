// SPDX-License-Identifier: Apache-2.0
#include "capsule/resource_check.hpp"

#include <arpa/inet.h>

#include <algorithm>

#include "base/text.hpp"

namespace vcap {
namespace {

constexpr std::size_t kLongestName = 255;
constexpr std::size_t kMostParts = 8;  // the same as for an entry's name in a capsule
constexpr std::size_t kLongestUrl = 2048;

constexpr std::string_view kLettersAndDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Stricter than the rules for names of files in a capsule, so that each name is valid there too.
std::string resource_name_fault(std::string_view name) {
  if (name.empty() || name.size() > kLongestName)
    return "has " + std::to_string(name.size()) + " bytes; 1 to " + std::to_string(kLongestName) +
           " are allowed";
  const std::string allowed = std::string(kLettersAndDigits) + "_-./";
  if (name.find_first_not_of(allowed) != name.npos)
    return "has a character other than letters, digits, '_', '-', '.' and '/'";
  std::size_t parts = 0;
  for (std::size_t begin = 0; begin <= name.size(); ++parts) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    if (begin == end || name[begin] == '.') return "has a part that is empty or begins with '.'";
    begin = end + 1;
  }
  if (parts > kMostParts) return "has more than " + std::to_string(kMostParts) + " parts";

  std::string folded(name);
  std::ranges::transform(folded, folded.begin(), lower);
  if (folded == "capsule.json" || folded == "lib" || folded.starts_with("lib/"))
    return "is reserved, like capsule.json and everything below lib/";
  return {};
}

/// The host of `host[:port]`, without the brackets of an IPv6 address; empty if it is malformed.
std::string_view host_of(std::string_view authority) {
  const bool is_bracketed = authority.starts_with('[');
  const std::size_t end = is_bracketed ? authority.find(']') : authority.find(':');
  if (is_bracketed && end == authority.npos) return {};
  const std::string_view host =
      is_bracketed ? authority.substr(1, end - 1) : authority.substr(0, end);
  std::string_view rest =
      end == authority.npos ? std::string_view() : authority.substr(end + (is_bracketed ? 1 : 0));
  if (rest.empty()) return host;
  rest.remove_prefix(1);
  const bool is_port = !rest.empty() && rest.size() <= 5 &&
                       rest.find_first_not_of("0123456789") == rest.npos &&
                       authority[authority.size() - rest.size() - 1] == ':';
  return is_port ? host : std::string_view();
}

bool is_loopback(std::string_view host) {
  if (host == "localhost" || host == "::1") return true;
  in_addr address{};
  const std::string text(host);
  return ::inet_pton(AF_INET, text.c_str(), &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

}  // namespace

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

std::string resource_url_fault(std::string_view url) {
  if (url.size() > kLongestUrl)
    return "has " + std::to_string(url.size()) + " bytes; " + std::to_string(kLongestUrl) +
           " are allowed";
  // What RFC 3986 allows: no space, control character or backslash, which programs read
  // differently.
  const std::string allowed = std::string(kLettersAndDigits) + "-._~:/?#[]@!$&'()*+,;=%";
  if (const std::size_t at = url.find_first_not_of(allowed); at != url.npos)
    return "has a character that must be written as %"
           "XX, at byte " +
           std::to_string(at);
  const std::size_t colon = url.find("://");
  const std::string_view scheme = url.substr(0, colon);
  if (colon == url.npos || (scheme != "https" && scheme != "file" && scheme != "http"))
    return "does not begin with https:// or file:///; serve the file by one of them";

  const std::string_view rest = url.substr(colon + 3);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  if (scheme == "file") {
    if (!authority.empty() || rest.size() < 2)
      return "does not name a file of this machine; write file:/// and its path";
    return {};
  }
  if (authority.find('@') != authority.npos)
    return "contains a name or password, which everyone who has the capsule could read; leave it "
           "out";
  const std::string_view host = host_of(authority);
  if (host.empty()) return "has no host, or an invalid port";
  if (scheme == "http" && !is_loopback(host))
    return "is http:// to another machine, so others can read and change the data; use https://";
  return {};
}

std::string resource_fault(const Resource& resource) {
  if (const std::string fault = resource_name_fault(resource.name); !fault.empty())
    return "name " + quote(resource.name) + " " + fault;
  if (const std::string fault = resource_url_fault(resource.url); !fault.empty())
    return "url " + quote(resource.url) + " " + fault;
  if (!is_sha256(resource.sha256))
    return "sha256 " + quote(resource.sha256) +
           " is not a SHA-256 digest; give the 64 lower-case digits that sha256sum prints";
  if (resource.size < 1 || resource.size > kLargestResource)
    return "size " + std::to_string(resource.size) + " is not within 1 to " +
           std::to_string(kLargestResource) + " bytes";
  return {};
}

}  // namespace vcap
