// SPDX-License-Identifier: Apache-2.0
#include "vcap/view/view_token.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <span>
#include <system_error>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "files/file_descriptor.hpp"
#include "files/strict_json.hpp"
#include "files/write_all.hpp"
#include "vcap/base/error.hpp"

namespace vcap {
namespace {

constexpr std::array kRoles{ViewRole::viewer, ViewRole::operator_, ViewRole::admin};
constexpr std::size_t kShortestToken = 16;
constexpr std::size_t kLongestToken = 256;
constexpr std::size_t kMostTokenFileBytes = std::size_t{1} << 20;

[[noreturn]] void refuse_tokens(const std::string& text) {
  throw InvalidArgument(ErrorCode::invalid_argument, text);
}

void check_token(const ViewToken& token) {
  const std::string label = "the token of " + quote(token.name);
  if (token.name.empty())
    refuse_tokens("a token of the live view has no name; give each the name of its owner");
  const bool is_printable =
      std::ranges::all_of(token.token, [](char c) { return c > ' ' && c <= '~'; });
  if (token.token.size() < kShortestToken || token.token.size() > kLongestToken || !is_printable)
    refuse_tokens(label + " has " + counted(token.token.size(), "byte") +
                  "; give 16 to 256 printable ASCII characters without spaces");
  if (token.streams && token.streams->empty())
    refuse_tokens(label + " is for no stream; name some, or leave \"streams\" out for all");
  if (token.streams && token.role == ViewRole::admin)
    refuse_tokens(label +
                  " is for certain streams, but an admin changes capsules of all streams; " +
                  "leave \"streams\" out, or give the role operator");
}

ViewRole role_of(const std::string& text, const std::string& place) {
  for (const ViewRole role : kRoles)
    if (text == to_string(role)) return role;
  throw InvalidArgument(
      ErrorCode::invalid_json,
      place + ": role " + quote(text) + " is not allowed; give viewer, operator or admin");
}

ViewToken token_of(const nlohmann::json& json, const std::string& place) {
  ViewToken token;
  for (const auto& [key, value] : json.items()) {
    if (key == "streams") {
      token.streams = value.get<std::set<std::string>>();
    } else if (key == "name") {
      token.name = value.get<std::string>();
    } else if (key == "token") {
      token.token = value.get<std::string>();
    } else if (key == "role") {
      token.role = role_of(value.get<std::string>(), place);
    } else {
      throw InvalidArgument(
          ErrorCode::invalid_json,
          place + ": unknown field " + quote(key) + "; a token has name, token, role and streams");
    }
  }
  return token;
}

/// What only its owner can read.
std::string read_secret_file(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0)
    refuse_tokens("cannot read the tokens of the live view in " + printable(path) + ": " +
                  std::generic_category().message(errno));
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    refuse_tokens("other users of this machine may use the file of tokens " + printable(path) +
                  "; run: chmod 600 " + printable(path));
  std::string text(kMostTokenFileBytes + 1, '\0');
  std::size_t size = 0;
  for (ssize_t got = 1; got > 0 && size < text.size();) {
    got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0)
      refuse_tokens("cannot read the tokens of the live view in " + printable(path) + ": " +
                    std::generic_category().message(errno));
    size += static_cast<std::size_t>(got);
  }
  if (size > kMostTokenFileBytes)
    refuse_tokens("the file of tokens " + printable(path) + " has more than 1 MiB");
  text.resize(size);
  return text;
}

std::string random_token() {
  std::array<unsigned char, 24> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw std::system_error(errno, std::generic_category(), "random bytes for a token");
  std::string text;
  for (const unsigned char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

}  // namespace

std::string_view to_string(ViewRole role) noexcept {
  switch (role) {
    case ViewRole::viewer:
      return "viewer";
    case ViewRole::operator_:
      return "operator";
    case ViewRole::admin:
      return "admin";
  }
  return "viewer";
}

void check(const std::vector<ViewToken>& tokens) {
  std::set<std::string> names;
  std::set<std::string> secrets;
  for (const ViewToken& token : tokens) {
    check_token(token);
    if (!names.insert(token.name).second)
      refuse_tokens("two tokens of the live view have the name " + quote(token.name) +
                    "; give each its own");
    if (!secrets.insert(token.token).second)
      refuse_tokens("the token of " + quote(token.name) +
                    " is also that of another name; give each its own");
  }
}

std::vector<ViewToken> read_view_tokens(const std::string& path) {
  std::vector<ViewToken> tokens;
  const std::string text = read_secret_file(path);
  try {
    const nlohmann::json json = parse_strictly(text);
    if (!json.is_object() || json.size() != 1 || !json.contains("tokens"))
      throw InvalidArgument(ErrorCode::invalid_json, "it must be {\"tokens\": […]}");
    for (std::size_t i = 0; i < json.at("tokens").size(); ++i)
      tokens.push_back(token_of(json.at("tokens").at(i), "/tokens/" + std::to_string(i)));
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(ErrorCode::invalid_json,
                          "the file of tokens " + printable(path) + ": " + error.what());
  } catch (const nlohmann::json::exception&) {
    throw InvalidArgument(ErrorCode::invalid_json,
                          "the file of tokens " + printable(path) + ": /tokens/" +
                              std::to_string(tokens.size()) +
                              " must be an object of texts, and \"streams\" a list of texts");
  }
  check(tokens);
  if (tokens.empty())
    refuse_tokens("the file of tokens " + printable(path) + " has no token; give at least one");
  return tokens;
}

void make_view_tokens(const std::string& path) {
  const FileDescriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  const nlohmann::json json{
      {"tokens", {{{"name", "admin"}, {"token", random_token()}, {"role", "admin"}}}}};
  const std::string text = json.dump(2) + '\n';
  if (!file || !write_all(file.get(), std::as_bytes(std::span(text))))
    throw OutputError(ErrorCode::output_open, "cannot make the file of tokens " + printable(path) +
                                                  ": " + std::generic_category().message(errno));
}

}  // namespace vcap
