// SPDX-License-Identifier: Apache-2.0
#include "files/url.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace vcap {
namespace {

constexpr std::array<std::string_view, 7> kSecretWords{"pass", "pwd",   "psw", "secret",
                                                       "key",  "token", "auth"};

bool is_secret(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::any_of(kSecretWords.begin(), kSecretWords.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

/// The position of the '@' after user and password; npos if there is none.
std::size_t end_of_user(const std::string& url, std::size_t begin) {
  const std::size_t path = std::min(url.find_first_of("/?#", begin), url.size());
  const std::size_t at = url.substr(0, path).rfind('@');
  if (at != std::string::npos && at >= begin) return at;
  // "user:pa/ss@host": the text after the colon is not a port, so the password contains '/'.
  const std::size_t colon = url.substr(0, path).find(':', begin);
  if (colon == std::string::npos || url[begin] == '[') return std::string::npos;
  const bool is_port = std::all_of(url.begin() + static_cast<std::ptrdiff_t>(colon) + 1,
                                   url.begin() + static_cast<std::ptrdiff_t>(path),
                                   [](unsigned char c) { return std::isdigit(c); });
  return is_port ? std::string::npos : url.rfind('@');
}

std::string query_without_secrets(std::string_view query) {
  std::string result;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find_first_of("&;#"), query.size());
    const std::string_view item = query.substr(0, end);
    const std::size_t equals = item.find('=');
    if (equals != std::string_view::npos && is_secret(item.substr(0, equals)))
      result.append(item.substr(0, equals)).append("=***");
    else
      result.append(item);
    if (end < query.size()) result += query[end];
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return result;
}

/// The length of the URL in `text`, which begins with its "://".
std::size_t url_length(std::string_view text) {
  constexpr std::string_view kAfterUrl = " \t\r\n'\"<>";
  const std::size_t next = text.find("://", 3);
  // A password may contain characters that end other URLs; it comes before an '@'.
  const std::size_t at = text.substr(0, next).rfind('@');
  const std::size_t user = at == std::string_view::npos ? 0 : at;
  return std::min(text.find_first_of(kAfterUrl, std::max<std::size_t>(user, 3)), text.size());
}

}  // namespace

bool is_url(std::string_view text) { return text.find("://") != std::string_view::npos; }

std::string host_of(const std::string& url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos) return {};
  const std::size_t at = end_of_user(url, scheme + 3);
  std::size_t begin = at == std::string::npos ? scheme + 3 : at + 1;
  const bool is_bracketed = begin < url.size() && url[begin] == '[';
  if (is_bracketed) ++begin;
  const std::size_t end = url.find_first_of(is_bracketed ? "]" : ":/?#", begin);
  return url.substr(begin, std::min(end, url.size()) - begin);
}

std::string without_password(const std::string& url) {
  std::string result = url;
  const std::size_t begin = url.find("://") + 3;
  const std::size_t at = end_of_user(url, begin);
  const std::size_t colon = url.find(':', begin);
  if (at != std::string::npos && colon < at)
    result = url.substr(0, colon) + ":***" + url.substr(at);
  if (const std::size_t query = result.find('?'); query != std::string::npos)
    result = result.substr(0, query + 1) +
             query_without_secrets(std::string_view(result).substr(query + 1));
  return result;
}

std::string without_passwords(std::string_view text) {
  std::string result;
  for (std::size_t begin; (begin = text.find("://")) != std::string_view::npos;) {
    result.append(text.substr(0, begin));
    text.remove_prefix(begin);
    const std::size_t length = url_length(text);
    result += without_password(std::string(text.substr(0, length)));
    text.remove_prefix(length);
  }
  return result.append(text);
}

}  // namespace vcap
